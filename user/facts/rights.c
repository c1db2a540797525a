// SPDX-License-Identifier: Apache-2.0
#include "facts/rights.h"

#include <cap-ng.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "facts/file.h"
#include "facts/scan.h"

#define ADJ_LOWEST (-1000)

static const char *const names[] = {
	"CAP_CHOWN",
	"CAP_DAC_OVERRIDE",
	"CAP_DAC_READ_SEARCH",
	"CAP_FOWNER",
	"CAP_FSETID",
	"CAP_KILL",
	"CAP_SETGID",
	"CAP_SETUID",
	"CAP_SETPCAP",
	"CAP_LINUX_IMMUTABLE",
	"CAP_NET_BIND_SERVICE",
	"CAP_NET_BROADCAST",
	"CAP_NET_ADMIN",
	"CAP_NET_RAW",
	"CAP_IPC_LOCK",
	"CAP_IPC_OWNER",
	"CAP_SYS_MODULE",
	"CAP_SYS_RAWIO",
	"CAP_SYS_CHROOT",
	"CAP_SYS_PTRACE",
	"CAP_SYS_PACCT",
	"CAP_SYS_ADMIN",
	"CAP_SYS_BOOT",
	"CAP_SYS_NICE",
	"CAP_SYS_RESOURCE",
	"CAP_SYS_TIME",
	"CAP_SYS_TTY_CONFIG",
	"CAP_MKNOD",
	"CAP_LEASE",
	"CAP_AUDIT_WRITE",
	"CAP_AUDIT_CONTROL",
	"CAP_SETFCAP",
	"CAP_MAC_OVERRIDE",
	"CAP_MAC_ADMIN",
	"CAP_SYSLOG",
	"CAP_WAKE_ALARM",
	"CAP_BLOCK_SUSPEND",
	"CAP_AUDIT_READ",
	"CAP_PERFMON",
	"CAP_BPF",
	"CAP_CHECKPOINT_RESTORE",
};

/* --- what is held --- */

const char *capability_name(unsigned int number)
{
	return number < sizeof(names) / sizeof(*names) ? names[number] : NULL;
}

const struct rights_extra rights_extras[RIGHTS_EXTRAS] = {
	{CAP_SYS_RESOURCE, "oom_score_adj -1000; BPF programs before Linux 5.11",
		"it may be killed itself where no lower oom_score_adj was given to it"},
	{CAP_IPC_LOCK, "memory locked beyond RLIMIT_MEMLOCK",
		"its own pages may be dropped under pressure, and records come late then"},
	{CAP_SYS_NICE, "nice -20", "records come late while many processes die at once"},
	{CAP_SYSLOG, "/dev/kmsg", "the kernel's own report of a kill is not joined to the record"},
	{CAP_SYS_PTRACE, "/proc/PID/exe of other users",
		"program files of other users' processes (victim_exe) are not known"},
	{CAP_DAC_READ_SEARCH, "the container runtimes' state, which root alone may read",
		"containers are named from cgroups and log files alone"},
};

int rights_raise(void)
{
	if (capng_get_caps_process() < 0)
		return -EIO;
	for (unsigned int i = 0; i <= CAP_LAST_CAP; i++)
		if (capng_have_capability(CAPNG_PERMITTED, i))
			capng_update(CAPNG_ADD, CAPNG_EFFECTIVE, i);
	errno = 0;
	if (capng_apply(CAPNG_SELECT_CAPS) < 0)
		return errno ? -errno : -EPERM;
	return 0;
}

static bool hex_u64(struct scan digits, uint64_t *ret)
{
	uint64_t value = 0;

	if (scan_done(&digits) || scan_left(&digits) > 16)
		return false;
	for (; !scan_done(&digits); digits.at++) {
		const char *at = strchr("0123456789abcdef", *digits.at);

		if (!at || !*at)
			return false;
		value = value << 4 | (uint64_t)(at - "0123456789abcdef");
	}
	*ret = value;
	return true;
}

enum { SEEN_EFFECTIVE = 1, SEEN_PERMITTED = 2, SEEN_BOUNDING = 4, SEEN_ALL = 7 };

/* "Uid:	real	effective	saved	file system" */
static void status_uid(struct scan line, struct rights *rights)
{
	uint64_t real, effective;

	if (scan_u64(&line, &real) && scan_text(&line, "\t") && scan_u64(&line, &effective) &&
		effective <= UINT32_MAX)
		rights->uid = (uint32_t)effective;
}

static int status_line(struct scan line, struct rights *rights)
{
	uint64_t value;

	if (scan_text(&line, "CapEff:\t"))
		return hex_u64(line, &rights->effective) ? SEEN_EFFECTIVE : 0;
	if (scan_text(&line, "CapPrm:\t"))
		return hex_u64(line, &rights->permitted) ? SEEN_PERMITTED : 0;
	if (scan_text(&line, "CapBnd:\t"))
		return hex_u64(line, &rights->bounding) ? SEEN_BOUNDING : 0;
	if (scan_text(&line, "Uid:\t"))
		status_uid(line, rights);
	if (scan_text(&line, "NoNewPrivs:\t") && scan_u64(&line, &value))
		rights->no_new_privs = value != 0;
	return 0;
}

int parse_status_rights(const char *text, struct rights *ret)
{
	struct scan scan = scan_of(text, strlen(text)), line;
	struct rights rights = {0};
	int seen = 0;

	while (scan_line(&scan, &line))
		seen |= status_line(line, &rights);
	if (seen != SEEN_ALL)
		return -EINVAL;
	*ret = rights;
	return 0;
}

bool parse_uid_map_initial(const char *text)
{
	static const uint64_t initial[] = {0, 0, UINT32_MAX};
	struct scan scan = scan_of(text, strlen(text)), line;
	uint64_t value;

	if (!scan_line(&scan, &line) || !scan_done(&scan))
		return false;
	for (int i = 0; i < 3; i++) {
		scan_blanks(&line);
		if (!scan_u64(&line, &value) || value != initial[i])
			return false;
	}
	return scan_done(&line);
}

int read_rights(const char *root, struct rights *ret)
{
	char text[8192];
	ssize_t len = file_read(root, "/proc/self/status", text, sizeof(text));
	struct rights rights;
	int err;

	if (len < 0)
		return (int)len;
	err = parse_status_rights(text, &rights);
	if (err)
		return err;
	/* No such file: a kernel without user namespaces. */
	len = file_read(root, "/proc/self/uid_map", text, sizeof(text));
	rights.user_namespace = len >= 0 && !parse_uid_map_initial(text);
	*ret = rights;
	return 0;
}

size_t rights_check(const struct rights *rights, const char *ret_missing[RIGHTS_MISSING_MAX])
{
	static const unsigned int needed[RIGHTS_MISSING_MAX] = {CAP_BPF, CAP_PERFMON};
	size_t count = 0;

	if (rights->effective & RIGHT(CAP_SYS_ADMIN))
		return 0;
	for (size_t i = 0; i < RIGHTS_MISSING_MAX; i++) {
		if (!(rights->effective & RIGHT(needed[i])))
			ret_missing[count++] = capability_name(needed[i]);
	}
	return count;
}

/* --- staying alive --- */

int rights_set_adj(const char *root, int adj)
{
	char path[PATH_MAX], text[16];
	int len = snprintf(text, sizeof(text), "%d\n", adj);
	int err = file_path(root, "/proc/self/oom_score_adj", path, sizeof(path)), fd;

	if (err)
		return err;
	fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (write(fd, text, (size_t)len) != len)
		err = errno ? -errno : -EIO;
	close(fd);
	return err;
}

int rights_lowest_adj(int current, int (*set)(int adj, void *arg), void *arg, int *ret_adj)
{
	int refused = ADJ_LOWEST, taken = current, adj;
	int err = set(ADJ_LOWEST, arg);

	if (!err) {
		*ret_adj = ADJ_LOWEST;
		return 0;
	}
	while (taken - refused > 1) {
		adj = refused + (taken - refused) / 2;
		if (set(adj, arg))
			refused = adj;
		else
			taken = adj;
	}
	*ret_adj = taken;
	return err;
}

static int set_own_adj(int adj, void *root)
{
	return rights_set_adj(root, adj);
}

void rights_protect(const char *root, struct rights_protection *ret)
{
	int64_t before;
	int err = file_read_i64(root, "/proc/self/oom_score_adj", &before);

	/* On fault: the unused rest of the fixed tables must not cost memory. */
	ret->lock_error = mlockall(MCL_CURRENT | MCL_ONFAULT) < 0 ? -errno : 0;
	/* While hundreds die at once each of them is runnable: the one that tells of it would wait
	 * for seconds. */
	ret->priority_error = setpriority(PRIO_PROCESS, 0, -20) ? -errno : 0;
	ret->adj_before = err ? 0 : (int)before;
	ret->adj = ret->adj_before;
	ret->adj_error =
		err ? err : rights_lowest_adj(ret->adj, set_own_adj, (void *)root, &ret->adj);
}

/* --- giving up --- */

/* -errno of a call of libcap-ng, which does not promise to set errno. */
static int capng_error(int returned)
{
	if (returned >= 0)
		return 0;
	return errno ? -errno : -EPERM;
}

int rights_drop(uint64_t keep)
{
	bool bounds;
	int err;

	if (capng_get_caps_process() < 0)
		return -EIO;
	bounds = capng_have_capability(CAPNG_EFFECTIVE, CAP_SETPCAP);
	for (unsigned int i = 0; i <= CAP_LAST_CAP; i++) {
		if (!capng_have_capability(CAPNG_PERMITTED, i))
			keep &= ~RIGHT(i);
	}
	capng_clear(CAPNG_SELECT_ALL);
	for (unsigned int i = 0; i <= CAP_LAST_CAP; i++) {
		if (keep & RIGHT(i))
			capng_update(CAPNG_ADD, CAPNG_EFFECTIVE | CAPNG_PERMITTED, i);
	}
	errno = 0;
	/* The bounding set first: it can be lowered only while CAP_SETPCAP is still held. */
	err = bounds ? capng_error(capng_apply(CAPNG_SELECT_BOUNDS)) : 0;
	if (!err)
		err = capng_error(capng_apply(CAPNG_SELECT_CAPS));
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0 && errno != EINVAL && !err)
		err = -errno;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 && !err)
		err = -errno;
	return err;
}
