/* SPDX-License-Identifier: Apache-2.0 */
/*
 * family.h: a process and all that descends from it, orphans included, by what forks and exits tell
 * and by what /proc shows.
 *
 * A bounded table, allocated once; the key is the pid. When it is full the member that has been
 * dead for longest gives way, then the one not heard of for longest. A pid that is given to a
 * stranger later is a member no more.
 */
#ifndef OOMSNOOP_MODEL_FAMILY_H
#define OOMSNOOP_MODEL_FAMILY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "source/decode.h"

struct family_member {
	uint32_t pid, ppid;
	uint64_t started_ns; /* CLOCK_BOOTTIME; 0: not known */
	uint64_t ended_ns; /* 0: it lives, as far as is known */
	uint32_t exit_code; /* as in wait(2), with ended_ns */
	bool stranger; /* its pid is another process's by now */
	char comm[EV_COMM_LEN + 1]; /* "": not learnt */
};

struct family;

/* NULL with errno. */
struct family *family_new(size_t capacity);
void family_free(struct family *family);

/* The one that all others descend from. */
void family_begin(struct family *family, uint32_t root_pid, const char *comm);
uint32_t family_root(const struct family *family); /* 0: it has not begun */

/* Seen in /proc: a member if its parent is one. True: it is. */
bool family_seen(struct family *family, uint32_t pid, uint32_t ppid, const char *comm);

/* EV_FORK, EV_EXEC, EV_EXIT, EV_SAMPLE; others are passed over. NULL, or the member that this fact
 * is the end of. */
const struct family_member *family_fact(struct family *family, const struct fact *fact);

/* Alive or dead; NULL: a stranger. */
const struct family_member *family_find(const struct family *family, uint32_t pid);

uint32_t family_count(const struct family *family); /* that ever were */
uint32_t family_alive(const struct family *family);

#endif /* OOMSNOOP_MODEL_FAMILY_H */
