// SPDX-License-Identifier: Apache-2.0
/* oomsnoop rank: who would be killed next, here or in a cgroup. Reads /proc and cgroupfs only. */
#include "cmd/rank.h"

#include <argp.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "cmd/clock.h"
#include "cmd/filter.h"
#include "cmd/output.h"
#include "cmd/rank_collect.h"
#include "facts/file.h"
#include "facts/kernel.h"
#include "sink/rank.h"

#define SHOWN_BY_DEFAULT 10
#define FIRST_BUFFER (64U << 10)

struct rank_options {
	const char *cgroup;
	bool json;
	size_t shown;
};

/* --- options --- */

enum { OPTION_CGROUP = 0x100, OPTION_JSON = 'j', OPTION_SHOWN = 'n' };

static const struct argp_option option_table[] = {
	{"cgroup", OPTION_CGROUP, "PATH", 0,
		"In this cgroup, at its own memory limit; the default is the machine", 0},
	{"json", OPTION_JSON, NULL, 0, "One JSON object in place of the text", 0},
	{NULL, OPTION_SHOWN, "N", 0, "Show the first N processes (default 10; 0: all)", 0},
	{NULL, 0, NULL, 0, NULL, 0},
};

static void parse_shown(struct argp_state *state, const char *text, struct rank_options *options)
{
	uint64_t value = filter_number(state, "-n", text, 0, INT32_MAX);

	options->shown = value ? value : SIZE_MAX;
}

static error_t parse_option(int key, char *value, struct argp_state *state)
{
	struct rank_options *options = state->input;

	switch (key) {
	case OPTION_CGROUP:
		if (value[0] != '/')
			argp_error(state, "--cgroup: '%s' does not begin with '/'", value);
		options->cgroup = value;
		return 0;
	case OPTION_JSON:
		options->json = true;
		return 0;
	case OPTION_SHOWN:
		parse_shown(state, value, options);
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "'%s' is one argument too many", value);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = option_table,
	.parser = parse_option,
	.doc = "Tells whom the kernel's OOM killer would choose now, with the sum that decides it, and "
	       "why /proc/PID/oom_score differs. Reads /proc and the cgroups' files only: no BPF, no "
	       "root.\v"
	       "Exit status: 0 done; 1 failed, or there is no such cgroup; 64 usage; 69 /proc or the "
	       "memory cgroups are not mounted; 74 output error; 77 not permitted.",
};

/* --- the report --- */

struct rank_run {
	const struct rank_options *options;
	struct host_facts host;
	struct cgroup_mount mount;
	bool has_mount;
	struct collection collection;
	char asked[QUOTA_PATH];
	char oom_group[QUOTA_PATH];
	struct rank_report report;
};

static int failed(const char *what, int err)
{
	fprintf(stderr, "oomsnoop: rank: %s: %s\n", what, strerror(-err));
	return err == -EACCES || err == -EPERM ? EX_NOPERM : 1;
}

/* Its path in the hierarchy out of that in the file system, as a shell completes it; false: it is
 * not below the mount. */
static bool path_below_mount(
	const struct cgroup_mount *mount, const char *path, char *ret, size_t size)
{
	const char *root = strcmp(mount->root, "/") ? mount->root : "";

	if (!cgroup_is_below(path, mount->path) ||
		file_path(root, path + strlen(mount->path), ret, size))
		return false;
	if (!ret[0])
		strcpy(ret, "/");
	return true;
}

/* Levels of the cgroup that was asked for, by either of its names. 0 or -errno. */
static int read_levels(struct rank_run *run, const char *given)
{
	struct quota *quota = &run->report.quota;
	int err;

	strcpy(run->asked, given);
	err = read_quota_levels(&run->mount, run->asked, quota);
	if (err == -ENOENT && path_below_mount(&run->mount, given, run->asked, sizeof(run->asked)))
		err = read_quota_levels(&run->mount, run->asked, quota);
	return err;
}

static int find_cgroup(struct rank_run *run)
{
	size_t len = strlen(run->options->cgroup);
	char given[QUOTA_PATH];
	int err;

	if (!run->has_mount) {
		fprintf(stderr, "oomsnoop: rank: memory cgroups are not mounted here\n");
		return EX_UNAVAILABLE;
	}
	while (len > 1 && run->options->cgroup[len - 1] == '/')
		len--;
	if (len >= sizeof(given))
		return failed("--cgroup", -ENAMETOOLONG);
	snprintf(given, sizeof(given), "%.*s", (int)len, run->options->cgroup);
	err = read_levels(run, given);
	if (err == -ENOENT || err == -ENOTDIR) {
		fprintf(stderr, "oomsnoop: rank: there is no cgroup '%s' below %s\n", given,
			run->mount.path);
		return 1;
	}
	if (err)
		return failed(given, err);
	run->report.asked = run->asked;
	run->report.level = rank_limit_level(&run->report.quota);
	return 0;
}

static int collect(struct rank_run *run)
{
	const struct quota_level *limit = rank_limit(&run->report);
	int err;

	run->collection.page_size = run->host.page_size;
	run->collection.initial_pid_namespace = in_initial_pid_namespace("");
	if (limit)
		err = collect_cgroup(&run->collection, &run->mount, limit->cgroup);
	else
		err = collect_machine(&run->collection, run->has_mount ? &run->mount : NULL);
	return err ? failed("cannot list the processes", err) : 0;
}

static void set_ceilings(struct rank_run *run)
{
	const struct quota_level *limit = rank_limit(&run->report);
	const struct host_memory *host = &run->report.quota.host;
	struct ranking *ranking = &run->report.ranking;

	ranking->page_size = run->host.page_size;
	ranking->host_pages =
		host->swap_total_bytes == UNKNOWN_U64
			? UNKNOWN_U64
			: (host->total_bytes + host->swap_total_bytes) / run->host.page_size;
	ranking->total_pages = ranking->host_pages;
	if (limit)
		ranking->total_pages =
			rank_ceiling(limit, run->mount.v2, run->report.rules.swappiness,
				run->host.swappiness, host->swap_total_bytes, run->host.page_size);
}

/* The quick reading of a counter is off by what the CPUs hold back, of those that are online. */
static uint64_t counter_slack(const struct host_facts *host)
{
	char text[256];
	uint32_t online;

	if (file_read("", "/sys/devices/system/cpu/online", text, sizeof(text)) < 0 ||
		parse_cpu_list(text, &online))
		online = host->cpus;
	return rank_counter_slack(online);
}

static void describe(struct rank_run *run)
{
	const struct quota_level *limit = rank_limit(&run->report);
	const struct rank_candidate *first = run->collection.candidates;
	struct rank_report *report = &run->report;

	report->counter_slack_pages = counter_slack(&run->host);
	report->unreadable = run->collection.unreadable;
	report->unreadable_why = run->collection.unreadable_why;
	report->own_pid_namespace = !run->collection.initial_pid_namespace;
	/* Of a cgroup the pids are listed, so that those are counted which /proc hides. */
	report->hidden = !limit && access("/proc/1/stat", R_OK) != 0;
	report->oom_group = run->oom_group;
	report->shown = run->options->shown;
	if (report->ranking.eligible && first->cgroup && run->has_mount)
		read_oom_group(&run->mount, first->cgroup, limit ? limit->cgroup : "/",
			run->oom_group, sizeof(run->oom_group));
}

static int fill_report(struct rank_run *run)
{
	struct rank_report *report = &run->report;
	struct ranking *ranking = &report->ranking;
	const struct quota_level *limit;
	int status, err;

	run->has_mount = !read_memory_mount("", &run->mount);
	report->level = -1;
	status = run->options->cgroup ? find_cgroup(run) : 0;
	if (status)
		return status;
	limit = rank_limit(report);
	read_oom_rules("", &run->mount, limit ? limit->cgroup : NULL, &report->rules);
	report->boot_ns = boot_now_ns();
	status = collect(run);
	if (status)
		return status;
	set_ceilings(run);
	ranking->candidates = run->collection.candidates;
	ranking->count = run->collection.count;
	rank_judge(ranking);
	describe(run);
	err = collect_commands(&run->collection, report->shown);
	return err ? failed("command lines", err) : 0;
}

/* --- output --- */

static int format(const struct rank_run *run, struct buf *buf)
{
	struct sink_context context = {
		.host = &run->host,
		.wall_minus_boot_ns = wall_minus_boot_now_ns(),
	};

	return run->options->json ? rank_json(buf, &context, &run->report)
				  : rank_text(buf, &run->report);
}

static int write_out(const struct buf *buf)
{
	int err = output_write(buf->data, buf->len);

	/* Who reads no further has what it wanted. */
	if (!err || err == -EPIPE)
		return 0;
	fprintf(stderr, "oomsnoop: rank: cannot write to stdout: %s\n", strerror(-err));
	return EX_IOERR;
}

static int tell(const struct rank_run *run)
{
	struct buf buf;
	int status, err = -ENOSPC;

	for (size_t size = FIRST_BUFFER; err == -ENOSPC; size *= 2) {
		char *data = malloc(size);

		if (!data)
			return failed("the ranking", -ENOMEM);
		buf_init(&buf, data, size);
		err = format(run, &buf);
		status = err ? 1 : write_out(&buf);
		free(data);
	}
	return status;
}

int cmd_rank(int argc, char **argv)
{
	static struct rank_run run;
	struct rank_options options = {.shown = SHOWN_BY_DEFAULT};
	int status, err;

	argp_err_exit_status = EX_USAGE;
	if (argp_parse(&argp, argc, argv, 0, NULL, &options))
		return EX_USAGE;
	signal(SIGPIPE, SIG_IGN);
	run = (struct rank_run) {.options = &options};
	err = read_host("", &run.host);
	if (!err)
		err = read_meminfo("", &run.report.quota.host);
	if (err) {
		fprintf(stderr, "oomsnoop: rank: /proc cannot be read: %s\n", strerror(-err));
		return EX_UNAVAILABLE;
	}
	status = fill_report(&run);
	if (!status)
		status = tell(&run);
	collection_free(&run.collection);
	return status;
}
