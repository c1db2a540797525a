/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Made pictures of the minutes before, for the tests of the judge and the sinks: what the recorder
 * would hand over, written down by hand. Pieces first, then whole situations.
 */
#ifndef TESTS_GROWTH_FIXTURE_H
#define TESTS_GROWTH_FIXTURE_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "facts/host.h"
#include "model/picture.h"

#define PIC_MIB (1ULL << 20)
#define PIC_GIB (1ULL << 30)
#define PIC_SEC 1000000000ULL
#define PIC_END_NS 7384000000123ULL /* 2 h 3 min after boot */
#define PIC_DOMAIN 4000
#define PIC_PATH "/kubepods.slice/kubepods-burstable.slice/cri-containerd-9f3c2a.scope"

/* A window of so many seconds, and no points yet. */
static inline void pic_window(
	struct growth_picture *picture, uint64_t seconds, uint64_t domain_max_bytes)
{
	memset(picture, 0, sizeof(*picture));
	picture->valid = true;
	picture->domain_known = true;
	picture->domain_id = PIC_DOMAIN;
	picture->domain_max_bytes = domain_max_bytes;
	picture->from_ns = PIC_END_NS - seconds * PIC_SEC;
	picture->to_ns = PIC_END_NS;
	picture->asked_ns = seconds * PIC_SEC;
}

static inline void pic_point(struct growth_picture *picture, uint64_t bytes)
{
	picture->points[picture->point_count++] = bytes;
}

static inline void pic_level(struct growth_picture *picture, unsigned int count, uint64_t bytes)
{
	for (unsigned int i = 0; i < count; i++)
		pic_point(picture, bytes);
}

/* In equal steps, up or down. */
static inline void pic_ramp(
	struct growth_picture *picture, unsigned int count, uint64_t from, uint64_t to)
{
	for (unsigned int i = 0; i < count; i++) {
		uint64_t step = (to > from ? to - from : from - to) / (count - 1);

		pic_point(picture, to > from ? from + step * i : from - step * i);
	}
	picture->points[picture->point_count - 1] = to;
}

static inline struct picture_process *pic_process(struct growth_picture *picture, const char *comm,
	uint32_t tgid, int64_t delta_bytes, uint64_t cow_bytes)
{
	struct picture_process *process = &picture->processes[picture->process_count++];

	process->tgid = tgid;
	process->ppid = 1;
	process->start_ns = PIC_END_NS - 724 * PIC_SEC;
	process->cgroup_id = PIC_DOMAIN;
	snprintf(process->comm, sizeof(process->comm), "%s", comm);
	process->delta_bytes = delta_bytes;
	process->cow_bytes = cow_bytes;
	process->held_bytes = delta_bytes > 0 ? (uint64_t)delta_bytes + 64 * PIC_MIB : 64 * PIC_MIB;
	process->peak_bytes = process->held_bytes;
	picture->process_total = picture->process_count;
	return process;
}

static inline struct picture_family *pic_family(struct growth_picture *picture, const char *comm,
	uint32_t root_tgid, uint32_t members, int64_t delta_bytes, uint64_t cow_bytes)
{
	struct picture_family *family = &picture->families[picture->family_count++];

	family->root_tgid = root_tgid;
	family->root_start_ns = PIC_END_NS - 725 * PIC_SEC;
	snprintf(family->comm, sizeof(family->comm), "%s", comm);
	family->members = members;
	family->delta_bytes = delta_bytes;
	family->cow_bytes = cow_bytes;
	family->private_bytes = cow_bytes + (delta_bytes > 0 ? (uint64_t)delta_bytes : 0);
	picture->family_total = picture->family_count;
	return family;
}

static inline struct picture_cgroup *pic_cgroup(struct growth_picture *picture, uint64_t id,
	const char *path, int64_t delta_bytes, uint64_t usage_bytes)
{
	struct picture_cgroup *cgroup = &picture->cgroups[picture->cgroup_count++];

	cgroup->id = id;
	snprintf(cgroup->path, sizeof(cgroup->path), "%s", path);
	cgroup->delta_bytes = cgroup->own_bytes = delta_bytes;
	cgroup->usage_bytes = usage_bytes;
	cgroup->charged_bytes = UNKNOWN_U64;
	picture->cgroup_total = picture->cgroup_count;
	return cgroup;
}

/* --- situations --- */

/* A training job: sixteen workers write on what their parent loaded. No RSS moves much. */
static inline void pic_workers(struct growth_picture *picture)
{
	struct picture_family *family;
	uint64_t cow = 744 * PIC_MIB;

	pic_window(picture, 60, 16 * PIC_GIB);
	pic_ramp(picture, PICTURE_POINTS, 4 * PIC_GIB, 16 * PIC_GIB);
	picture->domain_delta_bytes = 12 * PIC_GIB;
	picture->unattributed_bytes = 176 * PIC_MIB;
	picture->cow_counted = true;
	picture->armed[picture->armed_count++] =
		(struct picture_armed) {PIC_END_NS - 42500000000ULL, 0};
	for (unsigned int i = 0; i < 16; i++) {
		struct picture_process *worker =
			pic_process(picture, "python3", 31415 + i, 3 * PIC_MIB, cow - i * PIC_MIB);

		worker->ppid = 31402;
		worker->held_bytes = 961 * PIC_MIB;
	}
	family = pic_family(picture, "python3", 31402, 17, 48 * PIC_MIB, 16 * cow - 120 * PIC_MIB);
	family->private_bytes = 11800 * PIC_MIB;
	family->shared_bytes = 2900 * PIC_MIB;
	pic_cgroup(picture, PIC_DOMAIN, PIC_PATH, 12 * PIC_GIB, 16 * PIC_GIB);
}

/* One process leaks; others stand still. */
static inline void pic_leak(struct growth_picture *picture)
{
	pic_window(picture, 300, 4 * PIC_GIB);
	pic_level(picture, 20, PIC_GIB);
	pic_ramp(picture, 40, PIC_GIB, 4 * PIC_GIB);
	picture->domain_delta_bytes = 3 * PIC_GIB;
	picture->unattributed_bytes = 20 * PIC_MIB;
	pic_process(picture, "java", 900, 2950 * PIC_MIB, 0);
	pic_process(picture, "sidecar", 901, 102 * PIC_MIB, 0);
	pic_process(picture, "sh", 899, 4096, 0);
	pic_cgroup(picture, PIC_DOMAIN, PIC_PATH, 3 * PIC_GIB, 4 * PIC_GIB);
}

/* Three seconds of it, and the history is younger than what was asked for. */
static inline void pic_spike(struct growth_picture *picture)
{
	struct picture_process *process;

	pic_window(picture, 30, 2 * PIC_GIB);
	picture->asked_ns = 60 * PIC_SEC;
	pic_level(picture, 56, 200 * PIC_MIB);
	pic_ramp(picture, 4, 400 * PIC_MIB, 2 * PIC_GIB);
	picture->domain_delta_bytes = 1848 * PIC_MIB;
	picture->unattributed_bytes = -10LL * (int64_t)PIC_MIB;
	process = pic_process(picture, "sort", 5000, 1858 * PIC_MIB, 0);
	process->began = true;
}

/* A writer fills a tmpfs: no address space shows it. */
static inline void pic_tmpfs(struct growth_picture *picture)
{
	struct picture_process *dd;

	pic_window(picture, 60, 2 * PIC_GIB);
	pic_level(picture, 20, 500 * PIC_MIB);
	pic_level(picture, 20, 1000 * PIC_MIB);
	pic_level(picture, 20, 2 * PIC_GIB);
	picture->domain_delta_bytes = 1548 * PIC_MIB;
	picture->unattributed_bytes = 1540 * PIC_MIB;
	dd = pic_process(picture, "dd", 77, PIC_MIB, 0);
	dd->cached_bytes = 1545 * PIC_MIB;
	dd->exited = true;
	pic_cgroup(picture, PIC_DOMAIN, PIC_PATH, 1548 * PIC_MIB, 2 * PIC_GIB);
}

/* At its limit all the time, since page cache gives way to what a process takes. */
static inline void pic_flat(struct growth_picture *picture)
{
	pic_window(picture, 60, 2 * PIC_GIB);
	pic_level(picture, PICTURE_POINTS, 2 * PIC_GIB);
	picture->unattributed_bytes = -1000LL * (int64_t)PIC_MIB;
	pic_process(picture, "postgres", 900, 1000 * PIC_MIB, 0);
}

#endif /* TESTS_GROWTH_FIXTURE_H */
