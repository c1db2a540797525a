// SPDX-License-Identifier: Apache-2.0
/* Kills that were not the OOM killer's, into a store and out of it. */
#include <errno.h>

#include "sink/store_parts.h"
#include "sink_fixture.h"
#include "store_random.h"

static struct killing killing, back;

static void random_killing(struct killing *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->target_count = 1 + (unsigned int)random_below(KILLING_TARGETS);
	random_table(&store_fields_kill, ret);
	ret->target_count = 1 + ret->target_count % KILLING_TARGETS;
	random_table(&store_fields_kill_target, ret);
	ret->manner = MANNER_EACH + random_below(MANNER_LAST);
	ret->total = ret->target_count + (uint32_t)random_below(5);
	ret->last_ns = ret->time_ns;
	ret->term_ns = ret->oom_ns = 0;
}

static int64_t put(struct made *made, const struct killing *what, int64_t time_ns)
{
	struct store_kill_told told = {.time_real_ns = time_ns, .wall_minus_boot_ns = 77};
	int64_t id = 0;

	strcpy(told.by, "test");
	strcpy(told.first_verdict, "killed-by-process");
	assert_int_equal(store_kill(made->writer, &made->run, what, &told, &id), 0);
	return id;
}

static void test_they_come_back_whole(void **state)
{
	static struct killing all[40];
	struct made made;
	struct store *store;

	(void)state;
	made_new(&made);
	for (int i = 0; i < 40; i++) {
		random_killing(&all[i]);
		assert_int_equal(put(&made, &all[i], 1000 + i), i + 1);
	}
	store = open_store(&made);
	for (int i = 0; i < 40; i++) {
		assert_int_equal(store_load_kill(store, i + 1, &back, &captured), 0);
		if (captured.damaged)
			print_message("%d: %s\n", i, captured.damage);
		assert_false(captured.damaged);
		assert_true(same_table(&store_fields_kill, &all[i], &back));
		assert_true(same_table(&store_fields_kill_target, &all[i], &back));
		assert_int_equal(captured.moment.wall_minus_boot_ns, 77);
		assert_true(same_run(&made.run, &captured.run));
	}
	assert_int_equal(store_load_kill(store, 41, &back, &captured), -ENOENT);
	store_close(store);
	made_remove(&made);
}

static int count(const struct store_line *line, void *arg)
{
	int64_t *last = arg;

	assert_true(line->time_ns >= last[0]);
	last[0] = line->time_ns;
	last[1]++;
	return 0;
}

static void test_they_are_listed_by_time(void **state)
{
	int64_t seen[2] = {0, 0};
	struct made made;
	struct store *store;

	(void)state;
	made_new(&made);
	random_killing(&killing);
	put(&made, &killing, 3000);
	put(&made, &killing, 1000);
	put(&made, &killing, 2000);
	store = open_store(&made);
	assert_int_equal(store_kills(store, 1000, 2000, count, seen), 0);
	assert_int_equal(seen[1], 2);
	store_close(store);
	made_remove(&made);
}

static void test_damage_is_told(void **state)
{
	static const char *const changes[] = {
		"UPDATE kill SET sender_pid = sender_pid + 1",
		"UPDATE kill SET told_claim = 'another'",
		"UPDATE kill_target SET comm = 'other'",
		"DELETE FROM kill_target",
		"UPDATE kill SET target_count = 1000000",
		"UPDATE kill SET manner = 77, crc = crc",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		struct made made;
		struct store *store;

		made_new(&made);
		random_killing(&killing);
		put(&made, &killing, 1000);
		assert_int_equal(
			sqlite3_exec(made.writer->db.handle, changes[i], NULL, NULL, NULL), 0);
		store = open_store(&made);
		assert_int_equal(store_load_kill(store, 1, &back, &captured), 0);
		if (!captured.damaged)
			print_message("%s\n", changes[i]);
		assert_true(captured.damaged);
		assert_true(back.target_count <= KILLING_TARGETS);
		store_close(store);
		made_remove(&made);
	}
}

/* The newest stay, and what is too old goes. */
static void test_they_are_bounded(void **state)
{
	int64_t left = 0, first = 0;
	bool more, full;
	struct made made;

	(void)state;
	made_new(&made);
	random_killing(&killing);
	made.writer->limits.max_bytes = 4 << 20;
	for (int i = 0; i < 200; i++)
		put(&made, &killing, 1000 + i);
	db_number(&made.writer->db, "SELECT count(*) FROM kill", 0, &left);
	db_number(&made.writer->db, "SELECT min(id) FROM kill", 0, &first);
	assert_int_equal(left, 128);
	assert_int_equal(first, 73);
	made.writer->limits.keep_ns = 100;
	assert_int_equal(store_keep(made.writer, 1299, &more, &full), 0);
	db_number(&made.writer->db, "SELECT min(time_real_ns) FROM kill", 0, &first);
	assert_int_equal(first, 1199);
	db_number(&made.writer->db,
		"SELECT count(*) FROM kill_target WHERE kill NOT IN (SELECT id FROM kill)", -1,
		&left);
	assert_int_equal(left, 0);
	made_remove(&made);
}

/* --- what was refused: the same --- */

static struct refusal refused, refused_back;

static void random_refusal(struct refusal *ret)
{
	memset(ret, 0, sizeof(*ret));
	random_table(&store_fields_refusal, ret);
	ret->call = EV_CALL_MMAP + random_below(EV_CALL_LAST);
	ret->last_ns = ret->time_ns;
}

static int64_t put_refusal(struct made *made, const struct refusal *what, int64_t time_ns)
{
	struct store_kill_told told = {.time_real_ns = time_ns, .wall_minus_boot_ns = 77};
	int64_t id = 0;

	strcpy(told.by, "test");
	strcpy(told.first_verdict, "allocation-refused");
	assert_int_equal(store_refusal(made->writer, &made->run, what, &told, &id), 0);
	return id;
}

static void test_refusals_come_back_whole(void **state)
{
	static struct refusal all[40];
	int64_t seen[2] = {0, 0};
	struct made made;
	struct store *store;

	(void)state;
	made_new(&made);
	for (int i = 0; i < 40; i++) {
		random_refusal(&all[i]);
		assert_int_equal(put_refusal(&made, &all[i], 1000 + i), i + 1);
	}
	store = open_store(&made);
	for (int i = 0; i < 40; i++) {
		assert_int_equal(store_load_refusal(store, i + 1, &refused_back, &captured), 0);
		if (captured.damaged)
			print_message("%d: %s\n", i, captured.damage);
		assert_false(captured.damaged);
		assert_true(same_table(&store_fields_refusal, &all[i], &refused_back));
		assert_true(same_run(&made.run, &captured.run));
	}
	assert_int_equal(store_load_refusal(store, 41, &refused_back, &captured), -ENOENT);
	assert_int_equal(store_refusals(store, 1001, 1010, count, seen), 0);
	assert_int_equal(seen[1], 10);
	assert_int_equal(store_kills(store, 0, 2000, count, seen), 0);
	assert_int_equal(seen[1], 10);
	store_close(store);
	made_remove(&made);
}

static void test_damage_of_refusals_is_told(void **state)
{
	static const char *const changes[] = {
		"UPDATE refusal SET pid = pid + 1",
		"UPDATE refusal SET told_claim = 'another'",
		"UPDATE refusal SET call = 77, crc = crc",
		"UPDATE refusal SET last_ns = time_ns - 1",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		struct made made;
		struct store *store;

		made_new(&made);
		random_refusal(&refused);
		refused.time_ns = refused.last_ns = 5000;
		put_refusal(&made, &refused, 1000);
		assert_int_equal(
			sqlite3_exec(made.writer->db.handle, changes[i], NULL, NULL, NULL), 0);
		store = open_store(&made);
		assert_int_equal(store_load_refusal(store, 1, &refused_back, &captured), 0);
		assert_true(captured.damaged);
		assert_true(refused_back.call <= EV_CALL_LAST);
		store_close(store);
		made_remove(&made);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_they_come_back_whole),
		cmocka_unit_test(test_they_are_listed_by_time),
		cmocka_unit_test(test_damage_is_told),
		cmocka_unit_test(test_they_are_bounded),
		cmocka_unit_test(test_refusals_come_back_whole),
		cmocka_unit_test(test_damage_of_refusals_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
