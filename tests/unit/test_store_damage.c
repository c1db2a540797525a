// SPDX-License-Identifier: Apache-2.0
/*
 * Damaged stores: flipped bytes, files that were cut, files made to harm. Whatever is done to a
 * store, reading it crashes nothing and never tells other facts: what does not match is called
 * damaged, and what can be read is read.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "fixture_incident.h"
#include "store_random.h"

#include "sink/sink.h"

#define INCIDENTS 12
#define FLIPS 500
#define CUTS 200

static struct incident originals[INCIDENTS];
static struct capture_moment moments[INCIDENTS];
static struct made made;
static char *pristine, *spoilt;
static size_t store_size;

/* --- a store with a bit of everything --- */

/* A kill as the kernel's records make it. */
static void assembled_incident(struct incident *ret)
{
	struct world *world = world_new();

	feed_begin(world, 1);
	for (uint32_t pid = VICTIM; pid < VICTIM + 40; pid++)
		feed_candidate(world, pid, 1000 + pid, 0);
	feed_kill(world, 1, VICTIM);
	feed_gone(world, 1, VICTIM);
	*ret = *take_one(world);
	host_16_gib(ret);
	world_free(world);
}

/* At least one in each table. */
static void give_rows(struct incident *ret)
{
	ret->source = INCIDENT_IMPORTED;
	for (size_t i = 1; i < store_field_table_count; i++) {
		const struct field_table *table = &store_field_tables[i];
		unsigned int count = 2;

		if (!table->rows)
			memcpy((char *)ret + table->count_offset, &count, sizeof(count));
		random_table(table, ret);
	}
	random_log(ret);
}

static void read_whole(const char *path)
{
	struct stat status;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &status), 0);
	store_size = (size_t)status.st_size;
	pristine = malloc(store_size);
	spoilt = malloc(store_size);
	assert_int_equal(read(fd, pristine, store_size), store_size);
	close(fd);
}

static int make_store(void **state)
{
	(void)state;
	made_name(&made);
	made_open(&made);
	do
		random_run(&made.run);
	while (made.run.hook_count < 2);
	made_run(&made);
	for (int i = 0; i < INCIDENTS; i++) {
		if (i % 3)
			random_incident(&originals[i]);
		else
			assembled_incident(&originals[i]);
		if (i == 2)
			give_rows(&originals[i]);
		random_moment(&moments[i]);
		assert_int_equal(made_put(&made, &originals[i], &moments[i]), i + 1);
	}
	made_close(&made);
	read_whole(made.path);
	return 0;
}

static int remove_store(void **state)
{
	(void)state;
	made_remove(&made);
	free(pristine);
	free(spoilt);
	return 0;
}

static void write_spoilt(size_t size)
{
	int fd = open(made.path, O_WRONLY | O_TRUNC | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, spoilt, size), size);
	close(fd);
}

/* --- what reading comes to --- */

struct outcome {
	unsigned int whole, damaged, lost; /* incidents */
	bool unreadable; /* the store */
	bool said; /* that not all is there */
};

static void show(void)
{
	static char data[SINK_JSON_MAX];
	static struct judgement judgement;
	struct sink_context context = {.width = 80};
	struct buf buf;

	sink_context_of(&context, &captured.run, &captured.moment);
	judge_incident(
		&captured.incident, &captured.run.host, &captured.moment.coverage, &judgement);
	buf_init(&buf, data, sizeof(data));
	json_incident(&buf, &context, &captured.incident, &judgement);
	assert_harmless_text(data);
	buf_init(&buf, data, sizeof(data));
	text_incident(&buf, &context, &captured.incident, &judgement);
	assert_harmless_text(data);
}

struct visit {
	struct store *store;
	struct outcome *outcome;
	bool seen[INCIDENTS];
	int64_t last_ns;
	bool backwards;
};

static void check_facts(int64_t id)
{
	const struct incident *original = &originals[id - 1];

	assert_true(same_incident(original, &captured.incident));
	assert_true(same_moment(&moments[id - 1], &captured.moment));
	assert_true(same_run(&made.run, &captured.run));
}

static int visit(const struct store_line *line, void *arg)
{
	struct visit *visit = arg;
	int ret = store_load(visit->store, line->id, &captured);

	if (ret) {
		/* What is told and cannot be loaded is said to be damaged. */
		assert_int_not_equal(ret, -ENOENT);
		visit->outcome->lost++;
		visit->outcome->said = true;
		return 0;
	}
	if (captured.damaged) {
		show();
		assert_true(captured.damage[0] != '\0');
		visit->outcome->damaged++;
		if (line->id >= 1 && line->id <= INCIDENTS)
			visit->seen[line->id - 1] = true;
		return 0;
	}
	assert_in_range(line->id, 1, INCIDENTS);
	check_facts(line->id);
	if (!line->damaged)
		assert_true(line->time_ns == (int64_t)originals[line->id - 1].time_ns +
						     moments[line->id - 1].wall_minus_boot_ns);
	assert_false(visit->seen[line->id - 1]);
	visit->seen[line->id - 1] = true;
	visit->outcome->whole++;
	return 0;
}

/* The numbers that nobody listed, too. */
static void load_by_number(struct store *store)
{
	for (int id = 1; id <= INCIDENTS; id++) {
		int error = store_load(store, id, &captured);

		if (!error && !captured.damaged)
			check_facts(id);
		else if (error)
			assert_int_equal(error, -EBADMSG);
	}
}

static struct outcome read_spoilt(bool backwards)
{
	struct outcome ret = {0};
	struct visit arg = {.outcome = &ret, .backwards = backwards};
	int error;

	arg.store = store_open(made.path, &error);
	assert_non_null(arg.store);
	if (error) {
		assert_true(error == -EBADMSG || error == -EPROTO);
		assert_true(store_why(arg.store)[0] != '\0');
		ret.unreadable = true;
		store_close(arg.store);
		return ret;
	}
	error = store_each(arg.store, INT64_MIN, INT64_MAX, backwards, visit, &arg);
	if (error) {
		assert_int_equal(error, -EBADMSG);
		assert_true(store_why(arg.store)[0] != '\0');
		ret.said = true;
	}
	/* None goes without a word. */
	for (int i = 0; i < INCIDENTS; i++)
		if (!arg.seen[i] && !ret.said)
			fail_msg("incident %d is gone and nothing was said", i + 1);
	if (ret.whole < INCIDENTS)
		load_by_number(arg.store);
	store_close(arg.store);
	return ret;
}

struct total {
	unsigned int stores, unreadable, whole, damaged;
};

static void add(struct total *total, const struct outcome *outcome)
{
	total->stores++;
	total->unreadable += outcome->unreadable;
	total->whole += outcome->whole;
	total->damaged += outcome->damaged;
}

static void print_total(const char *what, const struct total *total)
{
	print_message("# %u %s: %u stores cannot be read at all; of %u incidents %u came out"
		      " whole, %u in part\n",
		total->stores, what, total->unreadable, total->stores * INCIDENTS, total->whole,
		total->damaged);
}

/* --- tests --- */

static void test_the_pristine_store_is_whole(void **state)
{
	struct outcome outcome;

	(void)state;
	memcpy(spoilt, pristine, store_size);
	write_spoilt(store_size);
	outcome = read_spoilt(false);
	assert_int_equal(outcome.whole, INCIDENTS);
	assert_false(outcome.said);
	outcome = read_spoilt(true);
	assert_int_equal(outcome.whole, INCIDENTS);
}

static void test_flipped_bytes_never_tell_other_facts(void **state)
{
	struct total total = {0};

	(void)state;
	random_state = 4711;
	for (int i = 0; i < FLIPS; i++) {
		size_t at = random_below(store_size);
		struct outcome outcome;

		memcpy(spoilt, pristine, store_size);
		/* One bit, or a whole byte; now and then near the beginning, where the schema is.
		 */
		if (i % 10 == 0)
			at %= 4096;
		spoilt[at] ^= (char)(i % 2 ? 1U << random_below(8) : 1 + random_below(255));
		write_spoilt(store_size);
		outcome = read_spoilt(i % 2);
		add(&total, &outcome);
	}
	print_total("flips of a byte", &total);
	/* Most of a store is not hit by one. */
	assert_true(total.whole > FLIPS * INCIDENTS / 2);
}

static void test_a_page_of_nothing_never_tells_other_facts(void **state)
{
	struct total total = {0};

	(void)state;
	for (size_t at = 4096; at + 4096 <= store_size; at += 4096) {
		struct outcome outcome;

		memcpy(spoilt, pristine, store_size);
		memset(spoilt + at, 0, 4096);
		write_spoilt(store_size);
		outcome = read_spoilt(false);
		add(&total, &outcome);
	}
	print_total("pages lost", &total);
}

static void test_a_store_that_was_cut_gives_what_is_there(void **state)
{
	struct total total = {0};

	(void)state;
	random_state = 815;
	for (int i = 0; i < CUTS; i++) {
		size_t size = random_below(store_size);
		struct outcome outcome;

		memcpy(spoilt, pristine, store_size);
		if (i % 2)
			size -= size % 4096;
		write_spoilt(size);
		outcome = read_spoilt(i % 2);
		add(&total, &outcome);
	}
	print_total("files cut", &total);
	assert_true(total.whole > 0);
}

/* --- files made to harm --- */

static void restore(void)
{
	memcpy(spoilt, pristine, store_size);
	write_spoilt(store_size);
}

/* Read without a log, as it was left. */
static struct outcome read_after(const char *sql)
{
	restore();
	made_exec(&made, sql);
	return read_spoilt(false);
}

static void assert_harmless(const char *sql)
{
	assert_false(read_after(sql).unreadable);
}

static void assert_refused(const char *sql)
{
	assert_true(read_after(sql).unreadable);
}

static void test_a_hostile_schema_runs_nothing(void **state)
{
	struct outcome outcome;

	(void)state;
	assert_harmless("ALTER TABLE incident RENAME TO hidden;"
			"CREATE VIEW incident AS SELECT * FROM hidden");
	assert_harmless("ALTER TABLE victim RENAME TO hidden;"
			"CREATE VIEW victim AS WITH RECURSIVE r(incident, n) AS (VALUES(1, 0) UNION"
			" ALL SELECT 1, n + 1 FROM r) SELECT * FROM r");
	assert_refused("DROP TABLE verdict; CREATE VIRTUAL TABLE verdict USING fts5(incident, n)");
	assert_refused("ALTER TABLE victim ADD COLUMN evil GENERATED ALWAYS AS"
		       " (zeroblob(900000000)) VIRTUAL");
	assert_refused("ALTER TABLE incident ADD COLUMN evil GENERATED ALWAYS AS"
		       " (printf('%.*c', 900000000, 'x')) VIRTUAL");
	assert_harmless("UPDATE incident SET time_real_ns = NULL");
	assert_harmless("UPDATE sqlite_sequence SET seq = 9223372036854775807");
	assert_harmless("UPDATE incident SET id = 9223372036854775807 WHERE id = 5");
	assert_harmless("UPDATE incident SET id = -7 WHERE id = 5");
	assert_harmless("DELETE FROM run");
	assert_harmless("UPDATE incident SET run = 'x'");
	assert_harmless("DELETE FROM run_hook; DELETE FROM level WHERE n = 1");
	assert_harmless("UPDATE run SET page_size = 0");
	assert_harmless("DROP TABLE candidate");
	assert_harmless("UPDATE run_hook SET purpose = x'1b5d22', hook = x'1b5b324a'");
	assert_harmless(
		"UPDATE run SET tier = x'1b5d22', recorder_source = '\"', hostname = x'1b0a'");
	assert_harmless("UPDATE incident SET coverage_faults_why = x'1b0a', message = x'1b0a',"
			" kmsg = 3, has_oc = 1, kmsg_difference = x'1b0a', trigger_comm = x'1b0a'");
	assert_harmless("DELETE FROM sqlite_sequence; DELETE FROM incident");
	restore();
	outcome = read_spoilt(false);
	assert_int_equal(outcome.whole, INCIDENTS);
}

/* --- each fact by itself --- */

static bool is_damaged(int64_t id)
{
	int error;
	struct store *store = store_open(made.path, &error);
	bool ret;

	assert_int_equal(error, 0);
	assert_int_equal(store_load(store, id, &captured), 0);
	ret = captured.damaged;
	store_close(store);
	return ret;
}

/* A value that another fact might have, written by somebody who knows nothing of checksums. */
static void change_each(const char *table, const struct field_table *facts, const char *where)
{
	char sql[512];

	for (size_t i = 0; i < facts->field_count; i++) {
		const char *column = facts->fields[i].column;
		bool text = facts->fields[i].type == FIELD_TEXT ||
			    facts->fields[i].type == FIELD_CSTRING;

		restore();
		snprintf(sql, sizeof(sql),
			"UPDATE %s SET %s = CASE WHEN %s IS %s THEN %s ELSE %s"
			" END WHERE %s",
			table, column, column, text ? "'a'" : "0", text ? "'b'" : "1",
			text ? "'a'" : "0", where);
		made_exec(&made, sql);
		if (!is_damaged(3))
			fail_msg("%s.%s was changed, and nothing was said", table, column);
		assert_false(is_damaged(4));
	}
}

static void test_no_fact_is_changed_without_a_word(void **state)
{
	(void)state;
	change_each("incident", &store_field_tables[STORE_FIELDS_INCIDENT], "id = 3");
	change_each("incident", &store_fields_moment, "id = 3");
	change_each("incident", &store_fields_told, "id = 3");
	for (size_t i = 1; i < store_field_table_count; i++)
		change_each(store_field_tables[i].table, &store_field_tables[i],
			"incident = 3 AND n = 0");
	restore();
}

static void test_no_fact_of_a_run_is_changed_without_a_word(void **state)
{
	char sql[256];

	(void)state;
	for (size_t i = 0; i < store_fields_run.field_count; i++) {
		const struct field *field = &store_fields_run.fields[i];

		restore();
		snprintf(sql, sizeof(sql), "UPDATE run SET %s = %s", field->column,
			field->type == FIELD_TEXT ? "'other'" : "1");
		made_exec(&made, sql);
		if (!is_damaged(3))
			fail_msg("run.%s was changed, and nothing was said", field->column);
	}
	restore();
	made_exec(&made, "UPDATE run_hook SET purpose = 'other' WHERE n = 0");
	assert_true(is_damaged(3));
	restore();
	made_exec(&made, "DELETE FROM run_hook WHERE n = (SELECT max(n) FROM run_hook)");
	assert_true(is_damaged(3));
}

/* As a page of the tree that lost a row would have it: SQLite finds nothing wrong with it. */
static void test_an_incident_that_is_gone_is_missed(void **state)
{
	(void)state;
	assert_true(read_after("DELETE FROM incident WHERE id = 5").said);
	assert_true(read_after("DELETE FROM incident WHERE id = 12").said);
	assert_true(read_after("DELETE FROM incident").said);
	/* The lowest numbers go when a store is kept to its limits. */
	restore();
	made_exec(&made, "DELETE FROM incident WHERE id < 4; DELETE FROM victim WHERE incident < 4;"
			 "DELETE FROM verdict WHERE incident < 4");
	int error;
	struct store *store = store_open(made.path, &error);
	struct outcome outcome = {0};
	struct visit arg = {.store = store, .outcome = &outcome};

	assert_int_equal(store_each(store, INT64_MIN, INT64_MAX, false, visit, &arg), 0);
	assert_int_equal(outcome.whole, INCIDENTS - 3);
	assert_int_equal(store_load(store, 3, &captured), -ENOENT);
	store_close(store);
}

/* Without its index a store is read number by number. */
static void test_a_store_without_its_index_is_whole(void **state)
{
	struct outcome outcome;

	(void)state;
	restore();
	made_exec(&made, "PRAGMA writable_schema=ON;"
			 "UPDATE sqlite_schema SET name = 'incident_tim2', sql = replace(sql,"
			 " 'incident_time', 'incident_tim2') WHERE name = 'incident_time';"
			 "PRAGMA writable_schema=RESET; PRAGMA journal_mode=DELETE");
	outcome = read_spoilt(false);
	assert_int_equal(outcome.whole, INCIDENTS);
	restore();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_pristine_store_is_whole),
		cmocka_unit_test(test_flipped_bytes_never_tell_other_facts),
		cmocka_unit_test(test_a_page_of_nothing_never_tells_other_facts),
		cmocka_unit_test(test_a_store_that_was_cut_gives_what_is_there),
		cmocka_unit_test(test_a_hostile_schema_runs_nothing),
		cmocka_unit_test(test_no_fact_is_changed_without_a_word),
		cmocka_unit_test(test_no_fact_of_a_run_is_changed_without_a_word),
		cmocka_unit_test(test_an_incident_that_is_gone_is_missed),
		cmocka_unit_test(test_a_store_without_its_index_is_whole),
	};

	return cmocka_run_group_tests(tests, make_store, remove_store);
}
