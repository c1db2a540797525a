// SPDX-License-Identifier: Apache-2.0
#include "judge/kills.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/units.h"
#include "judge/kill_parts.h"
#include "judge/verdict_table.h"
#include "judge/whose.h"

#define SIGNAL_BUS 7
#define SIGNAL_KILL 9
#define SIGNAL_SEGV 11
#define TMPFS_MAGIC 0x01021994 /* include/uapi/linux/magic.h */
#define HUGETLBFS_MAGIC 0x958458f6
#define BUS_ADRERR 2
#define PATH_SHOWN 120
#define CMDLINE_SHOWN 160
/* A limit or a machine is short of memory from here on. */
#define SHORT_PERCENT 90
/* An OOM kill so shortly before is what a manager reacts to. */
#define REACTION_NS 10000000000ULL

/* --- names --- */

const char *manner_name(enum killing_manner manner)
{
	static const char *const names[] = {
		[MANNER_EACH] = "each",
		[MANNER_GROUP] = "process-group",
		[MANNER_ALL] = "all",
		[MANNER_CGROUP] = "cgroup.kill",
		[MANNER_NAMESPACE] = "pid-namespace-end",
		[MANNER_PARENT] = "parent-death",
		[MANNER_KERNEL] = "kernel",
		[MANNER_FAULT] = "fault",
		[MANNER_TIMER] = "timer",
	};

	return manner >= MANNER_EACH && manner <= MANNER_LAST ? names[manner] : "unknown";
}

const char *signal_name(uint32_t signal)
{
	switch (signal) {
	case SIGNAL_BUS:
		return "SIGBUS";
	case SIGNAL_KILL:
		return "SIGKILL";
	case SIGNAL_SEGV:
		return "SIGSEGV";
	default:
		return NULL;
	}
}

/* include/uapi/asm-generic/siginfo.h */
const char *signal_code_name(uint32_t signal, int32_t code)
{
	static const char *const bus[] = {
		NULL, "BUS_ADRALN", "BUS_ADRERR", "BUS_OBJERR", "BUS_MCEERR_AR", "BUS_MCEERR_AO"};
	static const char *const segv[] = {
		NULL, "SEGV_MAPERR", "SEGV_ACCERR", "SEGV_BNDERR", "SEGV_PKUERR"};

	switch (code) {
	case 0x80:
		return "SI_KERNEL";
	case 0:
		return "SI_USER";
	case -1:
		return "SI_QUEUE";
	case -2:
		return "SI_TIMER";
	case -6:
		return "SI_TKILL";
	default:
		break;
	}
	if (signal == SIGNAL_BUS && code > 0 && code <= 5)
		return bus[code];
	if (signal == SIGNAL_SEGV && code > 0 && code <= 4)
		return segv[code];
	return NULL;
}

const char *mapping_fs_name(uint64_t magic)
{
	switch (magic) {
	case TMPFS_MAGIC:
		return "tmpfs";
	case HUGETLBFS_MAGIC:
		return "hugetlbfs";
	default:
		return NULL;
	}
}

static bool is_self(const struct killing *killing)
{
	return killing->target_count && killing->targets[0].tgid == killing->sender_tgid;
}

bool killing_is_foreign(const struct killing *killing)
{
	const struct killer_facts facts = {.tgid = killing->sender_tgid,
		.comm = killing->sender_comm,
		.exe = killing->sender_exe,
		.file = killing->sender_file,
		.cmdline = killing->sender_cmdline,
		.cgroup = killing->sender_cgroup};
	struct killer killer = killer_of(&facts);

	if (killing->manner == MANNER_FAULT)
		return killing->signal == SIGNAL_BUS;
	/* What ends with its own family is no news: a namespace, or a parent that was waited with.
	 */
	if (killing->manner == MANNER_NAMESPACE || killing->manner == MANNER_PARENT)
		return false;
	return killing->descendants < killing->received || killer_has_office(&killer);
}

/* --- what sentences are made of --- */

static const char *duration_text(uint64_t ns)
{
	static char texts[4][32];
	static unsigned int turn;
	char *text = texts[turn++ % 4];
	struct buf buf;

	buf_init(&buf, text, sizeof(texts[0]));
	units_duration_ns(&buf, ns);
	return text;
}

/* Of a long path the end, which tells more than its front. */
static const char *shown(const char *path)
{
	static char texts[4][PATH_SHOWN + 1];
	static unsigned int turn;
	size_t len = strlen(path);
	char *text;

	if (!len)
		return "a cgroup whose path is not known";
	if (len <= PATH_SHOWN)
		return path;
	text = texts[turn++ % 4];
	path += len - (PATH_SHOWN - 3);
	while ((*path & 0xc0) == 0x80)
		path++;
	snprintf(text, sizeof(texts[0]), "...%s", path);
	return text;
}

static void name_both(struct kill_scene *scene)
{
	const struct killing *killing = scene->killing;
	const struct killer *killer = scene->killer;
	const char *name = killer->name ? killer->name : killing->sender_comm;

	snprintf(scene->sender, sizeof(scene->sender), "%s (pid %u)%s", name, killing->sender_tgid,
		killer->user_manager ? ", a user's manager," : "");
	if (killing->total > 1)
		snprintf(scene->target, sizeof(scene->target),
			"%u processes, first of them %s (pid %u)", killing->total,
			killing->targets[0].comm, killing->targets[0].tgid);
	else
		snprintf(scene->target, sizeof(scene->target), "%s (pid %u)",
			killing->targets[0].comm, killing->targets[0].tgid);
}

/* "sent SIGKILL to 12 processes, first of them x (pid 3)", and in which manner. */
static void act_text(const struct kill_scene *scene, char *ret, size_t size)
{
	const struct killing *killing = scene->killing;

	switch (killing->manner) {
	case MANNER_CGROUP:
		snprintf(ret, size, "killed the whole cgroup %s by cgroup.kill: %s",
			shown(killing->target_cgroup), scene->target);
		return;
	case MANNER_GROUP:
		snprintf(ret, size, "sent SIGKILL to the process group %u: %s",
			killing->argument ? 0U - (uint32_t)killing->argument
					  : killing->targets[0].pgid,
			scene->target);
		return;
	case MANNER_ALL:
		snprintf(ret, size, "sent SIGKILL to every process that it may kill: %s",
			scene->target);
		return;
	default:
		snprintf(ret, size, "sent SIGKILL to %s", scene->target);
	}
}

static const char *denial(const struct killing *killing)
{
	return killing->result == EV_SIGNAL_IGNORED ? "Nobody was killed" : "Not the OOM killer";
}

/* --- evidence --- */

static void tell_sender(struct verdict *verdict, const struct killing *killing)
{
	char cmdline[CMDLINE_SHOWN + 4];

	snprintf(cmdline, sizeof(cmdline), "%.*s%s", CMDLINE_SHOWN, killing->sender_cmdline,
		strlen(killing->sender_cmdline) > CMDLINE_SHOWN ? "..." : "");
	verdict_evidence(verdict, "sender %s, pid %u, uid %u, child of %s (pid %u)%s%s",
		killing->sender_comm, killing->sender_tgid, killing->sender_uid,
		killing->sender_parent, killing->sender_ppid, cmdline[0] ? ": " : "", cmdline);
	if (killing->sender_cgroup[0])
		verdict_evidence(verdict, "it runs in %s, the target in %s",
			shown(killing->sender_cgroup), shown(killing->target_cgroup));
}

static void tell_term(struct verdict *verdict, const struct killing *killing)
{
	if (!killing->term_ns)
		return;
	if (killing->term_tgid == killing->sender_tgid)
		verdict_evidence(verdict, "it had asked with SIGTERM %s before",
			duration_text(killing->time_ns - killing->term_ns));
	else
		verdict_evidence(verdict, "%s%spid %u had asked with SIGTERM %s before",
			killing->term_comm, killing->term_comm[0] ? ", " : "", killing->term_tgid,
			duration_text(killing->time_ns - killing->term_ns));
}

static uint64_t percent(uint64_t part, uint64_t whole)
{
	unsigned __int128 hundredfold = (unsigned __int128)part * 100;

	return whole ? (uint64_t)(hundredfold / whole) : 0;
}

static void tell_limit(struct verdict *verdict, const struct kill_scene *scene)
{
	const struct killing *killing = scene->killing;
	uint64_t page = scene->host->page_size;

	if (!(killing->flags & EV_SIGNAL_LIMIT))
		return;
	verdict_evidence(verdict, "the limit of %s was %llu %% full: %s of %s",
		shown(killing->limit_cgroup),
		(unsigned long long)percent(killing->limit_usage_pages, killing->limit_max_pages),
		size_text(killing->limit_usage_pages * page),
		size_text(killing->limit_max_pages * page));
}

static void tell_machine(struct verdict *verdict, const struct killing *killing)
{
	const struct host_memory *host = &killing->host;

	if (host->total_bytes == UNKNOWN_U64 || host->available_bytes == UNKNOWN_U64)
		return;
	if (killing->pressure.some == UNKNOWN_U64)
		verdict_evidence(verdict, "the machine had %s of %s available",
			size_text(host->available_bytes), size_text(host->total_bytes));
	else
		verdict_evidence(verdict,
			"the machine had %s of %s available, memory pressure %" PRIu64 ".%02" PRIu64
			" %% (some, 10 s)",
			size_text(host->available_bytes), size_text(host->total_bytes),
			killing->pressure.some / 100, killing->pressure.some % 100);
}

static void tell_all(struct verdict *verdict, const struct kill_scene *scene)
{
	tell_sender(verdict, scene->killing);
	tell_term(verdict, scene->killing);
	tell_limit(verdict, scene);
	tell_machine(verdict, scene->killing);
}

/* --- verdicts --- */

static enum confidence sureness(const struct kill_scene *scene)
{
	return scene->killer->by_name ? CONFIDENCE_LIKELY : CONFIDENCE_CERTAIN;
}

/* To another, on purpose: what the kernel does by itself is nobody's act. */
static bool was_sent(const struct killing *killing)
{
	return !is_self(killing) && killing->manner <= MANNER_CGROUP;
}

/* The OOM killer was there first: what follows is a manager that puts the rest away. */
bool rule_cleanup(const struct kill_scene *scene, struct verdict *verdict)
{
	const struct killing *killing = scene->killing;
	uint64_t after;

	if (!killer_has_office(scene->killer) ||
		(!was_sent(killing) && killing->manner != MANNER_NAMESPACE))
		return false;
	after = killing->time_ns - killing->oom_ns;
	verdict->confidence = after < REACTION_NS ? CONFIDENCE_LIKELY : CONFIDENCE_POSSIBLE;
	verdict_claim(verdict,
		"The OOM killer came first: it killed %s (pid %u) in this cgroup %s before; %s then "
		"put away the rest: %s",
		killing->oom_comm, killing->oom_tgid, duration_text(after), scene->sender,
		scene->target);
	verdict_evidence(verdict, "OOM kill of pid %u %s before, in the same cgroup or within it",
		killing->oom_tgid, duration_text(after));
	tell_sender(verdict, killing);
	return true;
}

bool rule_daemon(const struct kill_scene *scene, struct verdict *verdict)
{
	const struct killing *killing = scene->killing;
	char act[VERDICT_TEXT - 96];

	if (scene->killer->kind != KILLER_OOM_DAEMON || !was_sent(killing))
		return false;
	act_text(scene, act, sizeof(act));
	verdict->confidence = sureness(scene);
	if (killing->cgroup_pressure.some != UNKNOWN_U64)
		verdict_claim(verdict,
			"%s: %s %s, at a memory pressure of %" PRIu64 " %% in its cgroup",
			denial(killing), scene->sender, act, killing->cgroup_pressure.some / 100);
	else
		verdict_claim(verdict, "%s: %s %s", denial(killing), scene->sender, act);
	tell_all(verdict, scene);
	return true;
}

static const char *term_text(const struct killing *killing)
{
	static char text[96];

	text[0] = '\0';
	if (killing->term_ns)
		snprintf(text, sizeof(text), ", %s after SIGTERM, which had not ended it",
			duration_text(killing->time_ns - killing->term_ns));
	return text;
}

bool rule_cgroup(const struct kill_scene *scene, struct verdict *verdict)
{
	const struct killing *killing = scene->killing;
	enum killer_kind kind = scene->killer->kind;
	bool manager = kind == KILLER_SERVICE_MANAGER || kind == KILLER_RUNTIME ||
		       kind == KILLER_KUBELET || kind == KILLER_BATCH;
	char act[VERDICT_TEXT - 96];

	if (killing->manner == MANNER_NAMESPACE) {
		verdict->confidence = CONFIDENCE_CERTAIN;
		verdict_claim(verdict,
			"Not the OOM killer: the first process of a pid namespace, %s, ended, and the "
			"kernel killed all that were left in it: %s",
			scene->sender, scene->target);
		tell_all(verdict, scene);
		return true;
	}
	if (!was_sent(killing) || (!manager && killing->manner != MANNER_CGROUP))
		return false;
	act_text(scene, act, sizeof(act));
	verdict->confidence =
		killing->manner == MANNER_CGROUP ? CONFIDENCE_CERTAIN : sureness(scene);
	verdict_claim(
		verdict, "%s: %s %s%s", denial(killing), scene->sender, act, term_text(killing));
	tell_all(verdict, scene);
	return true;
}

/* Who it was to the target, where that says more than its name. */
static const char *relation(const struct killing *killing)
{
	if (killing->flags & EV_SIGNAL_CHILD && killing->total == 1)
		return ", its own child";
	if (killing->total > 1 && killing->descendants == killing->received)
		return ", all of its own family";
	if (killing->flags & EV_SIGNAL_DESCENDANT && killing->total == 1)
		return ", a descendant of its own";
	return killing->flags & EV_SIGNAL_PARENT ? ", its own parent" : "";
}

bool rule_process(const struct kill_scene *scene, struct verdict *verdict)
{
	const struct killing *killing = scene->killing;
	char act[VERDICT_TEXT - 128];

	if (killing->manner == MANNER_KERNEL || killing->manner == MANNER_FAULT)
		return false;
	verdict->confidence = sureness(scene);
	if (is_self(killing))
		verdict_claim(verdict, "Not the OOM killer: %s killed itself with SIGKILL%s",
			scene->sender,
			killing->manner == MANNER_TIMER ? ", by a timer of its own" : "");
	else if (killing->manner == MANNER_PARENT)
		verdict_claim(verdict,
			"Not the OOM killer: %s ended, and the kernel killed %s, which had asked to die "
			"with its parent",
			scene->sender, scene->target);
	else {
		act_text(scene, act, sizeof(act));
		verdict_claim(verdict, "%s: %s %s%s%s", denial(killing), scene->sender, act,
			relation(killing), term_text(killing));
	}
	tell_all(verdict, scene);
	return true;
}

bool rule_kernel(const struct kill_scene *scene, struct verdict *verdict)
{
	const struct killing *killing = scene->killing;

	if (killing->manner != MANNER_KERNEL)
		return false;
	verdict->confidence = CONFIDENCE_LIKELY;
	if (is_self(killing))
		verdict_claim(verdict,
			"Not the OOM killer: the kernel sent SIGKILL to %s for what it did itself, "
			"by RLIMIT_CPU, or as its tracer had asked",
			scene->target);
	else
		verdict_claim(verdict,
			"Not the OOM killer: the kernel sent SIGKILL to %s while %s ran",
			scene->target, scene->sender);
	verdict_evidence(verdict, "the signal came from the kernel (SI_KERNEL), and no mark of the "
				  "OOM killer followed");
	tell_machine(verdict, killing);
	return true;
}

/* --- faults --- */

static const char *file_text(const struct killing *killing)
{
	return killing->mapping_name[0] ? killing->mapping_name : "a file";
}

static void tell_tmpfs(struct verdict *verdict, const struct kill_scene *scene)
{
	const struct killing *killing = scene->killing;
	const struct tmpfs_use *tmpfs = &killing->tmpfs;
	uint64_t page = scene->host->page_size, used = killing->tmpfs_used_blocks * page;
	uint64_t named = tmpfs->named_bytes < used ? tmpfs->named_bytes : used;

	if (tmpfs->files == UINT32_MAX)
		return;
	verdict_evidence(verdict,
		"%u files in its topmost folder take %s; %s is in folders below, or in files that were "
		"unlinked and are still open",
		tmpfs->files, size_text(named), size_text(used - named));
	for (unsigned int i = 0; i < tmpfs->largest_count && i < TMPFS_LARGEST; i++)
		verdict_evidence(verdict, "%s takes %s", tmpfs->largest[i].name,
			size_text(tmpfs->largest[i].bytes));
}

bool rule_shm_full(const struct kill_scene *scene, struct verdict *verdict)
{
	const struct killing *killing = scene->killing;
	const char *mount = killing->tmpfs.mount;
	uint64_t page = scene->host->page_size;

	if (killing->manner != MANNER_FAULT || killing->code != BUS_ADRERR ||
		killing->tmpfs_used_blocks < killing->tmpfs_max_blocks)
		return false;
	verdict->confidence = CONFIDENCE_CERTAIN;
	verdict_claim(verdict,
		"Not the OOM killer: %s died of SIGBUS, since the tmpfs%s%s that %s is in is full: %s "
		"of %s in use",
		scene->target, mount[0] ? " at " : "", mount[0] ? path_text(mount) : "",
		file_text(killing), size_text(killing->tmpfs_used_blocks * page),
		size_text(killing->tmpfs_max_blocks * page));
	verdict_evidence(verdict, "SIGBUS (BUS_ADRERR) at a page of %s, a file of %s on tmpfs",
		file_text(killing), size_text(killing->mapping_bytes));
	tell_tmpfs(verdict, scene);
	tell_machine(verdict, killing);
	return true;
}

static bool is_beyond_end(const struct kill_scene *scene)
{
	const struct killing *killing = scene->killing;
	unsigned __int128 at = (unsigned __int128)killing->mapping_pgoff * scene->host->page_size +
			       killing->mapping_offset;

	return killing->flags & EV_SIGNAL_MAPPING && at >= killing->mapping_bytes;
}

static bool is_mapping_known(const struct killing *killing)
{
	return killing->flags & (EV_SIGNAL_MAPPING | EV_SIGNAL_MAPPING_ANON);
}

/* All else that a tmpfs refuses within a file's size is rare. */
static bool may_be_full(const struct kill_scene *scene)
{
	const struct killing *killing = scene->killing;

	return killing->signal == SIGNAL_BUS && killing->code == BUS_ADRERR &&
	       killing->flags & EV_SIGNAL_MAPPING && !(killing->flags & EV_SIGNAL_BLOCKS) &&
	       killing->mapping_magic == TMPFS_MAGIC && !is_beyond_end(scene);
}

static void claim_fault(const struct kill_scene *scene, struct verdict *verdict)
{
	const struct killing *killing = scene->killing;
	const char *name = signal_name(killing->signal);

	verdict->confidence = CONFIDENCE_CERTAIN;
	if (killing->signal == SIGNAL_BUS && is_beyond_end(scene)) {
		verdict_claim(verdict,
			"Not the OOM killer: %s died of SIGBUS, as it read or wrote beyond the end of "
			"%s, which is mapped but no longer (or not yet) that long",
			scene->target, file_text(killing));
	} else if (may_be_full(scene)) {
		verdict->confidence = CONFIDENCE_LIKELY;
		verdict_claim(verdict,
			"Not the OOM killer: %s died of SIGBUS at a page of %s that its tmpfs did not "
			"give it: that is full, most likely",
			scene->target, file_text(killing));
	} else if (killing->signal == SIGNAL_BUS && killing->code == BUS_ADRERR &&
		   !is_mapping_known(killing)) {
		verdict->confidence = CONFIDENCE_POSSIBLE;
		verdict_claim(verdict,
			"Not the OOM killer: %s died of SIGBUS at a page of a mapped file that could "
			"not be had: a full tmpfs, a file that was cut, or one that could not be read",
			scene->target);
	} else {
		verdict_claim(verdict,
			"Not the OOM killer: %s died of %s at an address that it used",
			scene->target, name ? name : "a fault");
	}
}

bool rule_fault(const struct kill_scene *scene, struct verdict *verdict)
{
	const struct killing *killing = scene->killing;
	const char *name = signal_name(killing->signal);
	const char *code = signal_code_name(killing->signal, killing->code);
	const char *fs = mapping_fs_name(killing->mapping_magic);

	if (killing->manner != MANNER_FAULT)
		return false;
	claim_fault(scene, verdict);
	verdict_evidence(verdict, "%s (%s) by a page fault that no handler took",
		name ? name : "a signal", code ? code : "another code");
	if (killing->flags & EV_SIGNAL_MAPPING)
		verdict_evidence(verdict, "in %s, a file of %s%s%s", file_text(killing),
			size_text(killing->mapping_bytes), fs ? " on " : "", fs ? fs : "");
	return true;
}

/* --- all of it --- */

static void lacks(struct kill_judgement *ret, bool is_missing, const char *field, const char *why)
{
	if (is_missing && ret->missing_count < KILL_MISSING)
		ret->missing[ret->missing_count++] = (struct missing) {field, why};
}

static void judge_names(const struct killing *killing, struct kill_judgement *ret)
{
	const struct container_names *names = &killing->names;
	const char *why = whose_unknown_why(names);
	const struct container_path *where = &ret->where;
	enum container_runtime runtime = whose_runtime(where, names);
	struct names_wanted wanted;

	if (names_wanted_of(where, &wanted))
		lacks(ret, !names->container[0] && !where->name[0], "container_name",
			names->sandbox ? "it is the pod's sandbox, which has no name" : why);
	if (!where->pod_uid[0] && !names->pod_uid[0])
		return;
	if (runtime == RUNTIME_PODMAN)
		why = "Podman keeps the names of pods in a database of its own";
	lacks(ret, !names->pod[0], "pod_name", why);
	lacks(ret, !names->namespace[0] && runtime != RUNTIME_PODMAN, "pod_namespace", why);
}

static void judge_fault_lacks(const struct kill_scene *scene, struct kill_judgement *ret)
{
	const struct killing *killing = scene->killing;

	lacks(ret,
		killing->manner == MANNER_FAULT && killing->signal == SIGNAL_BUS &&
			!is_mapping_known(killing),
		"fault_file", "what is mapped at the address was not found");
	lacks(ret, killing->manner == MANNER_FAULT && may_be_full(scene), "tmpfs_used_bytes",
		"the tmpfs has no size, or its count per CPU is not readable: Linux before 5.19");
	lacks(ret, killing->flags & EV_SIGNAL_BLOCKS && !killing->tmpfs.mount[0], "tmpfs_mount",
		"the target and its parent were gone before their mounts were looked at");
}

static void judge_lacks(const struct killing *killing, struct kill_judgement *ret)
{
	lacks(ret, !killing->sender_cmdline[0] && !(killing->flags & EV_SIGNAL_KTHREAD),
		"sender_cmdline", "it was not learnt while it lived");
	lacks(ret, !killing->sender_exe[0] && !(killing->flags & EV_SIGNAL_KTHREAD), "sender_exe",
		"the sender was gone before its program file was looked at");
	lacks(ret, !killing->sender_cgroup[0], "sender_cgroup", "its path was not learnt");
	lacks(ret, !killing->target_cgroup[0], "target_cgroup", "its path was not learnt");
	lacks(ret, !killing->target_cmdline[0], "target_cmdline",
		"it was not learnt while it lived");
	lacks(ret, !(killing->flags & EV_SIGNAL_LIMIT), "limit_bytes",
		"no level of the target's chain has a limit");
	lacks(ret, killing->pressure.some == UNKNOWN_U64, "pressure_some_percent",
		"the kernel keeps no account of memory pressure (CONFIG_PSI), or not here");
	judge_names(killing, ret);
}

void judge_killing(
	const struct killing *killing, const struct host_facts *host, struct kill_judgement *ret)
{
	const struct killer_facts facts = {.tgid = killing->sender_tgid,
		.comm = killing->sender_comm,
		.exe = killing->sender_exe,
		.file = killing->sender_file,
		.cmdline = killing->sender_cmdline,
		.cgroup = killing->sender_cgroup};
	struct kill_scene scene = {.killing = killing, .host = host, .killer = &ret->killer};

	memset(ret, 0, sizeof(*ret));
	ret->killer = killer_of(&facts);
	parse_container_path(killing->target_cgroup, &ret->where);
	name_both(&scene);
	judge_kill_verdicts(&scene, ret);
	judge_fault_lacks(&scene, ret);
	judge_lacks(killing, ret);
}
