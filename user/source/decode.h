/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decode.h: bytes of the ring to facts. Trusts nothing: length, kind, version and every number that
 * is used as an index or a length later are checked; strings are terminated.
 */
#ifndef OOMSNOOP_SOURCE_DECODE_H
#define OOMSNOOP_SOURCE_DECODE_H

#include <stddef.h>

#include "event.h"

struct fact {
	enum ev_kind kind;
	union {
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
	/*
	 * The record's long string with an end, and its length: a level's name, a cgroup's path, a
	 * context's message; the arguments of an exec or of who sent a signal, which hold NULs
	 * (cmdline_text()). Empty for all others. One byte more than the longest on the wire.
	 */
	char text[EV_PATH_LEN + 1];
	size_t text_len;
};

/*
 * Takes one record apart. 0, or -EBADMSG (too short, wrong length, a number out of its range),
 * -EPROTO (another version), -ENOMSG (a kind that this build does not know: to be counted and
 * passed over). `ret` is whole or untouched.
 */
int decode_event(const void *data, size_t size, struct fact *ret);

/* A comm with an end: 16 bytes on the wire may all be in use. */
void fact_comm(const char comm[EV_COMM_LEN], char ret[EV_COMM_LEN + 1]);

#endif /* OOMSNOOP_SOURCE_DECODE_H */
