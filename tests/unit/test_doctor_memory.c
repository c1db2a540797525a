// SPDX-License-Identifier: Apache-2.0
/* The doctor's report of memory, of its own too, and of names. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "doctor_fixture.h"

/* --- memory --- */

static void with_use(struct quota *quota)
{
	memset(&quota->use, 0xff, sizeof(quota->use)); /* UNKNOWN_U64 */
	quota->has_use = true;
	quota->use.inactive_file_bytes = 3 * GIB;
	quota->use.active_file_bytes = GIB;
	quota->use.dirty_bytes = GIB / 4;
	quota->use.anon_bytes = 25 * GIB;
	quota->use.shmem_bytes = GIB;
	quota->use.kernel_bytes = GIB;
	quota->use.slab_reclaimable_bytes = GIB / 2;
	quota->use.unevictable_bytes = 0;
}

static void in_a_container_the_answer_comes_first(void **state)
{
	struct doctor_report report = healthy();

	(void)state;
	assert_int_equal(strncmp(text_of(&report), "You may use 32.0 GiB", 20), 0);
	assert_says(&report, "that is the host. Tier: full: ");
	report.quota.levels[0].limits.max_bytes = CGROUP_NO_LIMIT;
	assert_int_equal(strncmp(text_of(&report), "Tier: full: ", 12), 0);
}

static void what_goes_and_what_stays(void **state)
{
	struct doctor_report report = healthy();
	struct quota *quota = &report.quota;

	(void)state;
	with_use(quota);
	quota->host.swap_total_bytes = 8 * GIB;
	quota->levels[0].limits.swap_max_bytes = 0;
	quota->levels[0].limits.peak_bytes = 32 * GIB;
	quota->levels[0].limits.oom_kill = 3;
	assert_says(&report,
		"the kernel gives back: page cache 4.00 GiB (256 MiB of it once written), kernel "
		"caches 512 MiB");
	assert_says(&report,
		"it cannot give back: anonymous 25.0 GiB, tmpfs and shared memory 1.00 GiB, kernel "
		"512 MiB, locked 0");
	assert_says(&report, "no swap may be used here, though the machine has some");
	assert_says(&report, "so far: at most in use 32.0 GiB, killed by the OOM killer 3");
	assert_says(&report, "psutil.virtual_memory() and /proc/meminfo say: total 480 GiB, "
			     "available 400 GiB; all of it of the machine");
	quota->levels[0].limits.swap_max_bytes = 2 * GIB;
	assert_says(&report, "swap beside it: 2.00 GiB");
	assert_says(&report, "it cannot give back but by swapping: anonymous 25.0 GiB");
	/* v1: of memory and swap together. */
	quota->v2 = false;
	quota->levels[0].limits.swap_max_bytes = 33 * GIB;
	assert_says(&report, "swap beside it: 1.00 GiB");
}

static void a_limit_that_cannot_be_seen(void **state)
{
	struct doctor_report report = healthy();
	struct quota *quota = &report.quota;

	(void)state;
	with_use(quota);
	quota->v2 = quota->complete = false;
	quota->use.hierarchy_max_bytes = 16 * GIB;
	assert_int_equal(quota_bytes(quota), 16 * GIB);
	assert_says(&report, "You may use 16.0 GiB (the limit of a level that cannot be seen from "
			     "here); 31.0 GiB");
	quota->use.hierarchy_max_bytes = 32 * GIB;
	assert_int_equal(quota_hidden_max(quota), CGROUP_NO_LIMIT);
}

static void what_tells_without_rights(void **state)
{
	struct doctor_report report = healthy();

	(void)state;
	assert_null(doctor_fallback(&report));
	report.tracer_error = -EPERM;
	report.kernel.kmsg_error = -EPERM;
	assert_string_equal(doctor_fallback(&report), "cgroup");
	assert_says(&report, "tells of kills in its own cgroup all the same");
	report.kernel.kmsg_error = 0;
	assert_string_equal(doctor_fallback(&report), "kmsg");
	report.kernel.kmsg_error = -EPERM;
	report.quota_error = -ENOENT;
	assert_null(doctor_fallback(&report));
}

static void the_one_sentence(void **state)
{
	struct doctor_report report = healthy();
	struct quota *quota = &report.quota;

	(void)state;
	assert_string_equal(quota_sentence(quota),
		"You may use 32.0 GiB; 31.0 GiB is in use; `free` says 480 GiB: that is the "
		"host.");
	with_use(quota);
	assert_string_equal(quota_sentence(quota),
		"You may use 32.0 GiB; 31.0 GiB is in use, of which 4.00 GiB is cache that the "
		"kernel gives back; `free` says 480 GiB: that is the host.");
	quota->container = false;
	assert_string_equal(quota_sentence(quota),
		"You may use 32.0 GiB, with all others in /kubepods/pod1/main; 31.0 GiB is in use, of "
		"which 4.00 GiB is cache that the kernel gives back; `free` says 480 GiB: that is the "
		"host.");
	quota->levels[0].limits.max_bytes = CGROUP_NO_LIMIT;
	assert_string_equal(quota_sentence(quota),
		"No cgroup limits the memory of this process; the machine's 480 GiB, as `free` "
		"shows, are shared with all that runs on it.");
	quota->levels[0].limits.max_bytes = 481 * GIB;
	assert_string_equal(quota_sentence(quota),
		"The limits are above the machine's memory for this process; the machine's 480 "
		"GiB, as `free` shows, are shared with all that runs on it.");
	quota->complete = false;
	assert_non_null(strstr(quota_sentence(quota), " a pod or slice may allow less."));
}

static void every_level_is_shown(void **state)
{
	struct doctor_report report = healthy();

	(void)state;
	report.quota.levels[0].limits.high_bytes = 30 * GIB;
	report.quota.levels[0].limits.swap_max_bytes = 0;
	assert_says(&report, "/kubepods/pod1/main: limit 32.0 GiB, high 30.0 GiB, used 31.0 GiB, "
			     "swap limit 0");
	assert_says(&report, "/kubepods/pod1: limit none, used 31.0 GiB");
	assert_says(&report, "1.00 GiB are left before the limit of /kubepods/pod1/main");
	assert_silent(&report, "limit 0, high 0"); /* no level beyond the last */
	report.quota.v2 = false;
	assert_says(&report, "memory+swap limit 0");
}

static void its_own_memory_is_held_against_the_limit(void **state)
{
	struct doctor_report report = healthy();

	(void)state;
	assert_null(strstr(text_of(&report), "The live trace itself"));
	report.own = (struct doctor_own) {.start_bytes = 20 << 20,
		.full_bytes = 95 << 20,
		.smallest_bytes = 19 << 20,
		.fit_bytes = 95 << 20,
		.room.room_bytes = UNKNOWN_U64};
	assert_says(&report, "at most 95 MiB, once all of its tables are full.");
	report.own.room = (struct memory_room) {.room_bytes = 100 << 20, .cgroup = "/a\033"};
	assert_says(&report, "; 100 MiB are left in /a");
	assert_says(&report, "page cache counted as free: it fits.");
	report.own.fit_bytes = 53 << 20;
	assert_says(&report, "unless --memory 53MiB makes its tables smaller.");
	report.own.fit_bytes = 0;
	assert_says(&report, "refuses to start; its smallest tables need 19 MiB.");
}

/* --- names --- */

static void add_place(struct doctor_names *names, const char *path, const char *gives, int error)
{
	names->places[names->place_count++] = (struct names_place) {path, gives, error};
}

static void names_that_can_be_known_are_told_with_their_places(void **state)
{
	struct doctor_report report = healthy();
	struct doctor_names *names = &report.names;
	json_t *json, *told;

	(void)state;
	names->host_root = "/host";
	names->sum = (struct containers_sum) {.count = 12, .named = 10};
	add_place(names, "/var/log/containers", "pods", 0);
	add_place(names, "/run/containerd/x", "containers", -EACCES);
	add_place(names, "/var/lib/docker/containers", "containers of Docker", -ENOENT);
	assert_says(&report, "12 containers are here; the names of 10 are known");
	assert_says(&report, "looked for below /host");
	assert_says(&report, "/var/log/containers: pods");
	assert_says(&report, "/run/containerd/x cannot be read: Permission denied");
	assert_says(&report, "CAP_DAC_READ_SEARCH lets it");
	json = json_of(&report);
	told = json_object_get(json, "names");
	assert_string_equal(string_at(told, "host_root"), "/host");
	assert_int_equal(json_integer_value(json_object_get(told, "containers")), 12);
	assert_int_equal(json_array_size(json_object_get(told, "places")), 3);
	assert_int_equal(json_array_size(json_object_get(told, "unknown")), 2);
	json_decref(json);
}

static void which_mount_gives_which_names_is_told(void **state)
{
	struct doctor_report report = healthy();
	struct doctor_names *names = &report.names;

	(void)state;
	add_place(names, "/var/log/containers", "pods", -ENOENT);
	add_place(names, "/var/log/pods", "pods", -ENOENT);
	add_place(names, "/run/containerd/x", "containers", -ENOENT);
	assert_says(&report, "no container is here that a runtime of those known made");
	assert_says(&report,
		"/var/log/containers is not there: names of pods, namespaces and their containers "
		"cannot be known");
	assert_says(&report, "no runtime's folder is there");
	names->places[2].error = 0;
	assert_says(&report, "from the runtimes' folders alone");
	names->places[1].error = 0;
	assert_says(&report, "/var/log/pods names pods and namespaces");
	names->sum = (struct containers_sum) {.count = 1, .named = 1};
	assert_says(&report, "one container is here, and its name is known");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_one_sentence),
		cmocka_unit_test(in_a_container_the_answer_comes_first),
		cmocka_unit_test(what_goes_and_what_stays),
		cmocka_unit_test(a_limit_that_cannot_be_seen),
		cmocka_unit_test(what_tells_without_rights),
		cmocka_unit_test(every_level_is_shown),
		cmocka_unit_test(its_own_memory_is_held_against_the_limit),
		cmocka_unit_test(names_that_can_be_known_are_told_with_their_places),
		cmocka_unit_test(which_mount_gives_which_names_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
