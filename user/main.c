// SPDX-License-Identifier: Apache-2.0
/* main.c: which command; the only place that decides the exit status of the process. */
#include <argp.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/doctor.h"
#include "cmd/export.h"
#include "cmd/list.h"
#include "cmd/live.h"
#include "cmd/parse.h"
#include "cmd/probe.h"
#include "cmd/rank.h"
#include "cmd/record.h"
#include "cmd/report.h"
#include "cmd/run.h"

const char *argp_program_version = "oomsnoop " OOMSNOOP_VERSION;

static const struct {
	const char *name;
	const char *title; /* argv[0] of its help */
	int (*run)(int argc, char **argv);
} commands[] = {
	{"doctor", "oomsnoop doctor", cmd_doctor},
	{"parse", "oomsnoop parse", cmd_parse},
	{"probe", "oomsnoop probe", cmd_probe},
	{"rank", "oomsnoop rank", cmd_rank},
	{"record", "oomsnoop record", cmd_record},
	{"list", "oomsnoop list", cmd_list},
	{"report", "oomsnoop report", cmd_report},
	{"export", "oomsnoop export", cmd_export},
	{"run", "oomsnoop run", cmd_run},
};

int main(int argc, char **argv)
{
	static char name[] = "oomsnoop";

	if (argc > 0)
		argv[0] = name;
	for (size_t i = 0; argc > 1 && i < sizeof(commands) / sizeof(commands[0]); i++) {
		if (strcmp(argv[1], commands[i].name))
			continue;
		argv[1] = (char *)commands[i].title;
		return commands[i].run(argc - 1, argv + 1);
	}
	return cmd_live(argc, argv);
}
