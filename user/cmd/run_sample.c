// SPDX-License-Identifier: Apache-2.0
/*
 * How much a family of processes holds. The runner is its subreaper, so whoever lives has a chain
 * of living parents up to it, and each look can work that out anew.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/clock.h"
#include "cmd/run_parts.h"
#include "facts/procfs.h"

#define PROCESSES 32768
#define FAMILY 16384
#define FIRST_NS 20000000ULL
#define INTERVAL_NS 100000000ULL
#define SHARE 100 /* a look that took 1 ms is followed by at least 100 ms without one */
#define DEEPEST 256 /* parents that are walked */
#define MS_NS 1000000ULL

int run_sampler_open(struct run_sampler *sampler, struct run_peak *peak, uint32_t page_size)
{
	memset(sampler, 0, sizeof(*sampler));
	peak->pss_bytes = UNKNOWN_U64;
	sampler->peak = peak;
	sampler->page_size = page_size;
	sampler->room = PROCESSES;
	sampler->table = calloc(sampler->room, sizeof(*sampler->table));
	sampler->family = family_new(FAMILY);
	return sampler->table && sampler->family ? 0 : -ENOMEM;
}

void run_sampler_close(struct run_sampler *sampler)
{
	free(sampler->table);
	family_free(sampler->family);
	sampler->table = NULL;
	sampler->family = NULL;
}

/* --- who belongs to it --- */

static int take(pid_t pid, void *arg)
{
	struct run_sampler *sampler = arg;

	if (sampler->count == sampler->room)
		return 1;
	if (!read_proc_size("", pid, &sampler->table[sampler->count]))
		sampler->count++;
	return 0;
}

static int by_pid(const void *a, const void *b)
{
	const struct proc_size *one = a, *other = b;

	return (one->pid > other->pid) - (one->pid < other->pid);
}

static const struct proc_size *entry_of(const struct run_sampler *sampler, uint32_t pid)
{
	struct proc_size key = {.pid = pid};

	return bsearch(&key, sampler->table, sampler->count, sizeof(key), by_pid);
}

static bool is_skipped(const struct run_sampler *sampler, uint32_t pid)
{
	return pid == (uint32_t)sampler->skip[0] || pid == (uint32_t)sampler->skip[1];
}

/* The generation: 1 for the command and its orphans, 0: no member. */
static unsigned int generation_of(const struct run_sampler *sampler, const struct proc_size *entry)
{
	for (unsigned int depth = 1; entry && depth <= DEEPEST; depth++) {
		if (is_skipped(sampler, entry->pid))
			return 0;
		if (entry->ppid == (uint32_t)sampler->self)
			return depth;
		entry = entry_of(sampler, entry->ppid);
	}
	return 0;
}

static int list(struct run_sampler *sampler)
{
	int error;

	sampler->count = 0;
	error = walk_processes("", take, sampler);
	if (error < 0)
		return error;
	qsort(sampler->table, sampler->count, sizeof(*sampler->table), by_pid);
	return 0;
}

static void note(struct run_sampler *sampler, struct family *family, const struct proc_size *entry)
{
	bool top = entry->ppid == (uint32_t)sampler->self;

	if (entry->pid == (uint32_t)sampler->root)
		family_begin(family, entry->pid, entry->comm);
	else
		family_seen(family, entry->pid, top ? (uint32_t)sampler->root : entry->ppid,
			entry->comm);
}

int run_census(struct run_sampler *sampler, struct family *family)
{
	int error = list(sampler);
	bool more = true;

	family_begin(family, (uint32_t)sampler->root, "");
	/* Parents first: a pid tells nothing of that. */
	for (unsigned int depth = 1; !error && more && depth <= DEEPEST; depth++) {
		more = false;
		for (size_t i = 0; i < sampler->count; i++) {
			if (generation_of(sampler, &sampler->table[i]) != depth)
				continue;
			note(sampler, family, &sampler->table[i]);
			more = true;
		}
	}
	return error;
}

/* --- how much it holds --- */

struct look {
	uint64_t rss_bytes;
	uint32_t processes;
};

static void add(struct run_sampler *sampler, const struct proc_size *entry, struct look *look)
{
	struct run_peak *peak = sampler->peak;
	uint64_t bytes = entry->rss_pages * sampler->page_size;

	look->rss_bytes += bytes;
	look->processes++;
	if (bytes <= peak->largest_bytes)
		return;
	peak->largest_bytes = bytes;
	peak->largest_pid = entry->pid;
	snprintf(peak->largest_comm, sizeof(peak->largest_comm), "%s", entry->comm);
}

/* All of it or nothing: a sum without one of them would be none. */
static bool sum_pss(struct run_sampler *sampler, uint64_t *ret_bytes)
{
	uint64_t sum = 0, bytes;

	for (size_t i = 0; i < sampler->count; i++) {
		const struct proc_size *entry = &sampler->table[i];
		int error;

		if (!generation_of(sampler, entry) || !entry->rss_pages)
			continue;
		error = read_pss("", (pid_t)entry->pid, &bytes);
		if (error == -ENOENT || error == -ESRCH)
			continue;
		if (error)
			return false;
		sum += bytes;
	}
	*ret_bytes = sum;
	return sum > 0;
}

/* Page tables are walked for it: where the family reaches a new height, and for no more than a
 * hundredth of the time, whatever its size. */
static void look_at_shares(struct run_sampler *sampler, const struct look *look, uint64_t now_ns)
{
	struct run_peak *peak = sampler->peak;
	uint64_t from = boot_now_ns(), bytes, elapsed = now_ns - sampler->start_ns;
	bool higher = look->rss_bytes > sampler->pss_rss_bytes + sampler->pss_rss_bytes / 64;

	if (look->processes < 2 || !higher)
		return;
	if (sampler->pss_ns > elapsed / SHARE + 2 * MS_NS || !sum_pss(sampler, &bytes)) {
		peak->pss_late |=
			look->rss_bytes > sampler->pss_rss_bytes + sampler->pss_rss_bytes / 10;
		return;
	}
	sampler->pss_ns += boot_now_ns() - from;
	sampler->pss_rss_bytes = look->rss_bytes;
	peak->pss_late = false;
	if (peak->pss_bytes != UNKNOWN_U64 && bytes <= peak->pss_bytes)
		return;
	peak->pss_bytes = bytes;
	peak->pss_at_ns = elapsed;
	peak->pss_processes = look->processes;
}

int run_sample(struct run_sampler *sampler)
{
	uint64_t from = clock_now_ns(CLOCK_THREAD_CPUTIME_ID), now, spent;
	struct run_peak *peak = sampler->peak;
	struct look look = {0};
	int error = list(sampler);

	if (error)
		return error;
	now = boot_now_ns();
	sampler->alive = 0;
	family_begin(sampler->family, (uint32_t)sampler->root, "");
	for (size_t i = 0; i < sampler->count; i++) {
		const struct proc_size *entry = &sampler->table[i];

		if (!generation_of(sampler, entry) || entry->state == 'Z')
			continue;
		sampler->alive++;
		note(sampler, sampler->family, entry);
		add(sampler, entry, &look);
	}
	peak->looks++;
	peak->members = family_count(sampler->family);
	if (look.rss_bytes > peak->rss_bytes) {
		peak->rss_bytes = look.rss_bytes;
		peak->rss_at_ns = now - sampler->start_ns;
		peak->rss_processes = look.processes;
	}
	spent = clock_now_ns(CLOCK_THREAD_CPUTIME_ID) - from;
	look_at_shares(sampler, &look, now);
	sampler->next_ns = now + (spent * SHARE > INTERVAL_NS ? spent * SHARE : INTERVAL_NS);
	if (peak->looks == 1)
		sampler->next_ns = now + FIRST_NS;
	return 0;
}
