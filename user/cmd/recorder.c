// SPDX-License-Identifier: Apache-2.0
#include "cmd/recorder.h"

#include <errno.h>
#include <string.h>

#include "cmd/clock.h"
#include "cmd/procpass.h"

#define SECOND_NS 1000000000ULL
#define FAST_NS 50000000ULL
#define SLOW_NS (2 * SECOND_NS)
#define SLOWEST_NS (10 * SECOND_NS) /* whatever a pass costs */
#define QUIET_PASSES 10 /* without a move: slower from then on */
#define MOVE_BYTES (1ULL << 20)
/* Full so soon, at the present rate: page faults are counted. Sooner where it is so full already.
 */
#define NEAR_NS (30 * SECOND_NS)
#define NEAR_RATIO 0.8
#define NEAR_FULL_NS (60 * SECOND_NS)
#define TIGHT_NS (10 * SECOND_NS) /* full so soon: passes come faster */
#define ARMED_NS (10 * SECOND_NS) /* longer than anything that made it so */
#define SAMPLES_A_FILL 64 /* between two passes a process is told of at 1/64 of what is left */
#define SAMPLE_MIN_PAGES 64
#define SAMPLE_MAX_PAGES 4096
/* A pass taken later after a kill than this shows another moment. */
#define KILL_PASS_NS 250000000ULL
/* In a storm of kills, one pass serves those that come within this. */
#define KILL_PASS_GAP_NS 20000000ULL

/* Time on a CPU: a machine that is busy with others must not slow the passes down. */
static uint64_t cpu_ns(void)
{
	return clock_now_ns(CLOCK_THREAD_CPUTIME_ID);
}

int recorder_open(struct recorder *recorder, const struct live_options *options,
	const struct host_facts *host, const struct hooks *hooks, struct tracer *tracer,
	struct names *names, const struct table_sizes *sizes)
{
	struct growth_options growth = {
		.processes = sizes->processes,
		.cgroups = sizes->cgroups,
		.ledger_bytes = sizes->ledger_bytes,
		.keep_ns = options->history_ns,
		.page_size = host->page_size,
	};

	memset(recorder, 0, sizeof(*recorder));
	recorder->options = options;
	recorder->tracer = tracer;
	recorder->names = names;
	recorder->page_size = host->page_size;
	if (options->no_recorder)
		return 0;
	recorder->source = hook_served(hooks, HOOK_RECORDER) ? RECORDER_ITERATOR : RECORDER_PROC;
	recorder->can_arm = hook_served(hooks, HOOK_FAULTS) && options->faults != FAULTS_NEVER;
	recorder->interval_ns = options->census_ns;
	recorder->growth = growth_new(&growth);
	return recorder->growth ? 0 : -ENOMEM;
}

void recorder_close(struct recorder *recorder)
{
	growth_free(recorder->growth);
	recorder->growth = NULL;
}

/* --- counting page faults --- */

static void arm(struct recorder *recorder, uint64_t now_ns, bool on)
{
	int error = tracer_arm(recorder->tracer, on);

	if (error) {
		/* Asked once: what was refused now will be refused at the next pass, too. */
		recorder->arm_error = error;
		recorder->can_arm = false;
		return;
	}
	recorder->armed = on;
	recorder->arm_count += on;
	/* Attaching takes its time: what was faulted meanwhile was not counted. */
	growth_armed(recorder->growth, on ? boot_now_ns() : now_ns, on);
}

static bool is_near(const struct growth_pressure *pressure)
{
	return pressure->left_ns <= (pressure->ratio >= NEAR_RATIO ? NEAR_FULL_NS : NEAR_NS);
}

static void arm_as_needed(
	struct recorder *recorder, const struct growth_pressure *pressure, uint64_t now_ns)
{
	bool always = recorder->options->faults == FAULTS_ALWAYS;

	if (!recorder->can_arm)
		return;
	if (always || is_near(pressure))
		recorder->armed_until_ns = now_ns + ARMED_NS;
	if (!recorder->armed && (always || now_ns < recorder->armed_until_ns))
		arm(recorder, now_ns, true);
	else if (recorder->armed && now_ns >= recorder->armed_until_ns)
		arm(recorder, now_ns, false);
}

/* --- the pace of the passes --- */

/* Twenty looks at what is left of the way to the limit. */
static uint64_t interval_wanted(struct recorder *recorder, const struct growth_pressure *pressure)
{
	uint64_t base = recorder->options->census_ns, wanted = base;

	recorder->quiet = pressure->moved_bytes < MOVE_BYTES ? recorder->quiet + 1 : 0;
	if (pressure->left_ns < TIGHT_NS) {
		wanted = pressure->left_ns / 20;
		if (wanted < FAST_NS)
			wanted = FAST_NS;
	} else if (recorder->quiet >= QUIET_PASSES) {
		wanted = 2 * base < SLOW_NS ? 2 * base : SLOW_NS;
	}
	if (wanted > base && recorder->quiet < QUIET_PASSES)
		wanted = base;
	return wanted;
}

static void set_pace(
	struct recorder *recorder, const struct growth_pressure *pressure, uint64_t now_ns)
{
	uint64_t interval = interval_wanted(recorder, pressure);

	if (interval < recorder->last_spent_ns * RECORDER_SHARE)
		interval = recorder->last_spent_ns * RECORDER_SHARE;
	if (interval > SLOWEST_NS && interval > recorder->options->census_ns)
		interval = SLOWEST_NS;
	recorder->interval_ns = interval;
	recorder->next_ns = now_ns + interval;
}

/* Between two passes the hooks tell of a process that moved by a fair part of what is left to the
 * limit: seldom far away from it, often near it. */
static void set_threshold(struct recorder *recorder, const struct growth_pressure *pressure)
{
	uint64_t pages = SAMPLE_MAX_PAGES;

	if (pressure->ratio > 0 && pressure->max_bytes > pressure->usage_bytes)
		pages = (pressure->max_bytes - pressure->usage_bytes) / recorder->page_size /
			SAMPLES_A_FILL;
	if (pages < SAMPLE_MIN_PAGES)
		pages = SAMPLE_MIN_PAGES;
	if (pages > SAMPLE_MAX_PAGES)
		pages = SAMPLE_MAX_PAGES;
	tracer_threshold(recorder->tracer, pages);
}

/* --- a pass --- */

struct pass {
	struct recorder *recorder;
	const struct incident *incident; /* its levels are known from the kill itself; NULL: none */
};

static const struct incident_level *level_of(const struct incident *incident, uint64_t id)
{
	for (unsigned int i = 0; incident && i < incident->level_count; i++)
		if (incident->levels[i].id == id)
			return &incident->levels[i];
	return NULL;
}

/* By now memory of the victim may have come back: the counters of the kill stand. */
static void pass_level(
	struct recorder *recorder, const struct incident_level *level, const struct fact *fact)
{
	static struct fact at_kill; /* too large for a stack */

	at_kill = *fact;
	at_kill.usage.usage_pages = level->usage_pages;
	at_kill.usage.swap_usage_pages = level->swap_usage_pages;
	at_kill.usage.failcnt = level->failcnt;
	memcpy(at_kill.usage.events, level->events, sizeof(at_kill.usage.events));
	growth_fact(recorder->growth, &at_kill);
}

static void pass_fact(const struct fact *fact, void *arg)
{
	const struct pass *pass = arg;

	const struct incident_level *level =
		fact->kind == EV_USAGE ? level_of(pass->incident, fact->usage.id) : NULL;

	if (level)
		pass_level(pass->recorder, level, fact);
	else
		growth_fact(pass->recorder->growth, fact);
}

static void pass_run(struct recorder *recorder, uint64_t stamp_ns, const struct incident *incident)
{
	struct pass pass = {recorder, incident};
	uint64_t from = cpu_ns();
	int count;

	growth_pass_begin(recorder->growth, stamp_ns);
	/* A cgroup without a process is not met on the way up from processes; what it holds when
	 * the recorder begins must not be taken for growth later. */
	if (!recorder->passes && recorder->source == RECORDER_ITERATOR)
		procpass_usages(recorder->names, stamp_ns, pass_fact, &pass);
	if (recorder->source == RECORDER_ITERATOR)
		count = tracer_pass(recorder->tracer, stamp_ns, pass_fact, &pass);
	else
		count = procpass(recorder->names, stamp_ns, pass_fact, &pass);
	/* Who was not told by a pass that broke off has not ended. */
	if (count < 0)
		growth_pass_cut(recorder->growth);
	else
		growth_pass_end(recorder->growth);
	recorder->last_ns = stamp_ns;
	/* The first one fills the tables: it says nothing of those that follow. */
	recorder->last_spent_ns = recorder->passes ? cpu_ns() - from : 0;
	recorder->spent_ns += recorder->last_spent_ns;
	recorder->passes++;
	recorder->passes_failed += count < 0;
}

static void host_pass(struct recorder *recorder, uint64_t now_ns)
{
	struct host_memory host;

	if (read_meminfo("", &host) || host.total_bytes == UNKNOWN_U64 ||
		host.available_bytes == UNKNOWN_U64 || host.available_bytes > host.total_bytes)
		return;
	growth_host(recorder->growth, now_ns, host.total_bytes - host.available_bytes,
		host.total_bytes);
}

bool recorder_tick(struct recorder *recorder, uint64_t now_ns)
{
	struct growth_pressure pressure;

	if (!recorder->growth || now_ns < recorder->next_ns || now_ns <= recorder->last_ns)
		return false;
	host_pass(recorder, now_ns);
	pass_run(recorder, now_ns, NULL);
	growth_pressure(recorder->growth, &pressure);
	arm_as_needed(recorder, &pressure, now_ns);
	set_pace(recorder, &pressure, now_ns);
	set_threshold(recorder, &pressure);
	return true;
}

uint64_t recorder_deadline(const struct recorder *recorder)
{
	return recorder->growth ? recorder->next_ns : UINT64_MAX;
}

void recorder_fact(struct recorder *recorder, const struct fact *fact)
{
	if (recorder->growth)
		growth_fact(recorder->growth, fact);
}

void recorder_incident(struct recorder *recorder, struct incident *incident,
	struct cgroups *cgroups, uint64_t domain_id, uint64_t now_ns)
{
	uint64_t killed_ns = incident->time_ns;

	if (!recorder->growth)
		return;
	/* A pass that was run between the kill and the reading of its records shows the victim
	 * gone: then the one before it is the last that counts. */
	if (killed_ns > recorder->last_ns && now_ns < killed_ns + KILL_PASS_NS &&
		now_ns > recorder->last_ns + KILL_PASS_GAP_NS && killed_ns <= now_ns)
		pass_run(recorder, killed_ns, incident);
	growth_picture(recorder->growth, cgroups, domain_id, killed_ns,
		recorder->options->window_ns, &incident->growth);
}
