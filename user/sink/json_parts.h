/* SPDX-License-Identifier: Apache-2.0 */
/* json_parts.h: the pieces that the lines are put together from. */
#ifndef OOMSNOOP_SINK_JSON_PARTS_H
#define OOMSNOOP_SINK_JSON_PARTS_H

#include "base/buf.h"
#include "sink/sink.h"

/* v, type, ts, host, boot_id, mono_ns, mono_us: what every line begins with. */
void json_head(
	struct buf *buf, const struct sink_context *context, const char *type, uint64_t boot_ns);
/* `summary`: the claim of the first verdict; NULL: there is none. */
void json_summary(struct buf *buf, const struct verdict *first);
/* `verdicts`, with what each rests on. */
void json_verdicts(struct buf *buf, const struct verdict *verdicts, unsigned int count);
/* `missing`: fields, and why each is not there; an empty list is told, too. */
void json_missing(struct buf *buf, const struct missing *missing, unsigned int count);
/* Under these keys: anon, file, shmem, swap. A counter below 0 is 0, as the kernel takes it. */
void json_rss(struct buf *buf, const int64_t rss_pages[EV_RSS_COUNTERS], const char *const keys[4],
	uint32_t page_size);
void json_hooks(struct buf *buf, const struct sink_context *context);

/* Closes the line; -ENOSPC takes it back to `start`. */
int json_finish(struct buf *buf, size_t start);

void json_victim(struct buf *buf, const struct sink_context *context,
	const struct incident *incident, const struct judgement *judgement);
/* Of the victim: its container, pod, job. */
void json_whose(
	struct buf *buf, const struct incident *incident, const struct judgement *judgement);
/* Of any cgroup; `names` may be NULL. */
void json_whose_cgroup(struct buf *buf, const char *path, const struct container_names *names);
void json_victims(struct buf *buf, const struct sink_context *context,
	const struct incident *incident, const struct judgement *judgement);
void json_badness(
	struct buf *buf, const struct incident *incident, const struct judgement *judgement);
void json_candidates(struct buf *buf, const struct sink_context *context,
	const struct incident *incident, const struct judgement *judgement);
/* The minutes before: nothing where no history was kept. */
void json_history(struct buf *buf, const struct sink_context *context,
	const struct incident *incident, const struct judgement *judgement);

#endif /* OOMSNOOP_SINK_JSON_PARTS_H */
