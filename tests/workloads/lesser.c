// SPDX-License-Identifier: Apache-2.0
/*
 * lesser CAPABILITY[,…] PROGRAM [ARGUMENT…]: becomes uid 65534 with these capabilities and no
 * others, without any way to get more, and runs the program: setpriv for guests, whose busybox does
 * not change the user id.
 */
#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NOBODY 65534

static const struct {
	const char *name;
	int number;
} known[] = {
	{"dac_read_search", CAP_DAC_READ_SEARCH},
	{"ipc_lock", CAP_IPC_LOCK},
	{"sys_ptrace", CAP_SYS_PTRACE},
	{"sys_nice", CAP_SYS_NICE},
	{"sys_resource", CAP_SYS_RESOURCE},
	{"syslog", CAP_SYSLOG},
	{"perfmon", CAP_PERFMON},
	{"bpf", CAP_BPF},
};

static int failed(const char *what)
{
	fprintf(stderr, "lesser: %s: %s\n", what, strerror(errno));
	return 1;
}

static int find(const char *name)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (!strcmp(known[i].name, name))
			return known[i].number;
	return -1;
}

static int set(uint64_t capabilities)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2];

	for (int i = 0; i < 2; i++) {
		data[i].effective = capabilities >> 32 * i;
		data[i].permitted = data[i].inheritable = data[i].effective;
	}
	return (int)syscall(SYS_capset, &header, data);
}

static int become(uint64_t capabilities)
{
	for (int i = 0; i <= CAP_LAST_CAP; i++)
		if (!(capabilities >> i & 1) && prctl(PR_CAPBSET_DROP, i) && errno != EINVAL)
			return failed("bounding set");
	if (setgroups(0, NULL) || setresgid(NOBODY, NOBODY, NOBODY))
		return failed("groups");
	if (prctl(PR_SET_KEEPCAPS, 1) || setresuid(NOBODY, NOBODY, NOBODY))
		return failed("uid");
	if (set(capabilities))
		return failed("capset");
	for (int i = 0; i <= CAP_LAST_CAP; i++)
		if (capabilities >> i & 1 && prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, i, 0, 0))
			return failed("ambient set");
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ? failed("no_new_privs") : 0;
}

int main(int argc, char **argv)
{
	uint64_t capabilities = 0;
	int number;

	if (argc < 3) {
		fprintf(stderr, "usage: lesser CAPABILITY[,...] PROGRAM [ARGUMENT...]\n");
		return 64;
	}
	for (char *name = strtok(argv[1], ","); name; name = strtok(NULL, ",")) {
		number = find(name);
		if (number < 0) {
			fprintf(stderr, "lesser: %s is not known\n", name);
			return 64;
		}
		capabilities |= 1ULL << number;
	}
	if (become(capabilities))
		return 1;
	execv(argv[2], argv + 2);
	return failed(argv[2]);
}
