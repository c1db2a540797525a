// SPDX-License-Identifier: Apache-2.0
#include "cmd/telling.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sysexits.h>
#include <unistd.h>

#include "cmd/clock.h"
#include "cmd/ending.h"
#include "cmd/follower.h"
#include "cmd/output.h"
#include "cmd/probe.h"

#define RECORD_BYTES (SINK_JSON_MAX > SINK_TEXT_MAX ? SINK_JSON_MAX : SINK_TEXT_MAX)
#define LINE_BYTES 8192 /* of the start and of the stop */

void telling_init(struct telling *telling, const struct live_options *options)
{
	*telling = (struct telling) {.options = options,
		.silent = options->silent,
		.signal_fd = -1,
		.epoll_fd = -1,
		.probe_fd = -1};
}

void telling_remark(const struct telling *telling, const char *format, ...)
{
	va_list args;

	if (telling->options->quiet)
		return;
	fputs("oomsnoop: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
}

/* --- what it waits for --- */

int telling_open_probe(struct telling *telling)
{
	const char *name = telling->options->probe;

	if (!name)
		return 0;
	telling->probe_fd = probe_listen(name);
	if (telling->probe_fd >= 0)
		return 0;
	fprintf(stderr, "oomsnoop: --probe: cannot listen at \"%s\": %s\n", name,
		strerror(-telling->probe_fd));
	return 1;
}

int telling_watch(const struct telling *telling, int fd, uint32_t events)
{
	struct epoll_event event = {.events = events, .data.fd = fd};

	return epoll_ctl(telling->epoll_fd, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

int telling_open(struct telling *telling)
{
	const struct follower *follower = telling->options->follower;
	int error;

	telling->signal_fd = follower ? dup(follower->end_fd) : ending_open();
	if (telling->signal_fd < 0)
		return follower ? -errno : telling->signal_fd;
	telling->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (telling->epoll_fd < 0)
		return -errno;
	error = telling_watch(telling, telling->signal_fd, EPOLLIN);
	if (!error && telling->probe_fd >= 0)
		error = telling_watch(telling, telling->probe_fd, EPOLLIN);
	/* A reader that has gone is noticed without writing. A file cannot be watched, and need not
	 * be. */
	if (!error && !telling->silent)
		telling_watch(telling, STDOUT_FILENO, 0);
	return error;
}

void telling_close(struct telling *telling)
{
	if (telling->probe_fd >= 0)
		close(telling->probe_fd);
	if (telling->signal_fd >= 0)
		close(telling->signal_fd);
	if (telling->epoll_fd >= 0)
		close(telling->epoll_fd);
}

static void output_failed(struct telling *telling, int error)
{
	if (!telling->outlived) {
		telling->output_error = error;
		return;
	}
	telling->silent = true;
	telling->print_error = error;
	epoll_ctl(telling->epoll_fd, EPOLL_CTL_DEL, STDOUT_FILENO, NULL);
	fprintf(stderr, "oomsnoop: %s; the recording goes on\n",
		error == -EPIPE ? "nobody reads standard output any more"
				: "cannot write to standard output");
}

/* The descriptor of a command's end stays readable, and is not asked again. */
static void take_signal(struct telling *telling)
{
	struct signalfd_siginfo info;

	if (telling->options->follower) {
		telling->left = true;
		epoll_ctl(telling->epoll_fd, EPOLL_CTL_DEL, telling->signal_fd, NULL);
	} else if (read(telling->signal_fd, &info, sizeof(info)) == sizeof(info)) {
		telling_end(telling, "signal");
	}
}

void telling_event(struct telling *telling, const struct epoll_event *event)
{
	if (event->data.fd == telling->signal_fd)
		take_signal(telling);
	if (event->data.fd == STDOUT_FILENO && event->events & (EPOLLERR | EPOLLHUP) &&
		!telling->silent)
		output_failed(telling, -EPIPE);
}

void telling_probe(const struct telling *telling, uint64_t lost_events)
{
	struct probe_state state = {.tier = telling->sink.tier,
		.incidents = telling->totals.incidents,
		.victims = telling->totals.victims,
		.lost_events = lost_events};

	probe_answer(telling->probe_fd, &state);
}

void telling_end(struct telling *telling, const char *reason)
{
	if (!telling->ended)
		telling->totals.reason = reason;
	telling->ended = true;
}

bool telling_muted(const struct telling *telling)
{
	return telling->output_error ||
	       (telling->options->max_events &&
		       telling->totals.incidents >= telling->options->max_events);
}

/* --- what it says --- */

int telling_print(struct telling *telling, const char *data, size_t len)
{
	int error = telling->silent || telling->output_error ? 0 : output_write(data, len);

	if (error)
		output_failed(telling, error);
	return telling->output_error;
}

static char record_text[RECORD_BYTES]; /* too large for a stack */
static struct buf record;

struct buf *telling_begin(struct telling *telling)
{
	if (telling->silent)
		return NULL;
	buf_init(&record, record_text, sizeof(record_text));
	if (telling->told && !telling->options->json)
		buf_putc(&record, '\n');
	return &record;
}

void telling_commit(struct telling *telling, int error, const char *what, uint32_t number)
{
	if (error) {
		fprintf(stderr, "oomsnoop: the record of %s %u does not fit and is lost\n", what,
			number);
		telling->totals.lost_events++;
		return;
	}
	telling_print(telling, record.data, record.len);
	telling->told++;
}

void telling_incident(
	struct telling *telling, const struct incident *incident, const struct judgement *judgement)
{
	struct buf *buf = telling_begin(telling);

	if (buf)
		telling_commit(telling,
			telling->options->json
				? json_incident(buf, &telling->sink, incident, judgement)
				: text_incident(buf, &telling->sink, incident, judgement),
			"incident", incident->number);
}

/* --- the run --- */

uint64_t telling_clock(struct telling *telling)
{
	telling->sink.wall_minus_boot_ns = wall_minus_boot_now_ns();
	return boot_now_ns();
}

void telling_start(struct telling *telling)
{
	static const char ready[] = "READY\n";
	int fd = telling->options->ready_fd;
	uint64_t now = telling_clock(telling);
	char line[LINE_BYTES];
	struct buf buf;

	buf_init(&buf, line, sizeof(line));
	if (telling->options->json && !json_start(&buf, &telling->sink, now))
		telling_print(telling, buf.data, buf.len);
	if (fd >= 0 && write(fd, ready, sizeof(ready) - 1) != sizeof(ready) - 1)
		fprintf(stderr, "oomsnoop: --ready-fd %d: %s\n", fd, strerror(errno));
}

void telling_stop(struct telling *telling, const char *reason)
{
	uint64_t now = telling_clock(telling);
	char line[LINE_BYTES];
	struct buf buf;

	telling->totals.reason = telling->output_error ? "output-closed" : reason;
	buf_init(&buf, line, sizeof(line));
	if (telling->options->json && !json_stop(&buf, &telling->sink, now, &telling->totals))
		telling_print(telling, buf.data, buf.len);
}

int telling_status(const struct telling *telling)
{
	int error = telling->output_error ? telling->output_error : telling->print_error;

	if (!error || error == -EPIPE)
		return 0;
	fprintf(stderr, "oomsnoop: cannot write to stdout: %s\n", strerror(-error));
	return EX_IOERR;
}
