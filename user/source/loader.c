// SPDX-License-Identifier: Apache-2.0
#include "source/loader.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "oomsnoop.skel.h"
#include "source/probe.h"
#include "source/ring.h"

#define DEFAULT_RING (4U << 20)
#define DEFAULT_FAULT_PERIOD 64
#define LOAD_TRIES 16 /* each rules out one alternative */

/* --- what libbpf says: kept, so that a failure can be told without noise on success --- */

static struct {
	char text[4096];
	size_t len;
	bool verbose;
	char failed_program[64];
} libbpf_log;

static void log_keep(const char *line)
{
	size_t len = strlen(line);

	if (len >= sizeof(libbpf_log.text))
		return;
	if (libbpf_log.len + len >= sizeof(libbpf_log.text)) {
		size_t half = libbpf_log.len / 2;

		memmove(libbpf_log.text, libbpf_log.text + half, libbpf_log.len - half);
		libbpf_log.len -= half;
		if (libbpf_log.len + len >= sizeof(libbpf_log.text))
			libbpf_log.len = 0;
	}
	memcpy(libbpf_log.text + libbpf_log.len, line, len + 1);
	libbpf_log.len += len;
}

static int log_print(enum libbpf_print_level level, const char *format, va_list args)
{
	char line[512];
	const char *at;

	if (level == LIBBPF_DEBUG)
		return 0;
	if (libbpf_log.verbose) {
		/* Whole: what the verifier says at the end of a long log is what matters. */
		va_list whole;

		va_copy(whole, args);
		vfprintf(stderr, format, whole);
		va_end(whole);
	}
	vsnprintf(line, sizeof(line), format, args);
	/* libbpf tells which program a kernel refused only here. */
	at = strstr(line, "': failed to load: ");
	if (at && sscanf(line, "libbpf: prog '%63[^']'", libbpf_log.failed_program) != 1)
		libbpf_log.failed_program[0] = '\0';
	log_keep(line);
	return 0;
}

const char *tracer_log(void)
{
	return libbpf_log.text;
}

void tracer_verbose(bool on)
{
	libbpf_log.verbose = on;
}

/* --- planning --- */

/* What only serves the recorder is of no use without it. */
static bool is_unwanted(const struct tracer_options *options, int purpose)
{
	if (hook_listed(options->without, hook_table[purpose].name))
		return true;
	if ((purpose == HOOK_FAULTS && options->no_faults) ||
		(purpose == HOOK_SIGNAL && options->no_kills) ||
		(purpose == HOOK_REFUSED && options->no_refusals))
		return true;
	return (purpose == HOOK_CHARGE || purpose == HOOK_FAULTS) &&
	       hook_listed(options->without, hook_table[HOOK_RECORDER].name);
}

static void rule_out_unwanted(struct hooks *hooks, const struct tracer_options *options)
{
	const char *without = options->without;

	for (int i = 0; i < HOOK_COUNT; i++)
		for (size_t j = 0; j < hook_alternatives(&hook_table[i]); j++) {
			const struct hook_alternative *alternative = &hook_table[i].alternatives[j];
			char label[96];

			hook_label(alternative, label, sizeof(label));
			if (is_unwanted(options, i) || hook_listed(without, label) ||
				hook_listed(without, hook_kind_name(alternative->programs[0].kind)))
				snprintf(hooks->states[i].why[j], sizeof(hooks->states[i].why[j]),
					"left out on request");
			else if (!options->every_call && !strcmp(label, HOOK_EVERY_CALL))
				snprintf(hooks->states[i].why[j], sizeof(hooks->states[i].why[j]),
					"slows every system call down; --refused on asks for it");
		}
}

static void rule_out(struct hooks *hooks, int purpose, const char *doing, int error)
{
	struct hook_state *state = &hooks->states[purpose];

	snprintf(state->why[state->serving], sizeof(state->why[0]), "%s failed: %s", doing,
		strerror(-error));
	state->serving = -1;
}

/* The serving alternative that holds a program; -1: none. */
static int purpose_of_program(const struct hooks *hooks, const char *name)
{
	for (int i = 0; i < HOOK_COUNT; i++) {
		int serving = hooks->states[i].serving;

		for (size_t k = 0; serving >= 0 && k < HOOK_PROGRAMS; k++) {
			const char *own = hook_table[i].alternatives[serving].programs[k].name;

			if (own && !strcmp(own, name))
				return i;
		}
	}
	return -1;
}

/* --- loading --- */

/* Only the tracepoints tell writes on present pages from other faults. */
static bool tells_copies(const struct hooks *hooks)
{
	int serving = hooks->states[HOOK_FAULTS].serving;

	return serving >= 0 &&
	       hook_table[HOOK_FAULTS].alternatives[serving].programs[0].kind == HOOK_TP_BTF;
}

static void rodata_fill(struct oomsnoop *skel, const struct tracer_options *options,
	const struct hooks *hooks, uint32_t ring)
{
	skel->rodata->scope_hooked = hook_served(hooks, HOOK_SCOPE);
	skel->rodata->shared_traced = hook_served(hooks, HOOK_SHARED);
	skel->rodata->kills_traced = hook_served(hooks, HOOK_SIGNAL);
	skel->rodata->cpu_count = options->host->cpus;
	skel->rodata->copies_counted = tells_copies(hooks);
	skel->rodata->charges_counted = hook_served(hooks, HOOK_CHARGE);
	skel->bss->counting = hook_served(hooks, HOOK_CHARGE);
	skel->rodata->fault_period =
		options->fault_period ? options->fault_period : DEFAULT_FAULT_PERIOD;
	skel->rodata->ring_busy_bytes = ring / 2;
	skel->rodata->ring_wake_bytes = ring / 8;
	skel->rodata->ring_candidate_bytes = ring / 4 * 3;
	skel->rodata->memory_hierarchy =
		options->host->memory_hierarchy > 0 ? options->host->memory_hierarchy : 0;
}

static void autoload_set(struct oomsnoop *skel, const struct hooks *hooks)
{
	for (int i = 0; i < HOOK_COUNT; i++) {
		int serving = hooks->states[i].serving;

		for (size_t k = 0; serving >= 0 && k < HOOK_PROGRAMS; k++) {
			const char *name = hook_table[i].alternatives[serving].programs[k].name;
			struct bpf_program *program =
				name ? bpf_object__find_program_by_name(skel->obj, name) : NULL;

			if (program)
				bpf_program__set_autoload(program, true);
		}
	}
}

static int skel_load(
	const struct tracer_options *options, const struct hooks *hooks, struct oomsnoop **ret)
{
	uint32_t ring = options->ring_bytes ? options->ring_bytes : DEFAULT_RING;
	struct oomsnoop *skel = oomsnoop__open();
	int error;

	if (!skel)
		return -errno;
	rodata_fill(skel, options, hooks, ring);
	bpf_map__set_max_entries(skel->maps.events, ring);
	autoload_set(skel, hooks);
	error = oomsnoop__load(skel);
	if (error) {
		oomsnoop__destroy(skel);
		return error;
	}
	*ret = skel;
	return 0;
}

/* Loads what the plan names; a program that the kernel refuses is ruled out, and the plan is made
 * again. */
static int skel_load_planned(struct probe *probe, const struct tracer_options *options,
	struct hooks *hooks, struct oomsnoop **ret)
{
	int error = -EOPNOTSUPP;

	for (int i = 0; i < LOAD_TRIES; i++) {
		int purpose;

		probe_plan(probe, hooks);
		if (!hook_served(hooks, HOOK_VICTIM))
			return -EOPNOTSUPP;
		libbpf_log.failed_program[0] = '\0';
		error = skel_load(options, hooks, ret);
		if (!error)
			return 0;
		purpose = purpose_of_program(hooks, libbpf_log.failed_program);
		if (purpose < 0)
			return error;
		rule_out(hooks, purpose, "loading", error);
	}
	return error;
}

/* Does a purpose before this one in the table use the same program? It is attached, then. */
static bool attached_before(const struct hooks *hooks, int purpose, const char *name)
{
	int first = purpose_of_program(hooks, name);

	return first >= 0 && first < purpose;
}

static int attach_alternative(
	struct oomsnoop *skel, struct tracer *tracer, const struct hooks *hooks, int purpose)
{
	const struct hook_alternative *alternative =
		&hook_table[purpose].alternatives[hooks->states[purpose].serving];
	size_t from = tracer->link_count;

	for (size_t k = 0; k < HOOK_PROGRAMS && alternative->programs[k].name; k++) {
		struct bpf_program *program =
			bpf_object__find_program_by_name(skel->obj, alternative->programs[k].name);
		struct bpf_link *link;

		if (attached_before(hooks, purpose, alternative->programs[k].name))
			continue;
		link = bpf_program__attach(program);
		if (!link) {
			int error = -errno;

			while (tracer->link_count > from)
				bpf_link__destroy(tracer->links[--tracer->link_count]);
			return error;
		}
		tracer->links[tracer->link_count++] = link;
		if (alternative == &hook_table[HOOK_CENSUS].alternatives[0])
			tracer->census_link = link;
		if (alternative == &hook_table[HOOK_RECORDER].alternatives[0])
			tracer->recorder_link = link;
	}
	return 0;
}

static void links_destroy(struct tracer *tracer)
{
	while (tracer->link_count)
		bpf_link__destroy(tracer->links[--tracer->link_count]);
	tracer->census_link = NULL;
	tracer->recorder_link = NULL;
}

/* Attaches the table. >0: something was refused and has another alternative, so the plan must be
 * made again. */
static int attach_all(struct tracer *tracer, struct hooks *hooks)
{
	int again = 0;

	for (int i = 0; i < HOOK_COUNT; i++) {
		struct hook_state *state = &hooks->states[i];
		int serving = state->serving, error;

		if (serving < 0 || hook_table[i].on_demand)
			continue;
		error = attach_alternative(tracer->skel, tracer, hooks, i);
		if (!error)
			continue;
		rule_out(hooks, i, "attaching", error);
		/* The end of the scope is rodata of what is loaded, so that one is never just left
		 * out. */
		if ((size_t)serving + 1 < hook_alternatives(&hook_table[i]) || i == HOOK_SCOPE)
			again++;
	}
	return again;
}

static int load_and_attach(struct probe *probe, const struct tracer_options *options,
	struct hooks *hooks, struct tracer *tracer)
{
	for (int i = 0; i < LOAD_TRIES; i++) {
		int error = skel_load_planned(probe, options, hooks, &tracer->skel);

		if (error)
			return error;
		if (!attach_all(tracer, hooks))
			return hook_served(hooks, HOOK_VICTIM) ? 0 : -EOPNOTSUPP;
		links_destroy(tracer);
		oomsnoop__destroy(tracer->skel);
		tracer->skel = NULL;
	}
	return -EOPNOTSUPP;
}

/* Room for all links that arming makes, so that it needs none later. */
static int arm_open(
	struct tracer *tracer, const struct tracer_options *options, const struct hooks *hooks)
{
	tracer->faults_serving = hooks->states[HOOK_FAULTS].serving;
	tracer->fault_period = options->fault_period ? options->fault_period : DEFAULT_FAULT_PERIOD;
	tracer->arm_capacity =
		options->host->cpus > HOOK_PROGRAMS ? options->host->cpus : HOOK_PROGRAMS;
	tracer->arm_links = calloc(tracer->arm_capacity, sizeof(*tracer->arm_links));
	return tracer->arm_links ? 0 : -ENOMEM;
}

int tracer_open(const struct tracer_options *options, struct hooks *hooks, struct tracer **ret)
{
	struct tracer *tracer = calloc(1, sizeof(*tracer));
	struct probe *probe = NULL;
	int error;

	if (!tracer)
		return -ENOMEM;
	libbpf_set_print(log_print);
	hooks_init(hooks);
	rule_out_unwanted(hooks, options);
	error = probe_open(&probe);
	if (!error)
		error = load_and_attach(probe, options, hooks, tracer);
	probe_close(probe);
	if (!error)
		error = ring_open(tracer);
	if (!error)
		error = arm_open(tracer, options, hooks);
	if (error) {
		tracer_close(tracer);
		return error;
	}
	/* The first census also measures where each CPU keeps its counters. */
	tracer_census(tracer, 0, false, NULL, NULL);
	*ret = tracer;
	return 0;
}

void tracer_close(struct tracer *tracer)
{
	if (!tracer)
		return;
	ring_close(tracer);
	while (tracer->arm_count)
		bpf_link__destroy(tracer->arm_links[--tracer->arm_count]);
	free(tracer->arm_links);
	links_destroy(tracer);
	oomsnoop__destroy(tracer->skel);
	free(tracer);
}
