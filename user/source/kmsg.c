// SPDX-License-Identifier: Apache-2.0
#include "source/kmsg.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "facts/scan.h"

#define FACILITY_SHIFT 3
#define COMM_MAX 15
#define REFUSALS_MAX 64 /* EINVAL is for one record that is too long: more in a row are no kmsg */

/* The message that oom_kill_process() was given. */
static const char *const openings[] = {
	"Memory cgroup out of memory",
	"Out of memory",
	"Out of memory (oom_kill_allocating_task)",
};

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

static bool hex_escape(const struct scan *scan, char *ret)
{
	int high, low;

	if (scan_left(scan) < 4 || scan->at[0] != '\\' || scan->at[1] != 'x')
		return false;
	high = hex_digit(scan->at[2]);
	low = hex_digit(scan->at[3]);
	if (high < 0 || low < 0)
		return false;
	*ret = (char)(high << 4 | low);
	return true;
}

/* Undoes the \xNN by which /dev/kmsg shows all that is not printable ASCII. */
static size_t unescape(struct scan text, char *ret, size_t size)
{
	size_t len = 0;

	while (!scan_done(&text) && len < size) {
		char c = *text.at;

		text.at += hex_escape(&text, &c) ? 4 : 1;
		ret[len++] = c;
	}
	return len;
}

/* "3,1234,5678,-,caller=T9;": true for what the kernel itself said. */
static bool parse_header(struct scan *scan, uint64_t *ret_time_us)
{
	uint64_t priority, sequence, time_us;
	struct scan flags;

	if (!scan_u64(scan, &priority) || !scan_text(scan, ",") || !scan_u64(scan, &sequence) ||
		!scan_text(scan, ",") || !scan_u64(scan, &time_us) || !scan_text(scan, ","))
		return false;
	/* Anybody who may write to /dev/kmsg can fake the text, but not the facility 0. */
	if (priority >> FACILITY_SHIFT != 0)
		return false;
	if (!memchr(scan->at, ';', scan_left(scan)) || !scan_field(scan, ';', &flags))
		return false;
	*ret_time_us = time_us;
	return true;
}

static bool parse_size(struct scan *scan, const char *name, uint64_t *ret_kb)
{
	return scan_text(scan, name) && scan_u64(scan, ret_kb) && scan_text(scan, "kB");
}

/* All behind the name, up to the end of the line and nothing more. */
static bool parse_numbers(struct scan scan, struct kmsg_kill *kill)
{
	uint64_t uid;
	int64_t adj;

	if (!parse_size(&scan, ") total-vm:", &kill->total_vm_kb) ||
		!parse_size(&scan, ", anon-rss:", &kill->anon_kb) ||
		!parse_size(&scan, ", file-rss:", &kill->file_kb) ||
		!parse_size(&scan, ", shmem-rss:", &kill->shmem_kb))
		return false;
	if (!scan_text(&scan, ", UID:") || !scan_u64(&scan, &uid) || uid > UINT32_MAX ||
		!parse_size(&scan, " pgtables:", &kill->pgtables_kb))
		return false;
	if (!scan_text(&scan, " oom_score_adj:") || !scan_i64(&scan, &adj) || adj < -1000 ||
		adj > 1000 || !scan_done(&scan))
		return false;
	kill->uid = (uint32_t)uid;
	kill->oom_score_adj = (int32_t)adj;
	return true;
}

/* The name may hold any text, this very separator too: the last one is the kernel's. */
static bool find_numbers(struct scan text, struct scan *ret_comm, struct scan *ret_numbers)
{
	static const char separator[] = ") total-vm:";
	struct scan at = text, probe;

	for (at.at = text.end; at.at > text.at; at.at--) {
		probe = (struct scan) {.at = at.at - 1, .end = text.end};
		*ret_numbers = probe;
		if (!scan_text(&probe, separator))
			continue;
		*ret_comm = (struct scan) {.at = text.at, .end = ret_numbers->at};
		return true;
	}
	return false;
}

static bool parse_opening(struct scan *scan)
{
	for (size_t i = 0; i < sizeof(openings) / sizeof(*openings); i++) {
		struct scan rest = *scan;

		if (!scan_text(&rest, openings[i]) || !scan_text(&rest, ": Killed process "))
			continue;
		*scan = rest;
		return true;
	}
	return false;
}

static bool parse_text(struct scan text, struct kmsg_kill *kill)
{
	struct scan comm, numbers;
	uint64_t pid;

	if (!parse_opening(&text) || !scan_u64(&text, &pid) || pid == 0 || pid > INT32_MAX ||
		!scan_text(&text, " (") || !find_numbers(text, &comm, &numbers))
		return false;
	if (scan_left(&comm) > COMM_MAX || !parse_numbers(numbers, kill))
		return false;
	kill->pid = (uint32_t)pid;
	return scan_copy(&comm, kill->comm, sizeof(kill->comm)) == 0;
}

bool parse_kmsg_kill(const char *record, size_t len, struct kmsg_kill *ret)
{
	struct scan scan = scan_of(record, len), line;
	struct kmsg_kill kill = {0};
	char text[512];

	/* Lines that follow (" KEY=value") are the record's dictionary, not its text. */
	if (!scan_line(&scan, &line) || !parse_header(&line, &kill.time_us))
		return false;
	/* The longest that the kernel can print is far shorter; a longer one fails at its end. */
	len = unescape(line, text, sizeof(text));
	if (!parse_text(scan_of(text, len), &kill))
		return false;
	*ret = kill;
	return true;
}

int kmsg_open(const char *path)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC), err;

	if (fd < 0)
		return -errno;
	if (lseek(fd, 0, SEEK_END) < 0) {
		err = -errno;
		close(fd);
		return err;
	}
	return fd;
}

/* One of the kernel's own? The lines that follow (" KEY=value") are cut off. */
static bool take_record(struct kmsg_record *record)
{
	struct scan scan = scan_of(record->text, record->len), line, header;

	if (!scan_line(&scan, &line))
		return false;
	record->len = scan_left(&line);
	header = line;
	return parse_header(&header, &record->time_us);
}

int kmsg_next(int fd, struct kmsg_record *ret, uint64_t *lost)
{
	int refusals = 0;

	for (;;) {
		ssize_t len = read(fd, ret->text, sizeof(ret->text));

		ret->len = len > 0 ? (size_t)len : 0;
		if (len > 0 && take_record(ret))
			return 1;
		if (len == 0 || (len < 0 && errno == EAGAIN))
			return 0;
		if (len > 0 || errno == EINTR)
			continue;
		/* EPIPE: overwritten before it was read. EINVAL: longer than any record may be. The
		 * kernel has moved on to the next one in both cases. */
		if (errno != EPIPE && (errno != EINVAL || ++refusals > REFUSALS_MAX))
			return -errno;
		(*lost)++;
	}
}
