// SPDX-License-Identifier: Apache-2.0
/*
 * Who grew: a paragraph of the incident, and lines of their own. RSS is never summed over the
 * members of a family: what they share would be counted once for each.
 */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "sink/stall.h"
#include "sink/text_parts.h"
#include "sink/text_whose.h"
#include "sink/view.h"

#define SPARK_COLUMNS 20
#define SPARK_LEVELS 8
#define GROWERS 3
#define GROWER_SHARE 32 /* of the growth: less is not worth its place */
#define GROWER_SHARE_OF_USAGE 256 /* where usage as a whole did not grow */

/* The last that is known; 0: none is. */
static uint64_t last_usage(const struct growth_picture *picture)
{
	unsigned int count = picture->point_count;

	if (count > PICTURE_POINTS)
		return 0;
	while (count > 0 && picture->points[count - 1] == UNKNOWN_U64)
		count--;
	return count > 0 ? picture->points[count - 1] : 0;
}

/* The highest of a few points; UNKNOWN_U64: none is known. */
static uint64_t highest(const struct growth_picture *picture, unsigned int from, unsigned int to)
{
	uint64_t ret = UNKNOWN_U64;

	for (unsigned int i = from; i < to; i++) {
		uint64_t bytes = picture->points[i];

		if (bytes != UNKNOWN_U64 && (ret == UNKNOWN_U64 || bytes > ret))
			ret = bytes;
	}
	return ret;
}

/* Blocks from U+2581 to U+2588, up to the limit; without one, up to the highest point. */
static void put_block(struct buf *text, uint64_t bytes, uint64_t full)
{
	unsigned __int128 level = (unsigned __int128)bytes * SPARK_LEVELS / full;
	char block[] = "\xe2\x96\x81";

	if (bytes == UNKNOWN_U64) {
		buf_putc(text, '.');
		return;
	}
	if (level >= SPARK_LEVELS)
		level = SPARK_LEVELS - 1;
	block[2] = (char)(block[2] + (int)level);
	buf_puts(text, block);
}

static void put_spark(struct buf *text, const struct growth_picture *picture)
{
	unsigned int count = picture->point_count, columns = SPARK_COLUMNS;
	uint64_t full = picture->domain_max_bytes, most;

	most = count <= PICTURE_POINTS ? highest(picture, 0, count) : UNKNOWN_U64;
	if (most == UNKNOWN_U64)
		return;
	if (full == UNKNOWN_U64 || full == 0)
		full = most > 0 ? most : 1;
	if (columns > count)
		columns = count;
	for (unsigned int i = 0; i < columns; i++)
		put_block(text, highest(picture, i * count / columns, (i + 1) * count / columns),
			full);
	buf_putc(text, ' ');
}

static void put_signed(struct buf *text, int64_t bytes)
{
	buf_putc(text, bytes < 0 ? '-' : '+');
	glue_bytes(text, bytes < 0 ? -(uint64_t)bytes : (uint64_t)bytes);
}

static uint64_t since_start(const struct text_view *view)
{
	uint64_t end = view->incident->growth.to_ns, start = view->judgement->trend.start_ns;

	return end > start ? end - start : 0;
}

/* Usage fell within the window, as after an earlier kill: the growth since then led to this one. */
static bool fell_before(const struct trend *trend)
{
	return trend->delta_bytes < 0 ||
	       (uint64_t)trend->delta_bytes < trend->rise_bytes - trend->rise_bytes / 10;
}

static void put_amount(struct text_view *view)
{
	const struct growth_picture *picture = &view->incident->growth;
	const struct trend *trend = &view->judgement->trend;
	struct buf *text = &view->scratch;

	if (fell_before(trend)) {
		buf_putc(text, '+');
		glue_bytes(text, trend->rise_bytes);
		buf_puts(text, " in the last ");
		glue_duration(text, since_start(view));
	} else {
		put_signed(text, trend->delta_bytes);
		buf_puts(text, " in ");
		glue_duration(text, view_window_ns(picture));
	}
}

static void put_steady(struct text_view *view)
{
	const struct growth_picture *picture = &view->incident->growth;
	const struct trend *trend = &view->judgement->trend;
	uint64_t window = view_window_ns(picture), lasted = since_start(view);
	struct buf *text = &view->scratch;

	buf_puts(text, ", steadily by ");
	glue_bytes(text, (uint64_t)trend->bytes_per_s);
	buf_printf(text, "%ca%csecond", FLOW_GLUE, FLOW_GLUE);
	if (!fell_before(trend) && lasted < window - window / 10) {
		buf_puts(text, " for the last ");
		glue_duration(text, lasted);
	}
}

static void put_flat(struct text_view *view)
{
	const struct growth_picture *picture = &view->incident->growth;
	const struct trend *trend = &view->judgement->trend;
	uint64_t usage = last_usage(picture);
	struct buf *text = &view->scratch;

	/* As flat counts, too, what shrank. */
	if (trend->delta_bytes < 0 && -(uint64_t)trend->delta_bytes > usage / GROWER_SHARE) {
		put_signed(text, trend->delta_bytes);
		buf_puts(text, " in ");
	} else {
		buf_puts(text, "usage stood at about ");
		glue_bytes(text, usage);
		buf_puts(text, " for ");
	}
	glue_duration(text, view_window_ns(picture));
}

static void put_trend(struct text_view *view)
{
	const struct growth_picture *picture = &view->incident->growth;
	const struct trend *trend = &view->judgement->trend;
	struct buf *text = &view->scratch;

	if (trend->kind == TREND_UNKNOWN) {
		buf_puts(text, picture->domain_known
				       ? "the history is too short to tell how usage grew"
				       : "how usage grew was not recorded");
		return;
	}
	if (trend->kind == TREND_FLAT) {
		put_flat(view);
		return;
	}
	put_amount(view);
	if (trend->kind == TREND_STEADY) {
		put_steady(view);
	} else if (trend->kind == TREND_SPIKE) {
		buf_puts(text, ", nine tenths of it within about ");
		glue_duration(text, trend->spike_ns);
	} else {
		buf_puts(text, ", unevenly");
	}
}

/* A history that began with the tracer says less than was asked for. */
static void put_shorter(struct text_view *view)
{
	const struct growth_picture *picture = &view->incident->growth;

	if (view_window_ns(picture) < picture->asked_ns - picture->asked_ns / 16) {
		buf_puts(&view->scratch, "; nothing older was recorded (asked for: ");
		glue_duration(&view->scratch, picture->asked_ns);
		buf_putc(&view->scratch, ')');
	}
}

/* --- who --- */

static void put_share(struct buf *text, uint64_t part, uint64_t whole)
{
	if (part >= whole)
		buf_puts(text, "about all of it");
	else
		buf_printf(text, "%u%c%% of it",
			(unsigned int)((unsigned __int128)part * 100 / whole), FLOW_GLUE);
}

static void put_copied(struct buf *text, uint64_t cow_bytes, bool upper_bound)
{
	buf_puts(text, upper_bound ? "at most " : "");
	glue_bytes(text, cow_bytes);
	buf_puts(text, " by copy-on-write");
}

static void put_share_copied(struct text_view *view)
{
	const struct growth_share *share = &view->judgement->share;

	/* Else it was said in the paragraph before. */
	if (share->cow_bytes == 0 || view_verdict(view->judgement, "copy-on-write"))
		return;
	buf_puts(&view->scratch, ", ");
	put_copied(&view->scratch, share->cow_bytes, share->cow_upper_bound);
}

static void put_nobody(struct text_view *view)
{
	const struct growth_picture *picture = &view->incident->growth;
	unsigned int index = view->judgement->share.index;
	struct buf *text = &view->scratch;

	buf_puts(text, " in no process's own memory: page cache, tmpfs or kernel memory");
	if (index >= PICTURE_PROCESSES)
		return;
	buf_puts(text, "; at most ");
	glue_bytes(text, picture->processes[index].cached_bytes);
	buf_puts(text, " by ");
	glue_name(text, picture->processes[index].comm, picture->processes[index].tgid);
}

static void put_family(struct text_view *view, const struct picture_family *family)
{
	struct buf *text = &view->scratch;

	buf_puts(text, " in the fork family of ");
	glue_name(text, family->comm, family->root_tgid);
	buf_printf(text, " (%u%cprocesses)", family->members, FLOW_GLUE);
	put_share_copied(view);
}

static void put_alone(struct text_view *view, const struct picture_process *process)
{
	struct buf *text = &view->scratch;

	buf_puts(text, " in ");
	glue_name(text, process->comm, process->tgid);
	buf_puts(text, process->exited ? " (ended)" : "");
	put_share_copied(view);
}

static void put_who(struct text_view *view)
{
	const struct growth_picture *picture = &view->incident->growth;
	const struct growth_share *share = &view->judgement->share;

	if (share->by == GROWTH_BY_NONE || share->growth_bytes == 0)
		return;
	flow_label(&view->flow, "");
	put_share(&view->scratch, share->part_bytes, share->growth_bytes);
	if (share->by == GROWTH_BY_NOBODY)
		put_nobody(view);
	else if (share->by == GROWTH_BY_FAMILY && share->index < PICTURE_FAMILIES)
		put_family(view, &picture->families[share->index]);
	else if (share->by == GROWTH_BY_PROCESS && share->index < PICTURE_PROCESSES)
		put_alone(view, &picture->processes[share->index]);
	flow_take(&view->flow, &view->scratch);
}

static uint64_t part_of(const struct picture_process *process)
{
	return growth_part(process->delta_bytes, process->cow_bytes);
}

/* The processes that grew most, most first; returns how many of them are worth telling. */
static unsigned int growers(
	const struct text_view *view, const struct picture_process *ret_growers[GROWERS])
{
	const struct growth_picture *picture = &view->incident->growth;
	uint64_t usage = last_usage(picture), least = view->judgement->share.growth_bytes;
	unsigned int count = 0;

	least = least > 0 ? least / GROWER_SHARE : usage / GROWER_SHARE_OF_USAGE;
	for (unsigned int i = 0; i < picture->process_count && i < PICTURE_PROCESSES; i++) {
		const struct picture_process *process = &picture->processes[i];
		unsigned int at;

		if (part_of(process) == 0 || part_of(process) < least)
			continue;
		if (count == GROWERS && part_of(process) <= part_of(ret_growers[GROWERS - 1]))
			continue;
		at = count < GROWERS ? count++ : GROWERS - 1;
		for (; at > 0 && part_of(process) > part_of(ret_growers[at - 1]); at--)
			ret_growers[at] = ret_growers[at - 1];
		ret_growers[at] = process;
	}
	return count;
}

/* With what they copied: which is not in their RSS, and not to be looked for there. */
static void put_growers(struct text_view *view)
{
	const struct picture_process *list[GROWERS];
	unsigned int count = growers(view, list);
	bool copied = false, upper_bound = false;
	struct buf *text = &view->scratch;

	for (unsigned int i = 0; i < count; i++) {
		bool copies = list[i]->cow_bytes != 0 && list[i]->cow_bytes != UNKNOWN_U64;

		copied |= copies;
		upper_bound |= copies && list[i]->cow_upper_bound;
	}
	/* Of a single one there is nothing to compare. */
	if (count == 0 || (count == 1 && view->judgement->share.by == GROWTH_BY_PROCESS))
		return;
	flow_label(&view->flow, "");
	buf_puts(text, "grew most");
	if (copied)
		buf_puts(text, upper_bound ? ", copies at most" : ", copies counted in");
	for (unsigned int i = 0; i < count; i++) {
		buf_puts(text, i > 0 ? ", " : ": ");
		glue_name(text, list[i]->comm, list[i]->tgid);
		buf_printf(text, "%c+", FLOW_GLUE);
		glue_bytes(text, part_of(list[i]));
		if (list[i]->exited)
			buf_printf(text, "%c(ended)", FLOW_GLUE);
	}
	flow_take(&view->flow, text);
}

void text_history(struct text_view *view)
{
	const struct growth_picture *picture = &view->incident->growth;

	if (!picture->valid)
		return;
	flow_label(&view->flow, "growth");
	/* Who lays out paragraphs has a chart of its own. */
	if (picture->domain_known && view->flow.taker == NULL)
		put_spark(&view->scratch, picture);
	put_trend(view);
	put_shorter(view);
	flow_take(&view->flow, &view->scratch);
	put_who(view);
	put_growers(view);
}

/* --- lines of their own --- */

/* One line, however long: it is looked for with grep and not read as prose. */
struct line {
	struct flow flow;
	struct buf text;
	char data[TEXT_SCRATCH];
};

static void line_begin(struct line *line, struct buf *buf, const struct sink_context *context,
	uint64_t boot_ns, const char *color, const char *tag)
{
	flow_init(&line->flow, buf, INT_MAX, context->color);
	buf_init(&line->text, line->data, sizeof(line->data));
	units_local_time(&line->text, view_wall_ns(context, boot_ns));
	buf_putc(&line->text, ' ');
	flow_raw(&line->flow, line->text.data);
	buf_reset(&line->text);
	flow_colored(&line->flow, color, tag);
	buf_putc(&line->text, ' ');
}

static int line_end(struct line *line, struct buf *buf, size_t start)
{
	flow_take(&line->flow, &line->text);
	flow_end(&line->flow);
	if (!buf->full)
		return 0;
	buf_rewind(buf, start);
	return -ENOSPC;
}

/* Whose it is, where it is of a container or pod. */
static void put_whose(struct buf *text, const char *before, const char *path,
	const struct container_names *names, const char *after)
{
	size_t start = text->len;

	buf_puts(text, before);
	if (text_whose_short(text, path, names))
		buf_puts(text, after);
	else
		buf_rewind(text, start);
}

static void put_changed_cgroup(struct buf *text, const struct growth_change *change,
	const char *path, const struct container_names *names)
{
	text_path(text, path);
	put_whose(text, " (", path, names, ")");
	buf_putc(text, ' ');
	put_signed(text, change->delta_bytes);
	buf_puts(text, " in ");
	glue_duration(
		text, change->time_ns > change->since_ns ? change->time_ns - change->since_ns : 0);
	buf_puts(text, ", uses ");
	glue_bytes(text, change->now_bytes);
	if (change->max_bytes != UNKNOWN_U64) {
		buf_puts(text, " of ");
		glue_bytes(text, change->max_bytes);
	}
}

static void put_changed_process(struct buf *text, const struct growth_change *change,
	const char *path, const struct container_names *names)
{
	glue_name(text, change->comm, change->tgid);
	buf_putc(text, ' ');
	put_signed(text, change->delta_bytes);
	if (change->cow_bytes != 0 && change->cow_bytes != UNKNOWN_U64) {
		buf_puts(text, " (at most ");
		glue_bytes(text, change->cow_bytes);
		buf_puts(text, " more by copy-on-write)");
	}
	buf_puts(text, " in ");
	glue_duration(
		text, change->time_ns > change->since_ns ? change->time_ns - change->since_ns : 0);
	buf_puts(text, change->exited ? ", ended, held " : ", holds ");
	glue_bytes(text, change->now_bytes);
	put_whose(text, ", in ", path, names, "");
}

int text_growth(struct buf *buf, const struct sink_context *context,
	const struct growth_change *change, const char *path, const struct container_names *names)
{
	size_t start = buf->len;
	struct line line;

	line_begin(&line, buf, context, change->time_ns, FLOW_BOLD, "GROWTH");
	if (change->is_cgroup)
		put_changed_cgroup(&line.text, change, path, names);
	else
		put_changed_process(&line.text, change, path, names);
	return line_end(&line, buf, start);
}

static void put_left(struct buf *text, const struct growth_pressure *pressure)
{
	if (pressure->left_ns == UINT64_MAX) {
		buf_puts(text, ", not growing");
		return;
	}
	if (pressure->bytes_per_s > 0 && pressure->bytes_per_s < (double)INT64_MAX) {
		buf_puts(text, ", +");
		glue_bytes(text, (uint64_t)pressure->bytes_per_s);
		buf_puts(text, "/s");
	}
	buf_puts(text, ": full in ");
	glue_duration(text, pressure->left_ns);
}

int text_pressure(struct buf *buf, const struct sink_context *context, uint64_t boot_ns,
	const struct growth_pressure *pressure, const char *path,
	const struct container_names *names, const char *why)
{
	size_t start = buf->len;
	struct line line;
	uint64_t tenths;

	line_begin(&line, buf, context, boot_ns, FLOW_YELLOW, "PRESSURE");
	if (pressure->cgroup_id == 0)
		buf_puts(&line.text, "the machine");
	else
		text_path(&line.text, path);
	put_whose(&line.text, " (", path, names, ")");
	buf_puts(&line.text, " at ");
	if (view_used_tenths(pressure, &tenths)) {
		buf_printf(
			&line.text, "%llu%c%% of ", (unsigned long long)(tenths / 10), FLOW_GLUE);
		glue_bytes(&line.text, pressure->max_bytes);
	} else {
		glue_bytes(&line.text, pressure->usage_bytes);
	}
	put_left(&line.text, pressure);
	if (why != NULL && why[0] != '\0') {
		buf_puts(&line.text, " (threshold ");
		text_terminal(&line.text, why, strlen(why), 0);
		buf_putc(&line.text, ')');
	}
	return line_end(&line, buf, start);
}

int text_stall(struct buf *buf, const struct sink_context *context, uint64_t boot_ns,
	const struct stall_scene *scene, const struct verdict *verdict)
{
	size_t start = buf->len;
	struct line line;

	line_begin(&line, buf, context, boot_ns, scene->ended ? FLOW_BOLD : FLOW_YELLOW, "STALL");
	text_terminal(&line.text, verdict->claim, strlen(verdict->claim), 0);
	put_whose(&line.text, " (", scene->path, scene->names, ")");
	for (unsigned int i = 0; i < verdict->evidence_count && i < VERDICT_EVIDENCE; i++) {
		buf_puts(&line.text, i ? "; " : " ");
		text_terminal(&line.text, verdict->evidence[i], strlen(verdict->evidence[i]), 0);
	}
	return line_end(&line, buf, start);
}
