// SPDX-License-Identifier: Apache-2.0
#include "cmd/output.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

int output_write(const char *data, size_t len)
{
	while (len) {
		ssize_t written = write(STDOUT_FILENO, data, len);

		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0 && errno == EAGAIN) {
			/* Somebody made it non-blocking: wait as a blocking write would. */
			struct pollfd wait = {.fd = STDOUT_FILENO, .events = POLLOUT};

			poll(&wait, 1, -1);
			continue;
		}
		if (written < 0)
			return -errno;
		data += written;
		len -= written;
	}
	return 0;
}

int output_check(void)
{
	int flags = fcntl(STDOUT_FILENO, F_GETFL);

	if (flags < 0)
		return -errno;
	return (flags & O_ACCMODE) == O_RDONLY ? -EBADF : 0;
}

bool output_color(enum color_mode mode)
{
	const char *no_color = getenv("NO_COLOR");
	const char *term = getenv("TERM");

	if (mode != COLOR_AUTO)
		return mode == COLOR_ALWAYS;
	return isatty(STDOUT_FILENO) && (!no_color || !no_color[0]) && term && strcmp(term, "dumb");
}

int output_width(void)
{
	struct winsize size;

	if (!ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_col >= 40)
		return size.ws_col < 120 ? size.ws_col : 120;
	return 80;
}
