// SPDX-License-Identifier: Apache-2.0
/*
 * stamp FILE: reads lines from stdin and writes each to FILE behind the CLOCK_BOOTTIME of its
 * arrival, in nanoseconds: what a reader of the stream would see, and when.
 */
#include "bench.h"

static char buffer[4 * MIB];

int main(int argc, char **argv)
{
	size_t used = 0;
	FILE *out;
	ssize_t n;

	if (argc != 2)
		return 64;
	out = fopen(argv[1], "w");
	if (!out)
		fail(argv[1]);
	while ((n = read(STDIN_FILENO, buffer + used, sizeof(buffer) - used)) > 0) {
		unsigned long long now = boot_ns();
		char *line = buffer, *end;

		used += n;
		while ((end = memchr(line, '\n', buffer + used - line)) != NULL) {
			fprintf(out, "%llu %.*s\n", now, (int)(end - line), line);
			line = end + 1;
		}
		used -= line - buffer;
		memmove(buffer, line, used);
	}
	if (n < 0)
		fail("read");
	return fclose(out) ? 74 : 0;
}
