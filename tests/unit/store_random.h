/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stores for the tests: random incidents that keep to the rules of the fields and to nothing else,
 * a writer with a run, and comparing what came back.
 */
#ifndef TESTS_STORE_RANDOM_H
#define TESTS_STORE_RANDOM_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "judge/judgement.h"
#include "model/store.h"
#include "model/store_fields.h"
#include "model/store_schema.h"
#include "sink/store.h"

static uint64_t random_state = 88172645463325252ULL;

static inline uint64_t random_u64(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state * 0x2545f4914f6cdd1dULL;
}

static inline uint64_t random_below(uint64_t bound)
{
	return random_u64() % bound;
}

/* One of the extremes, or of any size. */
static inline uint64_t random_up_to(uint64_t max)
{
	uint64_t value = random_u64() >> random_below(64);

	switch (random_below(8)) {
	case 0:
		return 0;
	case 1:
		return max;
	default:
		return max == UINT64_MAX ? value : value % (max + 1);
	}
}

static inline void random_text(char *text, size_t size)
{
	static const char *const tricky[] = {"\xff\xfe", "caf\xc3\xa9", "\x1b[31m", "'; DROP --",
		"\xe2\x80\xae", "\n", "\\", "\"", "%s%n", "\xf0\x9f\x98\x80"};
	size_t len = random_below(3) ? random_below(size < 40 ? size : 40) : random_below(size);

	memset(text, 0, size);
	for (size_t i = 0; i < len; i++)
		text[i] = random_below(4) ? (char)('a' + random_below(26))
					  : (char)(1 + random_below(255));
	if (!random_below(4))
		strncpy(text, tricky[random_below(10)], size - 1);
}

static inline void random_member(const struct field *field, void *base, size_t n)
{
	void *member = (char *)base + field->offset + n * field->stride;
	uint64_t bound32 = field->max ? field->max : UINT32_MAX, value;
	uint64_t bound = field->max ? field->max : UINT64_MAX;
	bool none = !random_below(6), flag = random_below(2);
	uint32_t u32;

	switch (field->type) {
	case FIELD_BOOL:
		memcpy(member, &flag, sizeof(flag));
		return;
	case FIELD_U8:
		*(uint8_t *)member = (uint8_t)random_u64();
		return;
	case FIELD_TEXT:
		random_text(member, field->size);
		return;
	case FIELD_U32:
	case FIELD_U32_OR_NONE:
		u32 = (uint32_t)random_up_to(bound32);
		if (field->type == FIELD_U32_OR_NONE && none)
			u32 = UINT32_MAX;
		memcpy(member, &u32, sizeof(u32));
		return;
	case FIELD_I32:
		value = random_up_to(field->max ? field->max : INT32_MAX);
		u32 = (uint32_t)(flag ? value : -value);
		memcpy(member, &u32, sizeof(u32));
		return;
	case FIELD_U64:
		value = none ? UINT64_MAX : random_up_to(bound);
		break;
	case FIELD_U64_KNOWN:
		value = random_up_to(bound);
		break;
	case FIELD_I64:
	case FIELD_I64_OR_NONE:
		value = random_up_to(field->max ? field->max : INT64_MAX);
		value = flag ? value : -value;
		if (field->type == FIELD_I64_OR_NONE && none)
			value = (uint64_t)INT64_MIN;
		break;
	case FIELD_ADDRESS:
		/* Some are shared, some are not there. */
		value = random_below(4) ? 0xffff888000000000ULL + random_below(200) * 64
					: (random_below(2) ? 0 : UINT64_MAX);
		break;
	default:
		return;
	}
	memcpy(member, &value, sizeof(value));
}

static inline void random_table(const struct field_table *table, void *base)
{
	for (size_t n = 0; n < store_row_count(table, base); n++)
		for (size_t i = 0; i < table->field_count; i++)
			random_member(&table->fields[i], base, n);
}

static inline void random_counts(struct incident *incident)
{
	for (size_t i = 1; i < store_field_table_count; i++) {
		const struct field_table *table = &store_field_tables[i];
		unsigned int count = (unsigned int)random_up_to(table->row_max);

		if (table->rows)
			continue;
		/* The largest number now and then: it takes long. */
		if (count > 20 && random_below(4))
			count %= 20;
		memcpy((char *)incident + table->count_offset, &count, sizeof(count));
	}
}

/* Nothing of a log without one; a limit that is one of the levels. */
static inline void random_log(struct incident *incident)
{
	if (incident->source != INCIDENT_IMPORTED && !incident->log.joined)
		memset(&incident->log, 0, sizeof(incident->log));
	else
		incident->log.limit_level = (int)random_below(incident->level_count + 1) - 1;
}

/* The same of what was noticed from within. */
static inline void random_self(struct incident *incident)
{
	incident->self.limit_level = (int)random_below(incident->level_count + 1) - 1;
	if (incident->self.limit_level < 0)
		incident->self.limit_sign = SELF_LIMIT_NONE;
}

static inline void random_incident(struct incident *incident)
{
	memset(incident, 0, sizeof(*incident));
	random_table(&store_field_tables[STORE_FIELDS_INCIDENT], incident);
	random_counts(incident);
	for (size_t i = 1; i < store_field_table_count; i++)
		random_table(&store_field_tables[i], incident);
	random_log(incident);
	random_self(incident);
	/* A rate that fits into 64 bits. */
	incident->growth.from_ns = random_below(1ULL << 50);
	incident->growth.to_ns = incident->growth.from_ns + (1ULL << 42) + random_below(1ULL << 45);
	/* Within what a calendar shows. */
	incident->time_ns = random_below(1ULL << 50);
}

static inline void random_moment(struct capture_moment *moment)
{
	memset(moment, 0, sizeof(*moment));
	random_table(&store_fields_moment, moment);
	moment->wall_minus_boot_ns = 1767316800000000000LL + (int64_t)random_below(1ULL << 40);
	moment->coverage.faults_why = random_below(2) ? "page faults are not counted" : NULL;
}

static inline void random_run(struct capture_run *run)
{
	memset(run, 0, sizeof(*run));
	random_table(&store_fields_run, run);
	random_table(&store_fields_run_hook, run);
	/* Words of oomsnoop's own. */
	strcpy(run->version, OOMSNOOP_VERSION);
	strcpy(run->tier, random_below(2) ? "full" : "tracepoint");
	strcpy(run->recorder_source, "iterator");
	strcpy(run->recorder_faults, "auto");
	for (unsigned int i = 0; i < run->hook_count; i++) {
		snprintf(run->hooks[i].purpose, CAPTURE_NAME, "purpose-%u", i);
		snprintf(run->hooks[i].hook, sizeof(run->hooks[i].hook), "%s",
			random_below(4) ? "fentry oom_kill_process" : "");
	}
	run->host.page_size = 1024U << random_below(11);
	run->began_ns = 1767316800000000000LL;
	run->ended_ns = INT64_MIN;
	run->ended_why[0] = '\0';
	snprintf(run->host.boot_id, sizeof(run->host.boot_id), "boot-%u",
		(unsigned int)random_below(3));
}

/* --- comparing --- */

/* Addresses by their order of appearance: what they were in the kernel is not stored. */
static inline void number_addresses(struct incident *incident)
{
	static struct store_addresses addresses;

	store_addresses_reset(&addresses);
	for (size_t i = 0; i < store_field_table_count; i++) {
		const struct field_table *table = &store_field_tables[i];

		for (size_t n = 0; n < store_row_count(table, incident); n++) {
			for (size_t j = 0; j < table->field_count; j++) {
				const struct field *field = &table->fields[j];
				struct store_value value;
				uint64_t number;

				if (field->type != FIELD_ADDRESS)
					continue;
				value = store_value_of(field, incident, n, &addresses);
				number = value.type == SQLITE_NULL ? UINT64_MAX
								   : (uint64_t)value.number;
				memcpy((char *)incident + field->offset + n * field->stride,
					&number, sizeof(number));
			}
		}
	}
}

/* Of all rows that count. With test_store_fields.c, which shows that no member is left out, this is
 * all there is. */
static inline bool same_table(const struct field_table *table, const void *a, const void *b)
{
	if (store_row_count(table, a) != store_row_count(table, b))
		return false;
	for (size_t n = 0; n < store_row_count(table, a); n++) {
		for (size_t i = 0; i < table->field_count; i++) {
			const struct field *field = &table->fields[i];
			const char *left = store_member(field, a, n);
			const char *right = store_member(field, b, n);

			if (field->type == FIELD_CSTRING)
				continue;
			if (field->type == FIELD_TEXT ? strcmp(left, right) != 0
						      : memcmp(left, right, field->size) != 0) {
				print_message(
					"%s %zu: %s differs\n", table->table, n, field->column);
				return false;
			}
		}
	}
	return true;
}

static inline bool same_incident(const struct incident *a, const struct incident *b)
{
	static struct incident left, right;
	bool same = true;

	left = *a;
	right = *b;
	number_addresses(&left);
	number_addresses(&right);
	for (size_t i = 0; i < store_field_table_count; i++)
		same = same && same_table(&store_field_tables[i], &left, &right);
	return same;
}

static inline bool same_moment(const struct capture_moment *a, const struct capture_moment *b)
{
	const char *left = a->coverage.faults_why, *right = b->coverage.faults_why;

	return same_table(&store_fields_moment, a, b) && !left == !right &&
	       (!left || !strcmp(left, right));
}

static inline bool same_run(const struct capture_run *a, const struct capture_run *b)
{
	return a->id == b->id && same_table(&store_fields_run, a, b) &&
	       same_table(&store_fields_run_hook, a, b);
}

/* No byte that a terminal would obey, but the ends of lines. */
static inline void assert_harmless_text(const char *text)
{
	for (const char *at = text; *at; at++)
		if (((unsigned char)*at < ' ' && *at != '\n') || *at == 0x7f)
			fail_msg("byte 0x%02x after: %.60s", (unsigned char)*at,
				at - text > 60 ? at - 60 : text);
}

/* --- stores --- */

struct made {
	char folder[64], path[96];
	struct store_writer *writer;
	struct capture_run run;
};

static inline void made_name(struct made *made)
{
	memset(made, 0, sizeof(*made));
	/* Where waiting for the disk costs nothing, if there is such a place. */
	strcpy(made->folder, "/dev/shm/oomsnoop-store-XXXXXX");
	if (!mkdtemp(made->folder)) {
		strcpy(made->folder, "/tmp/oomsnoop-store-XXXXXX");
		assert_non_null(mkdtemp(made->folder));
	}
	snprintf(made->path, sizeof(made->path), "%s/x.db", made->folder);
}

static inline void made_open(struct made *made)
{
	struct store_limits limits = {.max_bytes = 1ULL << 30};
	int ret = store_writer_open(made->path, &limits, &made->writer);

	if (ret)
		print_message("%s: %s\n", made->path, store_writer_why(NULL));
	assert_int_equal(ret, 0);
}

static inline void made_run(struct made *made)
{
	assert_int_equal(store_run_begin(made->writer, &made->run, 1767316800000000000LL), 0);
}

static inline void made_new(struct made *made)
{
	made_name(made);
	made_open(made);
	random_run(&made->run);
	made_run(made);
}

static inline void made_close(struct made *made)
{
	store_writer_close(made->writer);
	made->writer = NULL;
}

static inline void made_remove(struct made *made)
{
	static const char *const ends[] = {"", "-wal", "-shm", "-journal"};
	char path[128];

	if (made->writer)
		made_close(made);
	for (size_t i = 0; i < 4; i++) {
		snprintf(path, sizeof(path), "%s%s", made->path, ends[i]);
		unlink(path);
	}
	assert_int_equal(rmdir(made->folder), 0);
}

static inline int64_t made_put(
	struct made *made, const struct incident *incident, const struct capture_moment *moment)
{
	static struct judgement judgement;
	int64_t id = 0;
	int ret;

	judge_incident(incident, &made->run.host, &moment->coverage, &judgement);
	ret = store_incident(made->writer, &made->run, moment, incident, &judgement, &id);
	if (ret)
		print_message("%s\n", store_writer_why(made->writer));
	assert_int_equal(ret, 0);
	return id;
}

/* SQL by hand, as another program would. */
static inline void made_exec(const struct made *made, const char *sql)
{
	sqlite3 *handle;
	char *why = NULL;

	assert_int_equal(sqlite3_open(made->path, &handle), SQLITE_OK);
	if (sqlite3_exec(handle, sql, NULL, NULL, &why) != SQLITE_OK)
		fail_msg("%s: %s", sql, why);
	sqlite3_close(handle);
}

static inline void made_text(const struct made *made, const char *sql, char *ret, size_t size)
{
	sqlite3 *handle;
	sqlite3_stmt *statement;
	const char *text;

	assert_int_equal(sqlite3_open(made->path, &handle), SQLITE_OK);
	if (sqlite3_prepare_v2(handle, sql, -1, &statement, NULL) != SQLITE_OK)
		fail_msg("%s: %s", sql, sqlite3_errmsg(handle));
	ret[0] = '\0';
	if (sqlite3_step(statement) == SQLITE_ROW) {
		text = (const char *)sqlite3_column_text(statement, 0);
		snprintf(ret, size, "%s", text ? text : "NULL");
	}
	sqlite3_finalize(statement);
	sqlite3_close(handle);
}

static inline void assert_sql(const struct made *made, const char *sql, const char *expected)
{
	char text[4096];

	made_text(made, sql, text, sizeof(text));
	assert_string_equal(text, expected);
}

/* What was loaded last. */
static struct captured captured;

static inline struct store *open_store(const struct made *made)
{
	int error;
	struct store *store = store_open(made->path, &error);

	assert_non_null(store);
	if (error)
		print_message("%s\n", store_why(store));
	assert_int_equal(error, 0);
	return store;
}

static inline void assert_loads(const struct made *made, int64_t id)
{
	struct store *store = open_store(made);

	assert_int_equal(store_load(store, id, &captured), 0);
	if (captured.damaged)
		print_message("%s\n", captured.damage);
	assert_false(captured.damaged);
	assert_int_equal(captured.id, id);
	store_close(store);
}

#endif /* TESTS_STORE_RANDOM_H */
