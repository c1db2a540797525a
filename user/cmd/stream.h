/* SPDX-License-Identifier: Apache-2.0 */
/* stream.h: what is told between incidents: who grows (--growth), and limits that are near
 * (--warn).
 */
#ifndef OOMSNOOP_CMD_STREAM_H
#define OOMSNOOP_CMD_STREAM_H

#include <stdint.h>

#include "cmd/options.h"
#include "cmd/recorder.h"
#include "model/cgroup.h"
#include "model/containers.h"
#include "sink/sink.h"

#define STREAM_WARNED 64

/* A limit that was told of: again only once it was away from there for a while. */
struct stream_warned {
	uint64_t cgroup_id;
	unsigned int threshold;
	uint64_t near_ns; /* when it was last seen to be near; 0: this place is free */
};

struct stream {
	const struct live_options *options;
	const struct sink_context *sink;
	struct cgroups *cgroups;
	struct containers *containers; /* NULL: no names are known */
	int (*write)(const char *data, size_t len, void *arg);
	void *arg;
	uint64_t next_growth_ns;
	uint64_t told; /* lines */
	uint64_t not_told; /* changes beyond what one look tells */
	unsigned int threshold; /* the one in hand */
	uint64_t now_ns;
	int error; /* -errno of writing */
	struct stream_warned warned[STREAM_WARNED];
};

/* After a pass. 0 or -errno of the output. */
int stream_pass(struct stream *stream, struct growth *growth, uint64_t now_ns);

#endif /* OOMSNOOP_CMD_STREAM_H */
