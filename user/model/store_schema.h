/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_schema.h: the tables and views of a store. docs/capture.md is their documentation.
 *
 * PRAGMA application_id says that it is a store, PRAGMA user_version which. A version is raised
 * only when an older reader would misread; columns and tables that are added do not raise it.
 * Times: `_ns` of facts are CLOCK_BOOTTIME; series are kept by (boot, t_ms of CLOCK_BOOTTIME),
 * which no change of the clock touches; views tell UTC.
 */
#ifndef OOMSNOOP_MODEL_STORE_SCHEMA_H
#define OOMSNOOP_MODEL_STORE_SCHEMA_H

#include <stdint.h>

#include "model/store_fields.h"
#include "source/db.h"

#define STORE_APPLICATION_ID 0x4f4f4d73 /* "OOMs" */
#define STORE_VERSION 1

/* Makes the schema in a new file, or adds what an older one lacks; write-ahead logging is on then.
 * -EPROTO: a version that this build does not know (needs: *ret_version); -EBADMSG: another
 * program's database. Nothing was changed then. */
int store_schema_prepare(struct db *db, int *ret_version);
/* For a reader: changes nothing. -EBADMSG also of an empty one, in clear words. */
int store_schema_check(struct db *db, int *ret_version);

/* A column: "name TYPE …". */
struct store_table {
	const char *name;
	/* columns that are not facts, keys first; up to NULL */
	const char *const *columns;
	const struct field_table *const *facts; /* up to NULL; NULL: none */
	const char *keys; /* ", PRIMARY KEY(…)" and the like */
	const char *options; /* "WITHOUT ROWID" */
};
extern const struct store_table store_tables[];
extern const size_t store_table_count;

struct store_view {
	const char *name;
	const char *sql; /* from AS on */
};
extern const struct store_view store_views[]; /* store_views.c */
extern const size_t store_view_count;

#endif /* OOMSNOOP_MODEL_STORE_SCHEMA_H */
