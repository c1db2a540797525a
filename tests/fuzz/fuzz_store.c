// SPDX-License-Identifier: Apache-2.0
/*
 * A capture store of any bytes, opened and told in every way: whatever is in the file, nothing may
 * crash, read past an end or overflow. What is damaged is said by the store; here only that the
 * rest holds.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"
#include "judge/judgement.h"
#include "model/chart.h"
#include "model/store.h"
#include "sink/html.h"
#include "sink/sink.h"

#define INCIDENTS_MAX 8

static char text[SINK_JSON_MAX];
static struct captured captured;
static struct judgement judgement;
static unsigned int told;

static int swallow(const char *data, size_t len, void *arg)
{
	size_t *sum = arg;

	for (size_t i = 0; i < len; i++)
		*sum += (unsigned char)data[i];
	return 0;
}

static void tell_page(struct store *store, const struct sink_context *context)
{
	const struct incident *incident = &captured.incident;
	uint64_t domain =
		judgement.limit_level >= 0 ? incident->levels[judgement.limit_level].id : 0;
	int64_t to_ns = (int64_t)(incident->time_ns & INT64_MAX), from_ns = to_ns / 2;
	struct chart_maker *maker = chart_new(incident, domain, UNKNOWN_U64, from_ns, to_ns);
	struct html_page page = {.context = context, .incident = incident, .judgement = &judgement};
	struct history_taker taker;
	struct chart chart;
	size_t sum = 0;

	if (!maker)
		return;
	taker = chart_taker(maker);
	store_history(store, &captured, domain, from_ns, to_ns, &taker);
	if (chart_finish(maker, &chart))
		return;
	page.chart = &chart;
	html_page(&page, swallow, &sum);
	svg_file(context, incident, &judgement, &chart, swallow, &sum);
	chart_free(&chart);
}

static int tell(const struct store_line *line, void *arg)
{
	struct sink_context context = {.width = 80};
	struct store *store = arg;
	struct buf buf;

	if (store_load(store, line->id, &captured))
		return ++told >= INCIDENTS_MAX;
	sink_context_of(&context, &captured.run, &captured.moment);
	judge_incident(
		&captured.incident, &captured.run.host, &captured.moment.coverage, &judgement);
	buf_init(&buf, text, sizeof(text));
	json_incident(&buf, &context, &captured.incident, &judgement);
	buf_reset(&buf);
	text_incident(&buf, &context, &captured.incident, &judgement);
	tell_page(store, &context);
	return ++told >= INCIDENTS_MAX;
}

static void tell_gap(const struct store_gap *gap, void *arg)
{
	*(uint64_t *)arg += store_gap_name(gap->why) != NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("store", MFD_CLOEXEC);
	struct store_summary summary;
	struct store *store;
	char path[64];
	uint64_t gaps = 0;
	int error;

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	store = store_open(path, &error);
	if (store && !error) {
		told = 0;
		store_each(store, INT64_MIN, INT64_MAX, false, tell, store);
		store_gaps(store, INT64_MIN, INT64_MAX, tell_gap, &gaps);
		store_summary(store, &summary);
	}
	if (store)
		store_close(store);
	close(fd);
	return 0;
}
