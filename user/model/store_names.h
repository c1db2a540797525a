/* SPDX-License-Identifier: Apache-2.0 */
/* store_names.h: private to model/store*.c: whose a point of a series is. */
#ifndef OOMSNOOP_MODEL_STORE_NAMES_H
#define OOMSNOOP_MODEL_STORE_NAMES_H

#include "model/store_parts.h"

enum { OF_CGROUP = 0, OF_PROCESS = 1 }; /* which tables */

#define POINT_COLUMNS_CGROUP "t_ms, cgroup, usage, charged FROM cgroup_point"
#define POINT_COLUMNS_PROCESS "t_ms, process, resident, swap, cow, cached FROM process_point"

/* Statements that look up names. */
struct store_lookup {
	struct store *store;
	int64_t boot; /* to be set by the user, before paths and chains are asked for */
	sqlite3_stmt *by_row[2];
	sqlite3_stmt *path; /* of a kernfs id */
	sqlite3_stmt *is_below; /* boot, kernfs id, kernfs id of what may be above it */
};

/* Keeps the words of a failure, if it is the first: returns the first. */
int store_note(struct store *store, int so_far, int error);
/* The same for damage that the database does not see. */
int store_note_damage(struct store *store, int so_far, const char *what);

/* To be closed also where it failed. */
int store_lookup_open(struct store_lookup *lookup, struct store *store);
void store_lookup_close(struct store_lookup *lookup);
/* 1: read, 0: there is no such row. `path` (of CGROUP_PATH_LEN) is a cgroup's own, else "". */
int store_lookup_row(
	struct store_lookup *lookup, int kind, int64_t row, struct history_owner *ret, char *path);
/* The path of a cgroup, "" where it is not known. */
int store_lookup_path(struct store_lookup *lookup, uint64_t kernfs_id, char *path);

/* Values of a point, in columns from `first` on. False: one that was never stored. */
bool store_read_values(sqlite3_stmt *statement, int first, int kind, int64_t *values);

#endif /* OOMSNOOP_MODEL_STORE_NAMES_H */
