// SPDX-License-Identifier: Apache-2.0
/* oomsnoop doctor: tries every hook for real, lets go again, and says what works. */
#include "cmd/doctor.h"

#include <argp.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#include "cmd/clock.h"
#include "cmd/need.h"
#include "cmd/options.h"
#include "sink/doctor.h"
#include "source/loader.h"

enum { OPTION_JSON = 'j', OPTION_HOST_ROOT = 0x100 };

#define CONTAINERS 8192

struct doctor_options {
	bool json;
	const char *host_root;
};

static const struct argp_option options[] = {
	{"json", OPTION_JSON, NULL, 0, "One JSON object in place of the text", 0},
	{"host-root", OPTION_HOST_ROOT, "DIR", 0,
		"Where the host's file system is seen (default /)", 0},
	{NULL, 0, NULL, 0, NULL, 0},
};

static error_t parse_option(int key, char *value, struct argp_state *state)
{
	struct doctor_options *ret = state->input;

	switch (key) {
	case OPTION_JSON:
		ret->json = true;
		return 0;
	case OPTION_HOST_ROOT:
		ret->host_root = options_host_root(state, value);
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

static int note_container(uint64_t id, const char *path, void *arg)
{
	(void)id;
	containers_note(arg, path, 0);
	return 0;
}

/* As a tracer would at its start, to tell how many it can name. */
static void try_names(struct doctor_names *names)
{
	struct containers *table = containers_new(CONTAINERS);
	const struct names_place *places;
	struct names_reader *reader = NULL;
	struct cgroup_mount mount;

	names->error = table ? names_reader_new(names->host_root, &reader) : -ENOMEM;
	if (!names->error) {
		if (!read_memory_mount("", &mount))
			walk_cgroups(&mount, note_container, table);
		containers_read(table, reader, 0, SIZE_MAX);
		names->sum = containers_sum(table);
		names->place_count = names_places(reader, &places);
		memcpy(names->places, places, names->place_count * sizeof(*places));
	}
	names_reader_free(reader);
	containers_free(table);
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
	report->wall_ns = (int64_t)clock_now_ns(CLOCK_REALTIME);
	report->host_error = read_host("", &report->host);
	report->kernel_error = read_kernel("", &report->kernel);
	rights_raise();
	report->rights_error = read_rights("", &report->rights);
	report->quota_error = read_quota("", &report->quota);
	try_names(&report->names);
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
	struct doctor_options given = {.host_root = ""};
	int err;

	argp_err_exit_status = EX_USAGE;
	err = argp_parse(&argp, argc, argv, 0, NULL, &given);
	if (err)
		return EX_USAGE;
	report.names.host_root = given.host_root;
	fill_report(&report);
	buf_init(&buf, text, sizeof(text));
	err = given.json ? doctor_json(&buf, &report) : doctor_text(&buf, &report);
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
