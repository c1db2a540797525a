// SPDX-License-Identifier: Apache-2.0
#include "source/decode.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

/* Pages of an address space can be no more than this; sums and products of what is below it fit. */
#define PAGES_MAX (1LL << 52)
#define ADJ_MAX 1000
#define SIGNAL_MAX 64
#define ORDER_MIN (-1) /* sysrq */
#define ORDER_MAX 64

/* One record, aligned, at its full known size. */
union record {
	struct ev_hdr hdr;
	struct ev_context context;
	struct ev_task task;
	struct ev_level level;
	struct ev_end end;
	struct ev_exit exit;
	struct ev_mm_freed mm_freed;
	struct ev_reap reap;
	struct ev_fork fork;
	struct ev_exec exec;
	struct ev_cgroup cgroup;
	struct ev_sample sample;
	struct ev_usage usage;
	struct ev_signal signal;
	struct ev_kill_count kill_count;
	struct ev_refusal refusal;
};

static bool adj_valid(__s32 adj)
{
	return adj >= -ADJ_MAX && adj <= ADJ_MAX;
}

static bool context_valid(const union record *record)
{
	const struct ev_context *context = &record->context;

	return context->constraint <= EV_CONSTRAINT_MEMCG && adj_valid(context->oom_score_adj) &&
	       context->order >= ORDER_MIN && context->order <= ORDER_MAX;
}

static bool counters_valid(const __s64 pages[EV_RSS_COUNTERS])
{
	/* Below zero is real: counters kept per CPU are summed while they move. */
	for (int i = 0; i < EV_RSS_COUNTERS; i++) {
		if (pages[i] < -PAGES_MAX || pages[i] > PAGES_MAX)
			return false;
	}
	return true;
}

static bool task_valid(const union record *record)
{
	const struct ev_task *task = &record->task;

	return task->role >= EV_ROLE_CANDIDATE && task->role <= EV_ROLE_CENSUS &&
	       adj_valid(task->oom_score_adj) && counters_valid(task->rss_pages) &&
	       counters_valid(task->rss_exact);
}

static bool level_valid(const union record *record)
{
	const struct ev_level *level = &record->level;

	return level->role >= EV_LEVEL_VICTIM && level->role <= EV_LEVEL_LIMIT &&
	       level->index < EV_MAX_LEVELS;
}

static bool end_valid(const union record *record)
{
	const struct ev_end *end = &record->end;

	return end->choice <= EV_END_FREEING && end->returned <= 1 && end->killed <= 1;
}

static bool exit_valid(const union record *record)
{
	return record->exit.oom_victim <= 1;
}

static bool reap_valid(const union record *record)
{
	return record->reap.stage >= EV_REAP_WAKE && record->reap.stage <= EV_REAP_SKIP;
}

static bool exec_valid(const union record *record)
{
	return record->exec.cmdline_len <= EV_CMDLINE_LEN;
}

static bool cgroup_valid(const union record *record)
{
	return record->cgroup.removed <= 1;
}

static bool sample_valid(const union record *record)
{
	const struct ev_sample *sample = &record->sample;

	return sample->why >= EV_SAMPLE_CENSUS && sample->why <= EV_SAMPLE_CHARGES &&
	       adj_valid(sample->oom_score_adj) && counters_valid(sample->rss_pages);
}

static bool signal_valid(const union record *record)
{
	const struct ev_signal *signal = &record->signal;

	return signal->signal >= 1 && signal->signal <= SIGNAL_MAX && signal->burst &&
	       signal->result <= EV_SIGNAL_LOST_INFO && adj_valid(signal->oom_score_adj) &&
	       signal->cmdline_len <= EV_CMDLINE_LEN && counters_valid(signal->rss_pages);
}

static bool refusal_valid(const union record *record)
{
	const struct ev_refusal *refusal = &record->refusal;

	return refusal->call >= EV_CALL_MMAP && refusal->call <= EV_CALL_LAST && refusal->count &&
	       refusal->pids_level < EV_MAX_LEVELS && counters_valid(refusal->rss_pages) &&
	       refusal->total_vm_pages <= (__u64)PAGES_MAX &&
	       refusal->data_vm_pages <= (__u64)PAGES_MAX;
}

#define TEXT(type, field) offsetof(struct type, field), sizeof(((struct type *)0)->field)

/* Indexed by enum ev_kind. No checker: every value of every field has a meaning. */
static const struct kind {
	size_t size;
	bool (*valid)(const union record *record);
	size_t text_offset, text_size; /* size 0: no long string */
} kinds[] = {
	[EV_CONTEXT] = {sizeof(struct ev_context), context_valid, TEXT(ev_context, message)},
	[EV_TASK] = {sizeof(struct ev_task), task_valid, 0, 0},
	[EV_LEVEL] = {sizeof(struct ev_level), level_valid, TEXT(ev_level, name)},
	[EV_END] = {sizeof(struct ev_end), end_valid, 0, 0},
	[EV_EXIT] = {sizeof(struct ev_exit), exit_valid, 0, 0},
	[EV_MM_FREED] = {sizeof(struct ev_mm_freed), NULL, 0, 0},
	[EV_REAP] = {sizeof(struct ev_reap), reap_valid, 0, 0},
	[EV_FORK] = {sizeof(struct ev_fork), NULL, 0, 0},
	[EV_EXEC] = {sizeof(struct ev_exec), exec_valid, TEXT(ev_exec, cmdline)},
	[EV_CGROUP] = {sizeof(struct ev_cgroup), cgroup_valid, TEXT(ev_cgroup, path)},
	[EV_SAMPLE] = {sizeof(struct ev_sample), sample_valid, 0, 0},
	[EV_SIGNAL] = {sizeof(struct ev_signal), signal_valid, TEXT(ev_signal, cmdline)},
	[EV_USAGE] = {sizeof(struct ev_usage), NULL, 0, 0},
	[EV_KILL_COUNT] = {sizeof(struct ev_kill_count), NULL, 0, 0},
	[EV_REFUSAL] = {sizeof(struct ev_refusal), refusal_valid, TEXT(ev_refusal, pids_name)},
};

static const struct kind *kind_of(unsigned int number)
{
	if (number >= sizeof(kinds) / sizeof(*kinds) || kinds[number].size == 0)
		return NULL;
	return &kinds[number];
}

static size_t text_length(const union record *record, const struct kind *kind, const char *text)
{
	/* Arguments are separated by NULs: their length is told, and was checked. */
	if (record->hdr.kind == EV_EXEC)
		return record->exec.cmdline_len;
	if (record->hdr.kind == EV_SIGNAL)
		return record->signal.cmdline_len;
	return strnlen(text, kind->text_size);
}

static void fill_fact(const union record *record, const struct kind *kind, struct fact *ret)
{
	const char *text = (const char *)record + kind->text_offset;

	ret->kind = record->hdr.kind;
	memcpy(&ret->hdr, record, kind->size);
	ret->text_len = kind->text_size ? text_length(record, kind, text) : 0;
	memcpy(ret->text, text, ret->text_len);
	ret->text[ret->text_len] = '\0';
}

int decode_event(const void *data, size_t size, struct fact *ret)
{
	const struct kind *kind;
	union record record;

	if (size < sizeof(record.hdr))
		return -EBADMSG;
	memcpy(&record.hdr, data, sizeof(record.hdr));
	if (record.hdr.version != EV_VERSION)
		return -EPROTO;
	if (record.hdr.len != size)
		return -EBADMSG;
	kind = kind_of(record.hdr.kind);
	if (!kind)
		return -ENOMSG;
	if (size < kind->size)
		return -EBADMSG;
	/* What a newer writer has put behind the fields that are known here is left alone. */
	memcpy(&record, data, kind->size);
	if (kind->valid && !kind->valid(&record))
		return -EBADMSG;
	fill_fact(&record, kind, ret);
	return 0;
}

void fact_comm(const char comm[EV_COMM_LEN], char ret[EV_COMM_LEN + 1])
{
	size_t len = strnlen(comm, EV_COMM_LEN);

	memcpy(ret, comm, len);
	memset(ret + len, 0, EV_COMM_LEN + 1 - len);
}
