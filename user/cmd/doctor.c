// SPDX-License-Identifier: Apache-2.0
/* oomsnoop doctor: tries every hook for real, lets go again, and says what works. */
#include "cmd/doctor.h"

#include <argp.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>

#include "cmd/need.h"
#include "sink/doctor.h"
#include "source/loader.h"

enum { OPTION_JSON = 'j' };

static const struct argp_option options[] = {
	{"json", OPTION_JSON, NULL, 0, "One JSON object in place of the text", 0},
	{NULL, 0, NULL, 0, NULL, 0},
};

static error_t parse_option(int key, char *value, struct argp_state *state)
{
	bool *json = state->input;

	(void)value;
	switch (key) {
	case OPTION_JSON:
		*json = true;
		return 0;
	case ARGP_KEY_ARG:
		argp_usage(state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse_option,
	.doc = "Tells what works on this kernel and with these rights, and how much memory may "
	       "really be used.\v"
	       "Exit status: 0 tracing works; 69 the kernel lacks what is needed; 77 not "
	       "permitted; 1 it failed otherwise.",
};

static void try_hooks(struct doctor_report *report)
{
	struct tracer_options tracer_options = {.host = &report->host};
	struct tracer *tracer;

	hooks_init(&report->hooks);
	report->tracer_error = tracer_open(&tracer_options, &report->hooks, &tracer);
	report->hooks_probed = report->tracer_error != -ENOENT;
	if (report->tracer_error == 0)
		tracer_close(tracer);
}

/* As `oomsnoop` without options would have it. */
static void fill_own(struct doctor_own *own)
{
	static const struct need_options asked = {.recorder = true};
	struct need need;

	need_of(&asked, 0, &need);
	own->start_bytes = need.start_bytes;
	own->full_bytes = need.full_bytes;
	if (read_memory_room("", &own->room))
		own->room.room_bytes = UNKNOWN_U64;
	own->fit_bytes = need_fit(&asked, own->room.room_bytes, &need) ? need.full_bytes : 0;
	need_of(&asked, NEED_SHRINK_MAX, &need);
	own->smallest_bytes = need.full_bytes;
}

static void fill_report(struct doctor_report *report)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	report->wall_ns = now.tv_sec * 1000000000LL + now.tv_nsec;
	report->host_error = read_host("", &report->host);
	report->kernel_error = read_kernel("", &report->kernel);
	rights_raise();
	report->rights_error = read_rights("", &report->rights);
	report->quota_error = read_quota("", &report->quota);
	fill_own(&report->own);
	if (report->host_error)
		report->tracer_error = report->host_error;
	else
		try_hooks(report);
	/* As a tracer would do it, to tell how well it goes. */
	rights_protect("", &report->protection);
}

static int exit_status(const struct doctor_report *report)
{
	switch (doctor_obstacle(report)) {
	case DOCTOR_CLEAR:
		return 0;
	case DOCTOR_NOT_PERMITTED:
		return EX_NOPERM;
	case DOCTOR_KERNEL_TOO_OLD:
	case DOCTOR_NO_BTF:
	case DOCTOR_REQUIRED_HOOK:
		return EX_UNAVAILABLE;
	case DOCTOR_FAILED:
		return 1;
	}
	return 1;
}

int cmd_doctor(int argc, char **argv)
{
	static struct doctor_report report;
	static char text[DOCTOR_BUF_BYTES];
	struct buf buf;
	bool json = false;
	int err;

	argp_err_exit_status = EX_USAGE;
	err = argp_parse(&argp, argc, argv, 0, NULL, &json);
	if (err)
		return EX_USAGE;
	fill_report(&report);
	buf_init(&buf, text, sizeof(text));
	err = json ? doctor_json(&buf, &report) : doctor_text(&buf, &report);
	if (err) {
		fprintf(stderr, "oomsnoop: doctor: the report does not fit: %s\n", strerror(-err));
		return 1;
	}
	if (fwrite(buf.data, 1, buf.len, stdout) != buf.len || fflush(stdout) != 0) {
		fprintf(stderr, "oomsnoop: doctor: cannot write the report: %s\n", strerror(errno));
		return EX_IOERR;
	}
	return exit_status(&report);
}
