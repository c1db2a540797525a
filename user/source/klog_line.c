// SPDX-License-Identifier: Apache-2.0
#include "source/klog_line_parts.h"

#include <string.h>

bool klog_starts(struct scan scan, const char *text)
{
	return scan_text(&scan, text);
}

bool klog_ends(struct scan scan, const char *text)
{
	size_t len = strlen(text);

	return scan_left(&scan) >= len && !memcmp(scan.end - len, text, len);
}

const char *klog_find(struct scan scan, const char *text)
{
	return memmem(scan.at, scan_left(&scan), text, strlen(text));
}

/* The last one: what stands before it may imitate it, what stands behind it cannot. */
const char *klog_find_last(struct scan scan, const char *text)
{
	const char *found = NULL, *next;

	while ((next = klog_find(scan, text))) {
		found = next;
		scan.at = next + 1;
	}
	return found;
}

bool klog_take_pid(struct scan *scan, uint32_t *ret)
{
	struct scan rest = *scan;
	uint64_t pid;

	if (!scan_u64(&rest, &pid) || !pid || pid > INT32_MAX)
		return false;
	*ret = (uint32_t)pid;
	*scan = rest;
	return true;
}

bool klog_take_adj(struct scan *scan, int32_t *ret)
{
	struct scan rest = *scan;
	int64_t adj;

	if (!scan_i64(&rest, &adj) || adj < -1000 || adj > 1000)
		return false;
	*ret = (int32_t)adj;
	*scan = rest;
	return true;
}

static bool is_hex(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

/* A name that the kernel may print. One that is longer as it stands may have \xNN in it. */
bool klog_is_comm(struct scan comm)
{
	size_t len = scan_left(&comm);

	for (const char *at = comm.at; len > KLOG_COMM_MAX && at + 4 <= comm.end; at++)
		if (at[0] == '\\' && at[1] == 'x' && is_hex(at[2]) && is_hex(at[3])) {
			len -= 3;
			at += 3;
		}
	return len <= KLOG_COMM_MAX;
}

/* --- who asked --- */

static bool take_hex(struct scan *scan, uint64_t *ret)
{
	uint64_t value = 0;
	const char *begin;

	scan_text(scan, "0x");
	for (begin = scan->at; !scan_done(scan) && is_hex(*scan->at); scan->at++)
		value = value << 4 |
			(uint64_t)(*scan->at <= '9' ? *scan->at - '0' : *scan->at - 'a' + 10);
	*ret = value;
	return scan->at > begin && scan->at - begin <= 16;
}

/* ", nodemask=0,2, order=1, oom_score_adj=0" in whatever order and with whatever is there. */
static void parse_request(struct scan rest, struct klog_line *ret)
{
	struct scan part = rest;
	int64_t order;
	const char *found = klog_find(rest, "order=");

	if (found) {
		part.at = found + strlen("order=");
		if (scan_i64(&part, &order) && order >= -1 && order < 64) {
			ret->invoked.has_order = true;
			ret->invoked.order = (int32_t)order;
		}
	}
	part.at = klog_find(rest, "nodemask=");
	if (part.at && found > part.at) {
		part.at += strlen("nodemask=");
		part.end = found;
		while (part.end > part.at && (part.end[-1] == ' ' || part.end[-1] == ','))
			part.end--;
		ret->invoked.nodemask = part;
	}
	found = klog_find(rest, "oom_score_adj=");
	if (found) {
		part = (struct scan) {found + strlen("oom_score_adj="), rest.end};
		ret->invoked.has_adj = klog_take_adj(&part, &ret->invoked.oom_score_adj);
		ret->whole = ret->invoked.has_order && ret->invoked.has_adj && scan_done(&part);
	} else {
		/* "oom_adj=0", "oomkilladj=0" */
		found = klog_find(rest, "adj=");
		part = (struct scan) {found ? found + strlen("adj=") : rest.end, rest.end};
		ret->whole = ret->invoked.has_order && scan_i64(&part, &order) && scan_done(&part);
	}
}

static bool parse_invoked(struct scan body, struct klog_line *ret)
{
	static const char mark[] = " invoked oom-killer:";
	const char *found = klog_find_last(body, mark);
	struct scan rest;

	if (!found)
		return false;
	ret->invoked.comm = (struct scan) {body.at, found};
	if (!klog_is_comm(ret->invoked.comm))
		return false;
	rest = (struct scan) {found + sizeof(mark) - 1, body.end};
	scan_blanks(&rest);
	ret->kind = KLOG_INVOKED;
	if (scan_text(&rest, "gfp_mask="))
		ret->invoked.has_gfp = take_hex(&rest, &ret->invoked.gfp_mask);
	if (scan_text(&rest, "(") && memchr(rest.at, ')', scan_left(&rest)))
		scan_field(&rest, ')', &ret->invoked.gfp_flags);
	parse_request(rest, ret);
	return true;
}

static bool parse_sysrq(struct scan body, struct klog_line *ret)
{
	if ((!klog_starts(body, "sysrq") && !klog_starts(body, "SysRq")) ||
		!klog_ends(body, "Manual OOM execution"))
		return false;
	ret->kind = KLOG_SYSRQ;
	ret->whole = true;
	return true;
}

/* The release stands before the last " #". */
static struct scan find_release(struct scan text)
{
	struct scan ret = {text.at, klog_find_last(text, " #")};

	if (!ret.end)
		return (struct scan) {0};
	for (const char *at = ret.end; at > text.at && at[-1] != ' '; at--)
		ret.at = at - 1;
	return ret;
}

static bool parse_cpu(struct scan body, struct klog_line *ret)
{
	uint64_t cpu;

	ret->cpu.uid = UNKNOWN_U64;
	if (scan_text(&body, "Pid: ")) {
		if (!klog_take_pid(&body, &ret->cpu.pid) || !scan_text(&body, ", comm: "))
			return false;
	} else {
		if (!scan_text(&body, "CPU: ") || !scan_u64(&body, &cpu))
			return false;
		if (scan_text(&body, " UID: ") && !scan_u64(&body, &ret->cpu.uid))
			return false;
		if (!scan_text(&body, " PID: ") || !klog_take_pid(&body, &ret->cpu.pid) ||
			!scan_text(&body, " Comm: "))
			return false;
	}
	ret->kind = KLOG_CPU;
	ret->cpu.comm = body;
	ret->cpu.release = find_release(body);
	ret->whole = scan_left(&ret->cpu.release) > 0;
	return true;
}

static bool parse_cpuset(struct scan body, struct klog_line *ret)
{
	static const char mems[] = " mems_allowed=", cpuset[] = " cpuset=";
	const char *behind = klog_find_last(body, mems), *found;

	if (!behind)
		return false;
	found = klog_find((struct scan) {body.at, behind}, cpuset);
	if (!found)
		return false;
	ret->cpuset.comm = (struct scan) {body.at, found};
	ret->cpuset.cpuset = (struct scan) {found + sizeof(cpuset) - 1, behind};
	ret->cpuset.mems = (struct scan) {behind + sizeof(mems) - 1, body.end};
	ret->kind = KLOG_CPUSET;
	ret->whole = klog_node_mask(ret->cpuset.mems) != UNKNOWN_U64;
	return klog_is_comm(ret->cpuset.comm);
}

/* " [<ffffffff8125f303>] dump_stack+0x282/0xd1f", " ? out_of_memory+0x9/0x4b0" */
static bool parse_stack(struct scan body, struct klog_line *ret)
{
	const char *plus;

	if (scan_text(&body, "[<")) {
		struct scan address;

		if (!scan_field(&body, ']', &address))
			return false;
		scan_blanks(&body);
	}
	scan_text(&body, "? ");
	plus = klog_find(body, "+0x");
	if (!plus || plus == body.at || memchr(body.at, ' ', (size_t)(plus - body.at)))
		return false;
	ret->kind = KLOG_STACK;
	ret->function = (struct scan) {body.at, plus};
	ret->whole = true;
	return true;
}

/* --- whose limit --- */

/* Is `path` this cgroup or below it? */
static bool is_below(struct scan path, struct scan above)
{
	size_t len = scan_left(&above);

	if (len == 1 && *above.at == '/')
		return true;
	return scan_left(&path) >= len && !memcmp(path.at, above.at, len) &&
	       (scan_left(&path) == len || path.at[len] == '/');
}

/* Both paths may hold the words between them: the right place is where one is below the other. */
bool klog_split_paths(struct scan text, const char *mark, struct scan *ret_first,
	struct scan *ret_second, bool second_above)
{
	struct scan rest = text;
	const char *found;
	bool any = false;

	while ((found = klog_find(rest, mark))) {
		struct scan first = {text.at, found}, second = {found + strlen(mark), text.end};

		if (!any || (second_above ? is_below(first, second) : is_below(second, first))) {
			*ret_first = first;
			*ret_second = second;
		}
		any = true;
		rest.at = found + 1;
	}
	return any;
}

static bool parse_task_in(struct scan body, struct klog_line *ret)
{
	ret->kind = KLOG_TASK_IN;
	ret->whole = true;
	ret->task_in.task = (struct scan) {0};
	if (scan_text(&body, "Memory limit reached of cgroup ")) {
		ret->task_in.limit = body;
		return true;
	}
	return scan_text(&body, "Task in ") &&
	       klog_split_paths(body, " killed as a result of limit of ", &ret->task_in.task,
		       &ret->task_in.limit, true);
}

static bool parse_usage(struct scan body, struct klog_line *ret)
{
	static const char *const names[] = {"memory: ", "memory+swap: ", "kmem: ", "swap: "};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct scan rest = body;

		if (!scan_text(&rest, names[i]) || !scan_text(&rest, "usage ") ||
			!scan_u64(&rest, &ret->usage.usage_kb) || !scan_text(&rest, "kB"))
			continue;
		ret->kind = KLOG_USAGE;
		ret->usage.which = (enum klog_usage)i;
		ret->usage.limit_kb = ret->usage.failcnt = UNKNOWN_U64;
		if (scan_text(&rest, ", limit ") && scan_u64(&rest, &ret->usage.limit_kb) &&
			!scan_text(&rest, "kB"))
			ret->usage.limit_kb = UNKNOWN_U64;
		ret->whole = ret->usage.limit_kb != UNKNOWN_U64 && scan_text(&rest, ", failcnt ") &&
			     scan_u64(&rest, &ret->usage.failcnt) && scan_done(&rest);
		return true;
	}
	return false;
}

static bool parse_stats(struct scan body, struct klog_line *ret)
{
	const char *list;

	if (!scan_text(&body, "Memory cgroup stats for "))
		return false;
	ret->kind = KLOG_STATS;
	list = klog_find_last(body, ": cache:");
	if (list) {
		ret->stats.path = (struct scan) {body.at, list};
		ret->stats.list = (struct scan) {list + 2, body.end};
		ret->whole = true;
		return true;
	}
	ret->whole = scan_left(&body) && body.end[-1] == ':';
	if (ret->whole)
		body.end--;
	ret->stats.path = body;
	ret->stats.list = (struct scan) {0};
	return true;
}

/* "anon 41807872" */
static bool parse_stat(struct scan body, struct klog_line *ret)
{
	const char *at = body.at;

	while (at < body.end && ((*at >= 'a' && *at <= 'z') || *at == '_' ||
					(at > body.at && *at >= '0' && *at <= '9')))
		at++;
	if (at == body.at || at == body.end || *at != ' ')
		return false;
	ret->stat.name = (struct scan) {body.at, at};
	body.at = at + 1;
	ret->kind = KLOG_STAT;
	ret->whole = true;
	return scan_u64(&body, &ret->stat.value) && scan_done(&body);
}

/* --- the table --- */

static bool parse_table(struct scan body, struct klog_line *ret)
{
	static const struct {
		const char *name;
		enum klog_column column;
	} names[] = {{"uid", KLOG_COLUMN_UID}, {"tgid", KLOG_COLUMN_TGID},
		{"total_vm", KLOG_COLUMN_TOTAL_VM}, {"rss", KLOG_COLUMN_RSS},
		{"rss_anon", KLOG_COLUMN_ANON}, {"rss_file", KLOG_COLUMN_FILE},
		{"rss_shmem", KLOG_COLUMN_SHMEM}, {"nr_ptes", KLOG_COLUMN_PTES},
		{"nr_pmds", KLOG_COLUMN_PTES}, {"nr_puds", KLOG_COLUMN_PTES},
		{"pgtables_bytes", KLOG_COLUMN_PGTABLES}, {"swapents", KLOG_COLUMN_SWAP},
		{"oom_adj", KLOG_COLUMN_OOM_ADJ}, {"oom_score_adj", KLOG_COLUMN_ADJ}};
	struct klog_layout *layout = &ret->table;
	bool all_known = true;
	struct scan name;

	if (!scan_text(&body, "["))
		return false;
	scan_blanks(&body);
	if (!scan_text(&body, "pid"))
		return false;
	scan_blanks(&body);
	if (!scan_text(&body, "]"))
		return false;
	memset(layout, 0, sizeof(*layout));
	for (scan_blanks(&body); scan_field(&body, ' ', &name); scan_blanks(&body)) {
		enum klog_column column = KLOG_COLUMN_OTHER;
		bool known = scan_equals(&name, "cpu");

		if (scan_equals(&name, "name"))
			break;
		for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
			if (scan_equals(&name, names[i].name)) {
				column = names[i].column;
				known = true;
			}
		all_known &= known;
		if (layout->count == KLOG_COLUMNS)
			return false;
		layout->has[column] = true;
		layout->columns[layout->count++] = (uint8_t)column;
	}
	ret->kind = KLOG_TABLE;
	/* A name that is not known may be two that lost the blank between them. */
	ret->whole = all_known && layout->has[KLOG_COLUMN_RSS] && scan_equals(&name, "name");
	return layout->count > 0;
}

static void set_row(struct klog_row *row, enum klog_column column, int64_t value)
{
	uint64_t size = value < 0 ? 0 : (uint64_t)value;

	switch (column) {
	case KLOG_COLUMN_UID:
		row->uid = (uint32_t)value;
		break;
	case KLOG_COLUMN_TGID:
		row->tgid = (uint32_t)value;
		break;
	case KLOG_COLUMN_TOTAL_VM:
		row->total_vm_pages = size;
		break;
	case KLOG_COLUMN_RSS:
		row->rss_pages = size;
		break;
	case KLOG_COLUMN_ANON:
		row->anon_pages = size;
		break;
	case KLOG_COLUMN_FILE:
		row->file_pages = size;
		break;
	case KLOG_COLUMN_SHMEM:
		row->shmem_pages = size;
		break;
	case KLOG_COLUMN_PTES:
		row->ptes_pages = row->ptes_pages == UNKNOWN_U64 ? size : row->ptes_pages + size;
		break;
	case KLOG_COLUMN_PGTABLES:
		row->pgtables_bytes = size;
		break;
	case KLOG_COLUMN_SWAP:
		row->swap_pages = size;
		break;
	case KLOG_COLUMN_OOM_ADJ:
		/* Of 2.6.32: only its ends have the same meaning in oom_score_adj. */
		if (!row->adj_known && (value == -17 || value == 0)) {
			row->adj_known = true;
			row->oom_score_adj = value ? -1000 : 0;
		}
		break;
	case KLOG_COLUMN_ADJ:
		row->adj_known = value >= -1000 && value <= 1000;
		row->oom_score_adj = (int32_t)value;
		break;
	default:
		break;
	}
}

static bool parse_row(struct scan body, const struct klog_layout *layout, struct klog_line *ret)
{
	struct klog_row *row = &ret->row;
	int64_t value;

	if (!layout || !layout->count || !scan_text(&body, "["))
		return false;
	*row = (struct klog_row) {.total_vm_pages = UNKNOWN_U64,
		.rss_pages = UNKNOWN_U64,
		.anon_pages = UNKNOWN_U64,
		.file_pages = UNKNOWN_U64,
		.shmem_pages = UNKNOWN_U64,
		.ptes_pages = UNKNOWN_U64,
		.pgtables_bytes = UNKNOWN_U64,
		.swap_pages = UNKNOWN_U64};
	scan_blanks(&body);
	if (!klog_take_pid(&body, &row->pid) || !scan_text(&body, "]"))
		return false;
	row->tgid = row->pid;
	for (unsigned int i = 0; i < layout->count; i++) {
		scan_blanks(&body);
		if (!scan_i64(&body, &value))
			return false;
		set_row(row, (enum klog_column)layout->columns[i], value);
	}
	/* One blank, then the name, whatever is in it. */
	if (!scan_done(&body) && !scan_text(&body, " "))
		return false;
	row->comm = body;
	ret->kind = KLOG_ROW;
	ret->whole = scan_left(&body) > 0;
	return klog_is_comm(body);
}

/* --- the rest --- */

static bool parse_group(struct scan body, struct klog_line *ret)
{
	static const char tail[] = " are going to be killed due to memory.oom.group set";

	if (!scan_text(&body, "Tasks in ") || !klog_ends(body, tail))
		return false;
	body.end -= sizeof(tail) - 1;
	ret->kind = KLOG_GROUP;
	ret->whole = true;
	ret->path = body;
	return true;
}

static bool parse_end(struct scan body, struct klog_line *ret)
{
	bool panic = scan_text(&body, "Kernel panic - not syncing: ");
	bool nobody = klog_starts(body, "Out of memory and no killable processes");

	ret->whole = true;
	ret->kind = nobody ? KLOG_NO_KILLABLE : KLOG_PANIC;
	if (nobody)
		return true;
	return panic && (klog_starts(body, "Out of memory") || klog_starts(body, "out of memory") ||
				klog_starts(body, "System is deadlocked on memory"));
}

static bool parse_reaped(struct scan body, struct klog_line *ret)
{
	ret->kind = KLOG_REAPED;
	ret->whole = true;
	return scan_text(&body, "oom_reaper: reaped process ") &&
	       klog_take_pid(&body, &ret->reaped.pid);
}

static bool parse_suppressed(struct scan body, struct klog_line *ret)
{
	ret->kind = KLOG_SUPPRESSED;
	ret->whole = true;
	return (klog_starts(body, "oom_kill_process: ") || klog_starts(body, "dump_header: ") ||
		       klog_starts(body, "out_of_memory: ")) &&
	       klog_ends(body, " callbacks suppressed");
}

static bool parse_alloc_failure(struct scan body, struct klog_line *ret)
{
	ret->kind = KLOG_ALLOC_FAILURE;
	ret->whole = true;
	return klog_find(body, ": page allocation failure: order:") ||
	       klog_find(body, ": page allocation failure. order:");
}

static bool parse_boot(struct scan body, struct klog_line *ret)
{
	const char *end;

	if (!scan_text(&body, "Linux version "))
		return false;
	end = memchr(body.at, ' ', scan_left(&body));
	ret->kind = KLOG_BOOT;
	ret->whole = true;
	ret->release = (struct scan) {body.at, end ? end : body.end};
	return true;
}

/* What one leaves behind that gave up is none of the next one's. */
static bool attempt(bool (*parse)(struct scan body, struct klog_line *ret), struct scan body,
	struct klog_line *ret)
{
	memset(ret, 0, sizeof(*ret));
	return parse(body, ret);
}

/* What begins with words of its own. */
static bool parse_known(struct scan body, struct klog_line *ret)
{
	switch (*body.at) {
	case 'M':
		return attempt(klog_parse_kill, body, ret) ||
		       attempt(klog_parse_choice, body, ret) || attempt(parse_task_in, body, ret) ||
		       attempt(parse_stats, body, ret);
	case 'O':
		return attempt(klog_parse_kill, body, ret) ||
		       attempt(klog_parse_choice, body, ret) || attempt(parse_end, body, ret);
	case 'K':
		return attempt(klog_parse_kill, body, ret) ||
		       attempt(klog_parse_choice, body, ret) || attempt(parse_end, body, ret);
	case 'k':
		return attempt(klog_parse_choice, body, ret) || attempt(parse_usage, body, ret);
	case 'T':
		return attempt(parse_task_in, body, ret) || attempt(parse_group, body, ret);
	case 'C':
	case 'P':
		return attempt(parse_cpu, body, ret);
	case 'L':
		return attempt(parse_boot, body, ret);
	case 'o':
		return attempt(klog_parse_summary, body, ret) || attempt(parse_reaped, body, ret) ||
		       attempt(parse_suppressed, body, ret);
	case 'd':
		return attempt(parse_suppressed, body, ret);
	case 's':
	case 'S':
		return attempt(parse_sysrq, body, ret) || attempt(parse_usage, body, ret);
	case 'm':
		return attempt(parse_usage, body, ret);
	default:
		return false;
	}
}

void klog_line_parse(struct scan body, const struct klog_layout *layout, struct klog_line *ret)
{
	struct scan inner = body;

	memset(ret, 0, sizeof(*ret));
	scan_blanks(&inner);
	if (scan_done(&inner))
		return;
	/* Rows may have names that look like anything else; nothing else looks like a row. */
	if (*inner.at == '[' &&
		(attempt(parse_table, inner, ret) || parse_row(inner, layout, ret) ||
			attempt(parse_stack, inner, ret)))
		return;
	/* A name comes first here, blanks and all. */
	if (attempt(parse_invoked, body, ret) || attempt(parse_cpuset, body, ret))
		return;
	if (parse_known(inner, ret) || attempt(klog_memory_parse, inner, ret) ||
		attempt(parse_stat, inner, ret) || attempt(parse_stack, inner, ret) ||
		attempt(klog_parse_exiting, inner, ret) || attempt(parse_alloc_failure, inner, ret))
		return;
	memset(ret, 0, sizeof(*ret));
}

uint64_t klog_node_mask(struct scan list)
{
	uint64_t mask = 0, first, last;

	while (!scan_done(&list)) {
		if (!scan_u64(&list, &first))
			return UNKNOWN_U64;
		last = first;
		if (scan_text(&list, "-") && !scan_u64(&list, &last))
			return UNKNOWN_U64;
		for (; first <= last && first < 64; first++)
			mask |= 1ULL << first;
		if (!scan_text(&list, ","))
			break;
	}
	return scan_done(&list) && mask ? mask : UNKNOWN_U64;
}
