/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe.h: is the tracer alive? Its loop answers at an abstract Unix socket, so that no file system
 * needs to be writable, and an answer shows that the loop turns.
 *
 * Anybody in the same network namespace may ask: what is said is what the start line says, too.
 */
#ifndef OOMSNOOP_CMD_PROBE_H
#define OOMSNOOP_CMD_PROBE_H

#include <stdint.h>

#define PROBE_NAME "oomsnoop"
#define PROBE_NAME_MAX 64

struct probe_state {
	const char *tier;
	uint64_t incidents, victims, lost_events;
};

/* Listens at that name. A descriptor that does not block, or -errno (-EADDRINUSE: another one is
 * there). */
int probe_listen(const char *name);

/* Answers those who have asked, a bounded number at a time. Never waits. */
void probe_answer(int fd, const struct probe_state *state);

/* oomsnoop probe [NAME] */
int cmd_probe(int argc, char **argv);

#endif /* OOMSNOOP_CMD_PROBE_H */
