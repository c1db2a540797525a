// SPDX-License-Identifier: Apache-2.0
/* oomsnoop run: to memory what time(1) is to time. */
#include "cmd/run.h"

#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "cmd/clock.h"
#include "cmd/options.h"
#include "cmd/run_parts.h"
#include "facts/kernel.h"
#include "facts/procfs.h"
#include "sink/run.h"

/* What has ended by then is let go without more ado: nothing that loads takes its CPU. */
#define SHORT_NS 20000000ULL

enum {
	OPTION_MEMORY_MAX = 0x300,
	OPTION_MEMORY_HIGH,
	OPTION_SWAP_MAX,
	OPTION_OOM_GROUP,
	OPTION_ATTACH_FIRST,
	OPTION_REFUSED,
};

static const struct argp_option option_table[] = {
	{NULL, 0, NULL, 0, "A cgroup of its own for CMD:", 1},
	{"memory-max", OPTION_MEMORY_MAX, "SIZE", 0, "It may use no more memory than SIZE", 1},
	{"memory-high", OPTION_MEMORY_HIGH, "SIZE", 0, "It is slowed down from SIZE on (cgroup v2)",
		1},
	{"swap-max", OPTION_SWAP_MAX, "SIZE", 0, "It may use no more swap than SIZE; 0: none", 1},
	{"oom-group", OPTION_OOM_GROUP, NULL, 0,
		"The OOM killer takes all of it or nothing (cgroup v2)", 1},
	{NULL, 0, NULL, 0, "What is told:", 2},
	{"json", 'j', NULL, 0, "One JSON object a line in place of the text", 2},
	{"output", 'o', "FILE", 0,
		"Keep what the trace sees in this store, as `oomsnoop record` does; CMD starts when "
		"that is ready",
		2},
	{"quiet", 'q', NULL, 0, "Say nothing if nothing happened", 2},
	{"attach-first", OPTION_ATTACH_FIRST, NULL, 0,
		"Start CMD when the trace is attached, so that its first moments are watched, too",
		2},
	{"refused", OPTION_REFUSED, "WHEN", 0,
		"Memory and processes that it asked for and was not given: auto (default: where "
		"functions can be hooked), on (at the price of every system call, elsewhere) or off",
		2},
	{"verbose", 'v', NULL, 0, "Tell what the tracer says, too", 2},
	{NULL, 0, NULL, 0, NULL, 0},
};

/* "0" is a size where nothing is to be had of it. */
static uint64_t parse_size(struct argp_state *state, const char *what, const char *text, bool zero)
{
	return zero && !strcmp(text, "0") ? 0 : options_size(state, what, text);
}

static error_t parse_limit(int key, char *value, struct argp_state *state)
{
	struct run_options *options = state->input;

	switch (key) {
	case OPTION_MEMORY_MAX:
		options->memory_max = parse_size(state, "--memory-max", value, false);
		return 0;
	case OPTION_MEMORY_HIGH:
		options->memory_high = parse_size(state, "--memory-high", value, false);
		return 0;
	case OPTION_SWAP_MAX:
		options->swap_max = parse_size(state, "--swap-max", value, true);
		return 0;
	case OPTION_OOM_GROUP:
		options->oom_group = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static error_t parse_option(int key, char *value, struct argp_state *state)
{
	struct run_options *options = state->input;

	switch (key) {
	case 'j':
		options->json = true;
		return 0;
	case 'q':
		options->quiet = true;
		return 0;
	case 'v':
		options->verbose = true;
		return 0;
	case OPTION_ATTACH_FIRST:
		options->attach_first = true;
		return 0;
	case OPTION_REFUSED:
		options->refused = options_refused(state, value);
		return 0;
	case 'o':
		if (!value[0])
			argp_error(state, "--output: no file is named");
		options->store = value;
		return 0;
	case ARGP_KEY_ARGS:
		options->command = state->argv + state->next;
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "no command is named");
		return 0;
	default:
		return parse_limit(key, value, state);
	}
}

static const struct argp argp = {
	.options = option_table,
	.parser = parse_option,
	.args_doc = "[--] CMD [ARG…]",
	.doc = "Runs CMD and tells on standard error, once it has ended, how it ended and how much memory "
	       "it held: whether the OOM killer took it or what it ran, at whose limit and why, who "
	       "else killed it, or that it ended by itself.\v"
	       "Standard input, output and error, the terminal and signals are CMD's. With the rights "
	       "of the live trace all is known that that knows, of CMD and whatever descends from it; "
	       "without them what /proc, its cgroup and wait(2) tell.\n"
	       "Exit status: that of CMD; where a signal ended it, the same signal ends this. 126 CMD "
	       "cannot be executed, 127 it is not found; before it was started: 64 usage, 69 the kernel "
	       "lacks what was asked for, 74 the store cannot be written, 77 not permitted.",
};

/* --- opening --- */

/* Whoever starts us may have closed some of them: nothing of ours may get the number of one, and
 * the command is to find it closed all the same. */
static int hold_standard_files(struct run *run)
{
	run->account_fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR | O_CLOEXEC) != fd)
			return -errno;
	return 0;
}

static void look_at_terminal(struct run *run)
{
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
	struct winsize size;

	run->width = 80;
	if (run->account_fd >= 0 && !ioctl(run->account_fd, TIOCGWINSZ, &size) && size.ws_col >= 40)
		run->width = size.ws_col < 120 ? size.ws_col : 120;
	run->color = run->account_fd >= 0 && isatty(run->account_fd) &&
		     (!no_color || !no_color[0]) && term && strcmp(term, "dumb");
}

static void describe_command(struct run *run)
{
	char args[4 * RUN_CMDLINE];
	size_t len = 0, full = 0;

	for (char **at = run->options.command; *at; at++) {
		size_t size = strlen(*at) + 1, room = sizeof(args) - len;

		memcpy(args + len, *at, size < room ? size : room);
		len += size < room ? size : room;
		full += size;
	}
	cmdline_text(args, len, full, run->facts.cmdline, sizeof(run->facts.cmdline));
}

static int open_run(struct run *run)
{
	int error = hold_standard_files(run);

	run->self = getpid();
	if (!error)
		error = read_host("", &run->host);
	if (!error)
		error = run_sampler_open(&run->sampler, &run->facts.peak, run->host.page_size);
	run->sampler.self = run->self;
	run->shared = mmap(NULL, sizeof(*run->shared), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (!error && run->shared == MAP_FAILED)
		error = -errno;
	if (!error)
		error = run_signals_open(run);
	if (error) {
		fprintf(stderr, "oomsnoop: run: %s\n", strerror(-error));
		return 1;
	}
	look_at_terminal(run);
	describe_command(run);
	return 0;
}

static bool wants_cgroup(const struct run_options *options)
{
	return options->memory_max != UNKNOWN_U64 || options->memory_high != UNKNOWN_U64 ||
	       options->swap_max != UNKNOWN_U64 || options->oom_group;
}

/* --- the account --- */

static void tell(const struct run *run, const char *data, size_t len)
{
	while (len && run->account_fd >= 0) {
		ssize_t written = write(run->account_fd, data, len);

		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			return; /* nobody is there to be told */
		data += written;
		len -= (size_t)written;
	}
}

static void tell_pieces(const struct run *run)
{
	for (unsigned int i = 0; i < run->shared->piece_count && i < RUN_PIECES; i++) {
		const struct run_piece *piece = &run->shared->pieces[i];

		if (!piece->len)
			continue;
		if (!run->options.json)
			tell(run, "\n", 1);
		tell(run, run->shared->text + piece->offset, piece->len);
	}
}

static void tell_said(const struct run *run)
{
	char said[4096];
	ssize_t len;

	if (!run->options.store && !run->options.verbose)
		return;
	len = run_tracer_said(run, said, sizeof(said));
	if (len > 0)
		tell(run, said, (size_t)len);
}

/* The sentence first; in NDJSON the records in the order of time. */
static void tell_all(struct run *run)
{
	static char text[SINK_RUN_MAX];
	struct sink_context context = {
		.host = &run->host, .width = run->width, .color = run->color};
	struct buf buf;

	tell_said(run);
	if (run->options.quiet && run_is_quiet(&run->facts, &run->judgement))
		return;
	context.wall_minus_boot_ns = wall_minus_boot_now_ns();
	buf_init(&buf, text, sizeof(text));
	if (!run->options.json) {
		text_run(&buf, &context, &run->facts, &run->judgement);
		tell(run, buf.data, buf.len);
	}
	if (run->facts.told.watch != RUN_WATCH_NONE)
		tell_pieces(run);
	if (!run->options.json)
		return;
	json_run(&buf, &context, &run->facts, &run->judgement, run->end_ns);
	tell(run, buf.data, buf.len);
}

/* As it called itself when it was looked at, else as its file is called. */
static void name_command(struct run *run)
{
	const struct family_member *root = family_find(run->sampler.family, run->facts.pid);
	const char *path = run->options.command[0], *slash = strrchr(path, '/');

	snprintf(run->facts.comm, sizeof(run->facts.comm), "%s",
		root && root->comm[0] ? root->comm
		: slash		      ? slash + 1
				      : path);
}

static int account(struct run *run)
{
	struct run_facts *facts = &run->facts;

	if (!run_is_childless(run))
		facts->alive = run_sample(&run->sampler) ? UNKNOWN_U64 : run->sampler.alive;
	run_tracer_end(run);
	run_cgroup_after(run);
	name_command(run);
	judge_run(facts, &run->judgement);
	tell_all(run);
	return run_end_alike(run);
}

/* --- the order of things --- */

/* The helpers. RUN_ELSE: this is one of them, and has done its work. */
static int start_helpers(struct run *run, enum run_role *ret_role)
{
	int status = run_witness_start(run, ret_role);

	if (*ret_role == RUN_ELSE)
		return status;
	run->sampler.skip[1] = run->witness;
	status = run_tracer_start(run, ret_role);
	if (*ret_role == RUN_RUNNER)
		run->sampler.skip[0] = run->tracer;
	return status;
}

static void stop_helpers(struct run *run)
{
	if (run->tracer)
		kill(run->tracer, SIGKILL);
	run_cgroup_after(run);
}

static int go(struct run *run)
{
	bool first = run->options.attach_first || run->options.store;
	enum run_role role = RUN_RUNNER;
	uint64_t short_until_ns;
	int status = 0;

	if (first) {
		status = start_helpers(run, &role);
		if (role == RUN_ELSE)
			return status;
		status = run_tracer_ready(run);
	}
	if (!status)
		status = run_child_start(run, &role);
	if (role == RUN_ELSE)
		return status;
	if (status) {
		stop_helpers(run);
		return status;
	}
	short_until_ns = boot_now_ns() + SHORT_NS;
	run->sampler.next_ns = short_until_ns;
	if (!first && !run_child_wait(run, short_until_ns)) {
		status = start_helpers(run, &role);
		if (role == RUN_ELSE)
			return status;
	}
	run_child_wait(run, UINT64_MAX);
	return account(run);
}

int cmd_run(int argc, char **argv)
{
	static struct run run = {.signal_fd = -1,
		.end_fd = -1,
		.said_fd = -1,
		.witness_fd = -1,
		.options = {.memory_max = UNKNOWN_U64,
			.memory_high = UNKNOWN_U64,
			.swap_max = UNKNOWN_U64}};
	int status;

	argp_err_exit_status = EX_USAGE;
	if (argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &run.options))
		return EX_USAGE;
	status = open_run(&run);
	if (!status && wants_cgroup(&run.options))
		status = run_cgroup_make(&run);
	if (status)
		return status;
	run_cgroup_before(&run);
	return go(&run);
}
