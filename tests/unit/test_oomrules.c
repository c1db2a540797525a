// SPDX-License-Identifier: Apache-2.0
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "facts/oomrules.h"
#include "tree.h"

static struct cgroup_mount mount;

static int set_up(void **state)
{
	*state = tree_new();
	memset(&mount, 0, sizeof(mount));
	snprintf(mount.path, sizeof(mount.path), "%s/cgroup", (char *)*state);
	strcpy(mount.root, "/");
	mount.v2 = true;
	return 0;
}

static int tear_down(void **state)
{
	tree_remove(*state);
	return 0;
}

static void what_is_below_a_cgroup(void **state)
{
	(void)state;
	assert_true(cgroup_is_below("/a", "/a"));
	assert_true(cgroup_is_below("/a/b", "/a"));
	assert_true(cgroup_is_below("/a", "/"));
	assert_true(cgroup_is_below("/", "/"));
	assert_false(cgroup_is_below("/ab", "/a"));
	assert_false(cgroup_is_below("/", "/a"));
	assert_false(cgroup_is_below("/b/a", "/a"));
	assert_false(cgroup_is_below("", "/"));
}

static int disabled(const char *text)
{
	return parse_oom_kill_disable(text, strlen(text));
}

static void the_switch_of_version_1(void **state)
{
	(void)state;
	assert_int_equal(disabled("oom_kill_disable 0\nunder_oom 1\noom_kill 7\n"), 0);
	assert_int_equal(disabled("oom_kill_disable 1\nunder_oom 0\n"), 1);
	assert_int_equal(disabled("under_oom 1\noom_kill 1\n"), -1);
	assert_int_equal(disabled("oom_kill_disable 2\n"), -1);
	assert_int_equal(disabled("oom_kill_disable x\n"), -1);
	assert_int_equal(disabled("xoom_kill_disable 1\n"), -1);
	assert_int_equal(disabled(""), -1);
}

static void rules_of_the_machine(void **state)
{
	struct oom_rules rules;

	read_oom_rules(*state, &mount, NULL, &rules);
	assert_int_equal(rules.panic_on_oom, -1);
	assert_int_equal(rules.kill_allocating_task, -1);
	tree_file(*state, "/proc/sys/vm/panic_on_oom", "2\n");
	tree_file(*state, "/proc/sys/vm/oom_kill_allocating_task", "1\n");
	read_oom_rules(*state, &mount, NULL, &rules);
	assert_int_equal(rules.panic_on_oom, 2);
	assert_int_equal(rules.kill_allocating_task, 1);
	assert_int_equal(rules.kill_disabled, -1);
	assert_true(rules.swappiness == UINT32_MAX);
}

static void rules_of_a_cgroup_of_version_1(void **state)
{
	struct oom_rules rules;

	tree_file(*state, "/cgroup/a/memory.oom_control", "oom_kill_disable 1\nunder_oom 0\n");
	tree_file(*state, "/cgroup/a/memory.swappiness", "0\n");
	read_oom_rules(*state, &mount, "/a", &rules);
	assert_int_equal(rules.kill_disabled, -1);
	assert_true(rules.swappiness == UINT32_MAX);
	mount.v2 = false;
	read_oom_rules(*state, &mount, "/a", &rules);
	assert_int_equal(rules.kill_disabled, 1);
	assert_int_equal(rules.swappiness, 0);
	read_oom_rules(*state, &mount, "/gone", &rules);
	assert_int_equal(rules.kill_disabled, -1);
}

static const char *group_of(const char *cgroup, const char *top)
{
	static char path[64];

	strcpy(path, "?");
	read_oom_group(&mount, cgroup, top, path, sizeof(path));
	return path;
}

static void the_topmost_group_below_the_limit_dies(void **state)
{
	tree_file(*state, "/cgroup/memory.oom.group", "1\n");
	tree_file(*state, "/cgroup/a/memory.oom.group", "1\n");
	tree_file(*state, "/cgroup/a/b/memory.oom.group", "1\n");
	tree_file(*state, "/cgroup/a/b/c/memory.oom.group", "1\n");
	tree_file(*state, "/cgroup/a/b/c/d/memory.oom.group", "0\n");
	/* the limit's own cgroup counts, what is above it does not */
	assert_string_equal(group_of("/a/b/c/d", "/a/b"), "/a/b");
	assert_string_equal(group_of("/a/b/c/d", "/a"), "/a");
	assert_string_equal(group_of("/a/b/c/d", "/a/b/c/d"), "");
	assert_string_equal(group_of("/a/b/c/d", "/"), "/");
	tree_file(*state, "/cgroup/memory.oom.group", "0\n");
	tree_file(*state, "/cgroup/a/memory.oom.group", "0\n");
	assert_string_equal(group_of("/a/b/c/d", "/"), "/a/b");
}

static void no_group_where_there_is_none(void **state)
{
	char longer[200] = "/a", small[4];

	tree_file(*state, "/cgroup/a/memory.oom.group", "x\n");
	assert_string_equal(group_of("/a", "/"), "");
	assert_string_equal(group_of("/not/there", "/"), "");
	/* in another place than the limit: it has moved meanwhile */
	assert_string_equal(group_of("/b", "/a"), "");
	tree_file(*state, "/cgroup/a/memory.oom.group", "1\n");
	assert_string_equal(group_of("/a", "/"), "/a");
	mount.v2 = false;
	assert_string_equal(group_of("/a", "/"), "");
	mount.v2 = true;
	memset(longer + 2, 'x', sizeof(longer) - 3);
	read_oom_group(&mount, longer, "/", small, sizeof(small));
	assert_string_equal(small, "");
}

#define TREE_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_below_a_cgroup),
		cmocka_unit_test(the_switch_of_version_1),
		TREE_TEST(rules_of_the_machine),
		TREE_TEST(rules_of_a_cgroup_of_version_1),
		TREE_TEST(the_topmost_group_below_the_limit_dies),
		TREE_TEST(no_group_where_there_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
