// SPDX-License-Identifier: Apache-2.0
#include "cmd/stream.h"

#include "base/buf.h"
#include "cmd/filter.h"

#define LINE_BYTES 8192
#define STREAM_CHANGES 64 /* that one look tells at most: growth_changes() */
/* A limit is told of again once it was not near for so long. */
#define WARN_AGAIN_NS 10000000000ULL

static const char *path_of(const struct stream *stream, uint64_t id)
{
	const char *path = id ? cgroup_path(stream->cgroups, id) : NULL;

	return path ? path : "";
}

static const struct container_names *names_of(const struct stream *stream, const char *path)
{
	return stream->containers && path[0] ? containers_known(stream->containers, path) : NULL;
}

static void write_line(struct stream *stream, const struct buf *line)
{
	if (!stream->error)
		stream->error = stream->write(line->data, line->len, stream->arg);
	stream->told++;
}

static void tell_change(const struct growth_change *change, void *arg)
{
	struct stream *stream = arg;
	const char *path = path_of(stream, change->cgroup_id);
	const struct container_names *names = names_of(stream, path);
	char data[LINE_BYTES];
	struct buf line;

	if (!filter_change(&stream->options->filter, change, path, names))
		return;
	buf_init(&line, data, sizeof(data));
	if (stream->options->json ? json_growth(&line, stream->sink, change, path, names)
				  : text_growth(&line, stream->sink, change, path, names))
		return;
	write_line(stream, &line);
}

/* The place of a limit that was told of, or one for it: a free one, else the one not near for
 * longest. */
static struct stream_warned *warned_find(struct stream *stream, uint64_t cgroup_id)
{
	struct stream_warned *oldest = &stream->warned[0];

	for (unsigned int i = 0; i < STREAM_WARNED; i++) {
		struct stream_warned *warned = &stream->warned[i];

		if (warned->near_ns && warned->cgroup_id == cgroup_id &&
			warned->threshold == stream->threshold)
			return warned;
		if (warned->near_ns < oldest->near_ns)
			oldest = warned;
	}
	*oldest = (struct stream_warned) {.cgroup_id = cgroup_id, .threshold = stream->threshold};
	return oldest;
}

static void tell_near(const struct growth_pressure *pressure, void *arg)
{
	struct stream *stream = arg;
	struct stream_warned *warned = warned_find(stream, pressure->cgroup_id);
	bool told = warned->near_ns && stream->now_ns - warned->near_ns < WARN_AGAIN_NS;
	const char *why = stream->options->warn[stream->threshold].text;
	const char *path = path_of(stream, pressure->cgroup_id);
	const struct container_names *names = names_of(stream, path);
	char data[LINE_BYTES];
	struct buf line;

	warned->near_ns = stream->now_ns;
	if (told || !filter_pressure(&stream->options->filter, pressure, path, names))
		return;
	buf_init(&line, data, sizeof(data));
	if (stream->options->json ? json_pressure(&line, stream->sink, stream->now_ns, pressure,
					    path, names, why)
				  : text_pressure(&line, stream->sink, stream->now_ns, pressure,
					    path, names, why))
		return;
	write_line(stream, &line);
}

int stream_pass(struct stream *stream, struct growth *growth, uint64_t now_ns)
{
	const struct live_options *options = stream->options;

	stream->now_ns = now_ns;
	for (stream->threshold = 0; stream->threshold < options->warn_count; stream->threshold++)
		growth_near(growth, options->warn[stream->threshold].ratio,
			options->warn[stream->threshold].left_ns, tell_near, stream);
	if (options->growth && now_ns >= stream->next_growth_ns) {
		unsigned int changed =
			growth_changes(growth, options->min_delta_bytes, tell_change, stream);

		if (changed > STREAM_CHANGES)
			stream->not_told += changed - STREAM_CHANGES;
		stream->next_growth_ns = now_ns + options->interval_ns;
	}
	return stream->error;
}
