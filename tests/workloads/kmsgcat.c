// SPDX-License-Identifier: Apache-2.0
/*
 * kmsgcat [-f MARK]: print the kernel log as /dev/kmsg gives it, one line per record, control
 * characters escaped. dmesg cannot serve here: it splits records at a newline inside a process's
 * name. Without -f: all records there are now. With it: those to come, until one holds MARK;
 * "ready" on stderr says that none is missed from here on.
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char record[16 << 10];

static int open_log(int follow)
{
	int fd = open("/dev/kmsg", O_RDONLY | O_CLOEXEC | (follow ? 0 : O_NONBLOCK));

	if (fd < 0 || (follow && lseek(fd, 0, SEEK_END) < 0)) {
		perror("/dev/kmsg");
		return -1;
	}
	if (follow)
		fputs("ready\n", stderr);
	return fd;
}

/* One record to stdout. Returns 1 to go on, 0 at the end, -1 on failure. */
static int copy_record(int fd, const char *mark)
{
	ssize_t n = read(fd, record, sizeof(record) - 1);

	if (n > 0) {
		record[n] = '\0';
		fwrite(record, 1, n, stdout);
		return !(mark && strstr(record, mark));
	}
	if (n == 0 || errno == EAGAIN)
		return 0;
	if (errno == EPIPE) {
		fputs("# records were overwritten here\n", stdout);
		return 1;
	}
	if (errno == EINTR)
		return 1;
	perror("/dev/kmsg");
	return -1;
}

int main(int argc, char **argv)
{
	const char *mark = argc == 3 && !strcmp(argv[1], "-f") ? argv[2] : NULL;
	int fd, go;

	if (argc != 1 && !mark)
		return 64;
	fd = open_log(mark != NULL);
	if (fd < 0)
		return 1;
	do {
		go = copy_record(fd, mark);
	} while (go > 0);
	return fflush(stdout) || go < 0;
}
