/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_fields.h: how the facts of an incident lie in the tables of a store: one row of a table
 * here is a member of a struct and a column there. Creating the schema, writing, reading, checksums
 * and the documentation all go by these tables, so that a fact cannot be written and not be read.
 * To add a fact: one line in store_fields.c; older stores get the column when a writer opens them,
 * and give the value for "not known" to a reader.
 *
 * A column is NULL where the member is "not known". Masks and other 64-bit values are stored by
 * their bits (SQLite's integers are signed). Addresses of the kernel do not leave the machine: each
 * distinct one of an incident is stored as a small number.
 *
 * Checksums: each column that is not NULL gives a number that hangs on table, column, row number
 * and value (text: a CRC-32); the sum of all of them over all rows of an incident is its `crc`. So
 * the order of columns and rows does not count, and columns that are added later are covered for
 * readers that do not know them. A run has its own.
 */
#ifndef OOMSNOOP_MODEL_STORE_FIELDS_H
#define OOMSNOOP_MODEL_STORE_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/capture.h"
#include "model/killing.h"
#include "model/refusing.h"
#include "source/db.h"

enum field_type {
	FIELD_BOOL,
	FIELD_U8,
	FIELD_U32, /* flags, counts and enums, too */
	FIELD_U32_OR_NONE, /* UINT32_MAX: NULL */
	FIELD_I32,
	FIELD_U64, /* UINT64_MAX: NULL */
	FIELD_U64_KNOWN, /* never unknown; NULL: 0 */
	FIELD_I64,
	FIELD_I64_OR_NONE, /* INT64_MIN: NULL */
	FIELD_TEXT, /* char[size]; "": NULL */
	FIELD_ADDRESS, /* u64; UINT64_MAX: NULL */
	FIELD_CSTRING, /* const char *; NULL: NULL */
};

struct field {
	const char *column;
	enum field_type type;
	uint32_t size; /* of the member */
	uint32_t stride; /* from one row's member to the next one's; 0: of a single row */
	size_t offset; /* of the first row's member, from the beginning of the struct */
	/* What is more (in either direction, where it is signed) is damage: it becomes 0, or
	 * unknown where that is another value. 0: any */
	uint64_t max;
	const char *about; /* docs: what it is, where the column's name does not say it; or NULL */
};

/* Rows of one struct: the struct itself, or an array in it with a count. */
struct field_table {
	const char *table;
	const char *what; /* for "… cannot be read" */
	const struct field *fields;
	size_t field_count;
	size_t row_max; /* 0: a single row */
	size_t count_offset; /* unsigned int, with row_max; but with `rows`: */
	size_t (*rows)(const void *base); /* NULL, or how many there are by other members */
};

/* Tables of struct incident: its own row, then its arrays, keyed (incident, n). */
extern const struct field_table store_field_tables[];
extern const size_t store_field_table_count;
#define STORE_FIELDS_INCIDENT 0 /* index of the incident's own */
#define STORE_FIELDS_LOG 9 /* of what only a kernel log tells: one row, or none */
#define STORE_FIELDS_TABLES 12

/* Members of struct capture_moment: further columns of the incident's own row. */
extern const struct field_table store_fields_moment;
/* Of struct capture_run, its host included: the columns of table `run`; and its hooks, keyed
 * (run, n). */
extern const struct field_table store_fields_run;
extern const struct field_table store_fields_run_hook;

/* What was judged when an incident was stored: further columns of its row, for those who ask by
 * SQL. A report judges anew. */
#define STORE_CLAIM 320
struct store_told {
	int64_t time_real_ns; /* CLOCK_REALTIME of the kill */
	int64_t run; /* its id */
	char by[CAPTURE_NAME]; /* OOMSNOOP_VERSION */
	char scope[16], outcome[24];
	uint32_t manual; /* 0, 1; UINT32_MAX: not known */
	bool rss_exact; /* the kernel takes the exact sums: *_exact_pages, where a process has them
			 */
	char limit_cgroup[INCIDENT_PATH];
	char limit_kind[16], container_id[CONTAINER_ID_LEN], container_name[CONTAINER_NAME_LEN],
		pod_uid[CONTAINER_ID_LEN], runtime[16], unit[CONTAINER_UNIT_LEN];
	uint64_t limit_bytes, usage_bytes, total_pages;
	int64_t points; /* of the victim; INT64_MIN: not known */
	char first_verdict[CAPTURE_NAME];
	char claim[STORE_CLAIM]; /* of the first verdict */
};
extern const struct field_table store_fields_told;

/* A row of `verdict`, keyed (incident, n). */
#define STORE_EVIDENCE (6 * (STORE_CLAIM + 1))
struct store_verdict {
	char id[CAPTURE_NAME];
	char claim[STORE_CLAIM];
	uint32_t confidence; /* enum confidence */
	char evidence[STORE_EVIDENCE]; /* a line each */
};
extern const struct field_table store_fields_verdict;

/* --- kills that were not the OOM killer's: store_kill_fields.c --- */

/* A row of `kill`: struct killing, and what was judged when it was stored; `kill_target` keyed
 * (kill, n). Their `crc` is the sum over both, as an incident's. */
struct store_kill_told {
	int64_t time_real_ns; /* CLOCK_REALTIME of the first signal */
	int64_t wall_minus_boot_ns;
	int64_t run; /* its id */
	char by[CAPTURE_NAME];
	char first_verdict[CAPTURE_NAME];
	char claim[STORE_CLAIM];
	/* out of the first target's path and the names that were learnt */
	char container_id[CONTAINER_ID_LEN], container_name[CONTAINER_NAME_LEN],
		pod_uid[CONTAINER_ID_LEN], runtime[16], unit[CONTAINER_UNIT_LEN];
};
extern const struct field_table store_fields_kill;
extern const struct field_table store_fields_kill_target;
extern const struct field_table store_fields_kill_told;

/* A row of `refusal` likewise: struct refusal, and what was judged. */
extern const struct field_table store_fields_refusal;
extern const struct field_table store_fields_refusal_told;

/* --- one value: store_value.c --- */

/* Small numbers for the addresses of one incident. */
#define STORE_ADDRESSES 1024 /* candidates, victims and the chosen one have fewer */
struct store_addresses {
	unsigned int count;
	uint64_t seen[STORE_ADDRESSES];
	uint16_t slots[2 * STORE_ADDRESSES]; /* index + 1, by hash */
};

void store_addresses_reset(struct store_addresses *addresses);

/* An SQLite value: SQLITE_NULL, SQLITE_INTEGER or SQLITE_TEXT (any bytes). */
struct store_value {
	int type;
	int64_t number;
	const char *bytes;
	size_t len;
};

static inline const void *store_member(const struct field *field, const void *base, size_t n)
{
	return (const char *)base + field->offset + n * field->stride;
}

size_t store_row_count(const struct field_table *table, const void *base);
/* What the column holds for row n of the struct at base. addresses: NULL where the table has none.
 */
struct store_value store_value_of(
	const struct field *field, const void *base, size_t n, struct store_addresses *addresses);
void store_value_bind(sqlite3_stmt *statement, int index, const struct store_value *value);
/* Gives the member what a NULL stands for. */
void store_member_clear(const struct field *field, void *base, size_t n);
/* Gives it what a column holds; false: that is damaged, and it got something harmless. Not for
 * FIELD_CSTRING. */
bool store_member_read(
	const struct field *field, void *base, size_t n, sqlite3_stmt *statement, int column);

/* --- rows --- */

/* "INSERT INTO table(KEYS, columns) VALUES(?, …)"; keys: "incident, n". The keys are the first
 * parameters. */
int store_row_prepare(
	struct db *db, const struct field_table *table, const char *keys, sqlite3_stmt **ret);
/* Binds the columns of row n from parameter `first` on. */
void store_row_bind(sqlite3_stmt *statement, int first, const struct field_table *table,
	const void *base, size_t n, struct store_addresses *addresses);

/* --- checksums --- */

/* Of a table and a column, to begin the others with. */
uint32_t store_sum_column(const char *table, const char *column);
uint64_t store_sum_value(uint32_t column_sum, int64_t n, const struct store_value *value);
/* Of a column of a row that was read; `n` is the row's number, of single rows the id. */
uint64_t store_sum_read(uint32_t column_sum, int64_t n, sqlite3_stmt *statement, int column);

/* The `crc` of a run, to be stored with its row whenever that is written: the row's columns by its
 * id, and its hooks. */
int64_t store_run_sum(const struct capture_run *run);

#endif /* OOMSNOOP_MODEL_STORE_FIELDS_H */
