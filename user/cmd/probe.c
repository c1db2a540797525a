// SPDX-License-Identifier: Apache-2.0
#include "cmd/probe.h"

#include <argp.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sysexits.h>
#include <unistd.h>

#include "base/buf.h"
#include "sink/json.h"
#include "sink/json_parts.h"

#define WAITING 8
#define ANSWER_BYTES 256
/* The loop turns at least once a second: longer than that it takes only where CPU or memory is
 * short. */
#define PATIENCE_S 5

/* "\0oomsnoop/probe/NAME": the length says where an abstract name ends. */
static socklen_t address_of(const char *name, struct sockaddr_un *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->sun_family = AF_UNIX;
	snprintf(ret->sun_path + 1, sizeof(ret->sun_path) - 1, "oomsnoop/probe/%s", name);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(ret->sun_path + 1));
}

/* --- the side of the tracer --- */

int probe_listen(const char *name)
{
	struct sockaddr_un address;
	socklen_t len = address_of(name, &address);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), err;

	if (fd < 0)
		return -errno;
	if (bind(fd, (struct sockaddr *)&address, len) || listen(fd, WAITING)) {
		err = -errno;
		close(fd);
		return err;
	}
	return fd;
}

static void put_state(struct buf *buf, const struct probe_state *state)
{
	json_begin(buf, NULL, '{');
	json_add_u64(buf, "v", 1);
	json_add_name(buf, "type", "probe");
	json_add_string(buf, "tier", state->tier);
	json_add_u64(buf, "incidents", state->incidents);
	json_add_u64(buf, "victims", state->victims);
	json_add_u64(buf, "lost_events", state->lost_events);
	json_finish(buf, 0);
}

void probe_answer(int fd, const struct probe_state *state)
{
	char text[ANSWER_BYTES];
	struct buf buf;

	buf_init(&buf, text, sizeof(text));
	put_state(&buf, state);
	for (int i = 0; i < WAITING; i++) {
		int peer = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (peer < 0)
			return;
		/* Whoever has gone again gets nothing: an answer is all that is owed. */
		send(peer, buf.data, buf.len, MSG_NOSIGNAL | MSG_DONTWAIT);
		close(peer);
	}
}

/* --- the side of the one who asks --- */

static error_t parse_option(int key, char *value, struct argp_state *state)
{
	const char **name = state->input;

	switch (key) {
	case ARGP_KEY_ARG:
		if (state->arg_num > 0)
			argp_usage(state);
		if (!value[0] || strlen(value) > PROBE_NAME_MAX)
			argp_error(state, "'%s' is no name of a probe", value);
		*name = value;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.parser = parse_option,
	.args_doc = "[NAME]",
	.doc = "Asks the tracer that runs with --probe in the same network namespace whether it "
	       "watches.\v"
	       "Exit status: 0 it answered, and its state is on standard output; 1 it did not.",
};

static int ask(const char *name, char *ret, size_t size, size_t *ret_len)
{
	struct timeval patience = {.tv_sec = PATIENCE_S};
	struct sockaddr_un address;
	socklen_t len = address_of(name, &address);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ssize_t got = -1;

	if (fd < 0)
		return -errno;
	*ret_len = 0;
	if (!setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)) &&
		!setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) &&
		!connect(fd, (struct sockaddr *)&address, len)) {
		while ((got = read(fd, ret + *ret_len, size - *ret_len)) > 0)
			*ret_len += (size_t)got;
	}
	got = got < 0 ? -errno : 0;
	close(fd);
	return (int)got;
}

int cmd_probe(int argc, char **argv)
{
	const char *name = PROBE_NAME;
	char answer[ANSWER_BYTES];
	size_t len = 0;
	int error;

	argp_err_exit_status = EX_USAGE;
	if (argp_parse(&argp, argc, argv, 0, NULL, &name))
		return EX_USAGE;
	error = ask(name, answer, sizeof(answer), &len);
	if (error || len == 0 || answer[len - 1] != '\n') {
		fprintf(stderr, "oomsnoop: probe: nobody answers at \"%s\": %s\n", name,
			error ? strerror(-error) : "the answer is not whole");
		return 1;
	}
	if (fwrite(answer, 1, len, stdout) != len || fflush(stdout)) {
		fprintf(stderr, "oomsnoop: probe: cannot write to stdout: %s\n", strerror(errno));
		return EX_IOERR;
	}
	return 0;
}
