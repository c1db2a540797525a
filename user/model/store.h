/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store.h: a capture store read: incidents as they were assembled, the runs that saw them, series,
 * gaps.
 *
 * Trusts nothing: every number is checked before it counts or indexes, every string ends. What is
 * damaged is told, and the rest is given: an incident whose parts cannot all be read comes with
 * `damaged`. 0 or -errno; -EBADMSG: nothing of it can be read; -EPROTO: it needs a newer oomsnoop.
 * store_why() has the words. Large: a struct captured is some 200 KiB.
 */
#ifndef OOMSNOOP_MODEL_STORE_H
#define OOMSNOOP_MODEL_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/capture.h"
#include "model/history.h"
#include "model/killing.h"
#include "model/refusing.h"

struct store;

/* NULL only for no memory at all; otherwise store_why() tells what happened to the last call.
 * *ret_error as above. */
struct store *store_open(const char *path, int *ret_error);
void store_close(struct store *store);
const char *store_why(const struct store *store);
/* The -wal beside the file could not be read: the newest records may be missing. */
bool store_stale(const struct store *store);

/* One line of `list`, as judged when it was stored: by rules of version `told_by`. CLOCK_REALTIME.
 * Text may be any bytes. */
struct store_line {
	int64_t id;
	int64_t time_ns;
	char told_by[CAPTURE_NAME];
	bool damaged;
};

/*
 * The incidents of a time span (INT64_MIN, INT64_MAX: no bound), oldest first, or newest first with
 * `backwards`, until fn returns non-zero, which is then returned. Where the index is damaged, all
 * numbers are tried one by one. -EBADMSG: some, of whatever time, cannot be read; the others were
 * told.
 */
int store_each(struct store *store, int64_t since_ns, int64_t until_ns, bool backwards,
	int (*fn)(const struct store_line *line, void *arg), void *arg);
/* -ENOENT: there is none of that number; -EBADMSG: it was stored, and nothing of it can be read. */
int store_load(struct store *store, int64_t id, struct captured *ret);

/* Series for a window of CLOCK_BOOTTIME on the boot of this incident: of the machine, of all
 * cgroups, and of the processes whose cgroup is domain_id or below it (0: all). Each begins with
 * the point that holds at from_ns, told at from_ns, where the store has it from the quarter of an
 * hour before. -EBADMSG: what can be read was told. Of a boot that is not in the store: nothing. */
int store_history(struct store *store, const struct captured *captured, uint64_t domain_id,
	int64_t from_ns, int64_t to_ns, const struct history_taker *taker);
/* Everything in the store, by boot and time, for export: points in CLOCK_REALTIME by what the clock
 * of their boot was last, owners in CLOCK_BOOTTIME. fn may take its time: no lock is held while it
 * is called. `path` is the cgroup's, or the process's cgroup's; "" not known. -EBADMSG as above. */
int store_series(struct store *store, int64_t since_ns, int64_t until_ns,
	void (*fn)(const struct capture_run *run, const struct history_owner *owner,
		const char *path, const struct history_point *point, void *arg),
	void *arg);

/* Kills that were not the OOM killer's: their numbers and times, oldest first, until fn returns
 * non-zero. A store of an older oomsnoop has none. -EBADMSG: some cannot be read. */
int store_kills(struct store *store, int64_t since_ns, int64_t until_ns,
	int (*fn)(const struct store_line *line, void *arg), void *arg);
/* One of them. Of *ret run, moment and damage are filled. -ENOENT, -EBADMSG as above. */
int store_load_kill(
	struct store *store, int64_t id, struct killing *ret_killing, struct captured *ret);

/* The same of memory and processes that were asked for and not given. */
int store_refusals(struct store *store, int64_t since_ns, int64_t until_ns,
	int (*fn)(const struct store_line *line, void *arg), void *arg);
int store_load_refusal(
	struct store *store, int64_t id, struct refusal *ret_refusal, struct captured *ret);

enum store_gap_why {
	STORE_GAP_NOT_RUNNING = 1, /* between two runs */
	STORE_GAP_DISK = 2, /* what could not be written, and did not fit into memory any more */
	STORE_GAP_QUEUE = 3, /* the disk was too slow */
	STORE_GAP_WINDOW = 4, /* processes of a window beyond the largest */
	STORE_GAP_PRUNED = 5, /* series that gave way to --max-size or --keep */
};

struct store_gap {
	enum store_gap_why why;
	int64_t from_ns, to_ns; /* CLOCK_REALTIME */
	uint64_t incidents, points; /* lost in it; UNKNOWN_U64 */
};

int store_gaps(struct store *store, int64_t since_ns, int64_t until_ns,
	void (*fn)(const struct store_gap *gap, void *arg), void *arg);
const char *store_gap_name(enum store_gap_why why);

struct store_summary {
	uint64_t bytes; /* of the file */
	uint64_t incidents, runs;
	int64_t first_ns, last_ns; /* CLOCK_REALTIME of incidents; INT64_MIN: none */
	int64_t running_since_ns; /* a recorder's last run that has not ended; INT64_MIN: none */
	char hostname[65]; /* of the last run */
};

int store_summary(struct store *store, struct store_summary *ret);

#endif /* OOMSNOOP_MODEL_STORE_H */
