// SPDX-License-Identifier: Apache-2.0
/* A tmpfs as a process sees it: this one's own /proc, a made mountinfo. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "facts/cgroupfs.h"
#include "facts/tmpfs.h"
#include "tree.h"

static const char mounts[] = "20 1 0:5 / / rw - ext4 root rw\n"
			     "21 20 0:42 /deep /bound rw shared:1 - tmpfs shm rw\n"
			     "22 20 0:42 / /dev/sh\\040m rw - tmpfs shm rw,size=4096k\n"
			     "23 20 0:423 / /other rw - tmpfs shm rw\n"
			     "broken 0:7\n";

static void the_whole_is_preferred_to_a_folder_of_it(void **state)
{
	char path[16];

	(void)state;
	assert_int_equal(parse_mountinfo_device(mounts, 0, 42, path, sizeof(path)), 0);
	assert_string_equal(path, "/dev/sh m");
	assert_int_equal(parse_mountinfo_device(mounts, 0, 7, path, sizeof(path)), -ENOENT);
	assert_int_equal(parse_mountinfo_device(mounts, 1, 42, path, sizeof(path)), -ENOENT);
	assert_int_equal(parse_mountinfo_device("", 0, 42, path, sizeof(path)), -ENOENT);
	assert_int_equal(parse_mountinfo_device("21 20 0:9 /deep /bound rw - tmpfs shm rw\n", 0, 9,
				 path, sizeof(path)),
		0);
	assert_string_equal(path, "/bound");
}

/* A made mountinfo says that the device of the tree is mounted there. */
static void the_largest_files_are_named(void **state)
{
	static const size_t kib[] = {8, 64, 4, 32, 16};
	char *root = tree_new(), path[PATH_MAX + 64], line[2 * PATH_MAX + 256];
	struct tmpfs_use use = {0};
	struct stat stat;
	uint32_t dev;

	(void)state;
	for (size_t i = 0; i < sizeof(kib) / sizeof(kib[0]); i++) {
		static char bytes[64 << 10];
		int fd;

		snprintf(path, sizeof(path), "%s/f%zu", root, i);
		fd = open(path, O_WRONLY | O_CREAT, 0600);
		memset(bytes, 1, sizeof(bytes));
		assert_int_equal(write(fd, bytes, kib[i] << 10), kib[i] << 10);
		fsync(fd);
		close(fd);
	}
	assert_int_equal(lstat(root, &stat), 0);
	dev = major(stat.st_dev) << 20 | minor(stat.st_dev);
	snprintf(path, sizeof(path), "%s/proc/7", root);
	snprintf(line, sizeof(line), "mkdir -p %s && ln -s / %s/root", path, path);
	assert_int_equal(system(line), 0);
	snprintf(path, sizeof(path), "%s/proc/7/mountinfo", root);
	FILE *file = fopen(path, "we");

	fprintf(file, "21 20 %u:%u / %s rw - tmpfs shm rw\n", major(stat.st_dev),
		minor(stat.st_dev), root);
	fclose(file);
	assert_int_equal(read_tmpfs_use(root, 7, dev, &use), 0);
	assert_string_equal(use.mount, root);
	assert_int_equal(use.files, 5);
	assert_int_equal(use.largest_count, 3);
	assert_string_equal(use.largest[0].name, "f1");
	assert_string_equal(use.largest[1].name, "f3");
	assert_string_equal(use.largest[2].name, "f4");
	assert_true(use.named_bytes >= 124 << 10);
	assert_int_equal(read_tmpfs_use(root, 8, dev, &use), -ENOENT);
	assert_int_equal(read_tmpfs_use(root, 7, dev + 1, &use), -ENOENT);
	assert_int_equal(use.files, 5);
	tree_remove(root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_whole_is_preferred_to_a_folder_of_it),
		cmocka_unit_test(the_largest_files_are_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
