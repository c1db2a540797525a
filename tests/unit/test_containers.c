// SPDX-License-Identifier: Apache-2.0
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <time.h>

#include "model/containers.h"
#include "names_fixture.h"

#define SECOND 1000000000ULL
#define MANY 5000
#define FILES                                                                                      \
	500 /* each is a folder and a file, which take the disk longer to make than to read        \
	     */
#define POD "/kubepods/burstable/pod" UID "/"

struct world {
	char *root;
	struct containers *table;
	struct names_reader *reader;
};

static void open_world(struct world *world, size_t capacity)
{
	world->root = tree_new();
	world->table = containers_new(capacity);
	assert_non_null(world->table);
	assert_int_equal(names_reader_new(world->root, &world->reader), 0);
}

static void close_world(struct world *world)
{
	names_reader_free(world->reader);
	containers_free(world->table);
	tree_remove(world->root);
}

static size_t look(struct world *world, uint64_t now_ns)
{
	return containers_read(world->table, world->reader, now_ns, SIZE_MAX);
}

static const char *name_of(struct world *world, const char *path)
{
	const struct container_names *names = containers_known(world->table, path);

	return names ? names->container : NULL;
}

static void config_of(const struct world *world, const char *id, const char *text)
{
	char path[512];

	snprintf(path, sizeof(path), TASKS "%s/config.json", id);
	tree_file(world->root, path, text);
}

static void names_are_learnt_and_kept_when_all_is_gone(void **state)
{
	struct world world;

	(void)state;
	open_world(&world, 4);
	config_of(&world, ID, CRI_CONFIG("trainer", "bert-0", "train"));
	containers_note(world.table, POD ID, 0);
	assert_string_equal(name_of(&world, POD ID), "");
	assert_int_equal(look(&world, 1), 0);
	names_reader_free(world.reader);
	assert_int_equal(names_reader_new("/proc/self/fdinfo", &world.reader), 0);
	containers_gone(world.table, POD ID);
	look(&world, 100 * SECOND);
	assert_string_equal(name_of(&world, POD ID "/child"), "trainer");
	assert_int_equal(containers_known(world.table, POD ID)->troubles, 0);
	assert_null(name_of(&world, "/system.slice/x.service"));
	assert_null(name_of(&world, POD OTHER));
	close_world(&world);
}

static void what_is_late_is_looked_for_again_at_growing_distance(void **state)
{
	static const uint64_t distances[] = {1, 2, 4, 8, 16, 32, 64};
	struct world world;
	uint64_t now = 5 * SECOND;

	(void)state;
	open_world(&world, 4);
	tree_dir(world.root, TASKS);
	containers_note(world.table, POD ID, now);
	look(&world, now);
	assert_int_equal(
		containers_known(world.table, POD ID)->troubles, NAMES_NO_RECORD | NAMES_NO_LOGS);
	for (size_t i = 0; i + 1 < sizeof(distances) / sizeof(distances[0]); i++) {
		now += distances[i] * SECOND;
		look(&world, now);
	}
	config_of(&world, ID, CRI_CONFIG("trainer", "bert-0", "train"));
	look(&world, now + 64 * SECOND - 1);
	assert_string_equal(name_of(&world, POD ID), "");
	look(&world, now + 64 * SECOND);
	assert_string_equal(name_of(&world, POD ID), "trainer");
	close_world(&world);
}

static void nothing_is_looked_for_for_ever(void **state)
{
	struct world world;
	uint64_t now = 0;

	(void)state;
	open_world(&world, 4);
	containers_note(world.table, POD ID, now);
	for (int i = 0; i < CONTAINER_TRIES; i++, now += 1000 * SECOND)
		look(&world, now);
	config_of(&world, ID, CRI_CONFIG("trainer", "bert-0", "train"));
	look(&world, now);
	assert_string_equal(name_of(&world, POD ID), "");
	/* An incident asks once more. */
	assert_string_equal(
		containers_of(world.table, world.reader, POD ID, now)->container, "trainer");
	close_world(&world);
}

static void an_incident_looks_at_once_but_not_all_the_time(void **state)
{
	const struct container_names *names;
	struct world world;

	(void)state;
	open_world(&world, 4);
	names = containers_of(world.table, world.reader, POD ID, SECOND);
	assert_true(names->troubles & NAMES_NO_STATE);
	config_of(&world, ID, CRI_CONFIG("trainer", "bert-0", "train"));
	names = containers_of(world.table, world.reader, POD ID, SECOND + CONTAINER_RETRY_NS - 1);
	assert_string_equal(names->container, "");
	names = containers_of(world.table, world.reader, POD ID, SECOND + CONTAINER_RETRY_NS);
	assert_string_equal(names->container, "trainer");
	assert_null(containers_of(world.table, world.reader, "/workers", SECOND));
	assert_int_equal(
		containers_of(world.table, NULL, POD OTHER, SECOND)->troubles, NAMES_NOT_ASKED);
	close_world(&world);
}

static void id_of(int number, char ret[CONTAINER_HEX + 1])
{
	snprintf(ret, CONTAINER_HEX + 1, "%032x%032x", number * 2654435761U, number);
}

static void of_single_files_a_few_are_read_at_a_time(void **state)
{
	struct world world;
	char id[CONTAINER_HEX + 1], path[256];

	(void)state;
	open_world(&world, 64);
	for (int i = 0; i < 20; i++) {
		id_of(i, id);
		config_of(&world, id, CRI_CONFIG("c", "p", "n"));
		snprintf(path, sizeof(path), POD "%s", id);
		containers_note(world.table, path, 0);
	}
	assert_int_equal(containers_read(world.table, world.reader, 1, 8), 12);
	assert_int_equal(containers_read(world.table, world.reader, 1, 8), 4);
	assert_int_equal(containers_read(world.table, world.reader, 1, 8), 0);
	for (int i = 0; i < 20; i++) {
		id_of(i, id);
		snprintf(path, sizeof(path), POD "%s", id);
		assert_string_equal(name_of(&world, path), "c");
	}
	close_world(&world);
}

static void pods_are_found_by_uid_for_all_of_their_containers(void **state)
{
	const struct container_names *names;
	struct world world;

	(void)state;
	open_world(&world, 8);
	tree_dir(world.root, "/var/log/pods/train_bert-0_" UID);
	tree_dir(world.root, "/var/log/pods/space_other_" A16 A16);
	containers_note(world.table, POD ID, 0);
	containers_note(world.table, POD OTHER, 0);
	look(&world, 1);
	names = containers_known(world.table, POD ID);
	assert_string_equal(names->pod, "bert-0");
	assert_string_equal(names->namespace, "train");
	assert_string_equal(containers_known(world.table, POD OTHER)->pod, "bert-0");
	close_world(&world);
}

static void podman_needs_one_look_at_its_list(void **state)
{
	struct world world;

	(void)state;
	open_world(&world, 8);
	tree_file(world.root, STORAGE ID "/userdata/config.json", PODMAN_CONFIG);
	tree_file(world.root, STORAGE "containers.json", STORAGE_LIST(ID, "mytest"));
	containers_note(world.table, "/libpod_parent/libpod-" ID, 0);
	look(&world, 1);
	assert_string_equal(name_of(&world, "/libpod_parent/libpod-" ID), "mytest");
	close_world(&world);
}

static void the_one_that_went_longest_ago_gives_way(void **state)
{
	char id[CONTAINER_HEX + 1], path[256];
	struct world world;

	(void)state;
	open_world(&world, 3);
	for (int i = 0; i < 4; i++) {
		id_of(i, id);
		snprintf(path, sizeof(path), "/docker/%s", id);
		containers_note(world.table, path, 0);
		if (i == 1) {
			containers_gone(world.table, "/docker");
			/* A cgroup in it is not the container. */
			strcat(path, "/child");
			containers_gone(world.table, path);
			*strrchr(path, '/') = '\0';
			containers_gone(world.table, path);
		}
	}
	assert_int_equal(containers_evicted(world.table), 0);
	assert_non_null(name_of(&world, path));
	id_of(1, id);
	snprintf(path, sizeof(path), "/docker/%s", id);
	assert_null(name_of(&world, path));
	id_of(0, id);
	snprintf(path, sizeof(path), "/docker/%s", id);
	assert_non_null(name_of(&world, path));
	id_of(9, id);
	snprintf(path, sizeof(path), "/docker/%s", id);
	containers_note(world.table, path, 0);
	assert_int_equal(containers_evicted(world.table), 1);
	/* What gave way is looked for no more. */
	assert_int_equal(containers_read(world.table, world.reader, 1, 0), 3);
	close_world(&world);
}

static double cpu_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void path_of(int number, char *ret, size_t size)
{
	char id[CONTAINER_HEX + 1];

	id_of(number, id);
	snprintf(ret, size, "/kubepods.slice/kubepods-pod%032x.slice/cri-containerd-%s.scope",
		number, id);
}

static void make_link(const struct world *world, int number)
{
	char id[CONTAINER_HEX + 1], name[256], target[256];

	id_of(number, id);
	snprintf(name, sizeof(name), "/var/log/containers/pod-%d_train_trainer-%s.log", number, id);
	snprintf(target, sizeof(target), "/var/log/pods/train_pod-%d_%032x/trainer/0.log", number,
		number);
	tree_link(world->root, name, target);
}

static void learn_many(struct world *world, int count, const char *from)
{
	char path[256];
	double begun = cpu_seconds();

	for (int i = 0; i < count; i++) {
		path_of(i, path, sizeof(path));
		containers_note(world->table, path, 0);
	}
	assert_int_equal(look(world, 1), 0);
	print_message("%d containers learnt from %s in %.0f ms of CPU\n", count, from,
		1000 * (cpu_seconds() - begun));
	for (int i = 0; i < count; i++) {
		path_of(i, path, sizeof(path));
		assert_string_equal(name_of(world, path), "trainer");
	}
}

static void five_thousand_are_learnt_at_once(void **state)
{
	struct world world;

	(void)state;
	open_world(&world, 8192);
	for (int i = 0; i < MANY; i++)
		make_link(&world, i);
	learn_many(&world, MANY, "log links");
	close_world(&world);
}

static void many_files_are_read_at_once(void **state)
{
	char id[CONTAINER_HEX + 1];
	struct world world;

	(void)state;
	open_world(&world, 8192);
	for (int i = 0; i < FILES; i++) {
		id_of(i, id);
		config_of(&world, id, CRI_CONFIG("trainer", "bert-0", "train"));
	}
	learn_many(&world, FILES, "config.json");
	close_world(&world);
}

static void a_table_of_no_size_is_none(void **state)
{
	(void)state;
	assert_null(containers_new(0));
	assert_int_equal(errno, EINVAL);
	containers_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_learnt_and_kept_when_all_is_gone),
		cmocka_unit_test(what_is_late_is_looked_for_again_at_growing_distance),
		cmocka_unit_test(nothing_is_looked_for_for_ever),
		cmocka_unit_test(an_incident_looks_at_once_but_not_all_the_time),
		cmocka_unit_test(of_single_files_a_few_are_read_at_a_time),
		cmocka_unit_test(pods_are_found_by_uid_for_all_of_their_containers),
		cmocka_unit_test(podman_needs_one_look_at_its_list),
		cmocka_unit_test(the_one_that_went_longest_ago_gives_way),
		cmocka_unit_test(five_thousand_are_learnt_at_once),
		cmocka_unit_test(many_files_are_read_at_once),
		cmocka_unit_test(a_table_of_no_size_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
