/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A kernel log as text, read the way `oomsnoop parse` reads it: lines, reports, incidents, judged.
 */
#ifndef OOMSNOOP_TESTS_KLOG_FIXTURE_H
#define OOMSNOOP_TESTS_KLOG_FIXTURE_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "judge/judgement.h"
#include "model/imported.h"
#include "model/klog_report.h"
#include "source/klog_input.h"
#include "source/klog_stream.h"

#define LOG_INCIDENTS 12

/* One block, so that free() is all it needs. */
struct log_result {
	unsigned int count;
	struct incident *incidents;
	struct host_facts *hosts;
	struct judgement *judgements;
};

struct log_reader {
	struct log_result log;
	struct importer *importer;
	struct klog_reports *reports;
};

/* As if this machine were two hours east of Greenwich. */
static inline int64_t log_zone(int64_t civil_ns)
{
	return civil_ns - 7200LL * 1000000000LL;
}

static inline void log_take(void *arg, const struct klog_report *report)
{
	static const struct coverage nothing;
	struct log_reader *reader = arg;
	struct log_result *log = &reader->log;
	struct incident *incident = &log->incidents[log->count];
	struct host_facts *host = &log->hosts[log->count];

	assert_true(log->count < LOG_INCIDENTS);
	if (!importer_incident(reader->importer, report, incident, host))
		return;
	judge_incident(incident, host, &nothing, &log->judgements[log->count]);
	log->count++;
}

static inline void log_record(void *arg, const struct klog_record *record)
{
	struct log_reader *reader = arg;

	klog_reports_record(reader->reports, record);
}

static inline struct log_result *log_pack(const struct log_result *from)
{
	size_t count = from->count ? from->count : 1;
	struct log_result *ret = malloc(
		sizeof(*ret) +
		count * (sizeof(*ret->incidents) + sizeof(*ret->hosts) + sizeof(*ret->judgements)));

	assert_non_null(ret);
	ret->count = from->count;
	ret->incidents = (struct incident *)(ret + 1);
	ret->judgements = (struct judgement *)(ret->incidents + count);
	ret->hosts = (struct host_facts *)(ret->judgements + count);
	memcpy(ret->incidents, from->incidents, count * sizeof(*ret->incidents));
	memcpy(ret->judgements, from->judgements, count * sizeof(*ret->judgements));
	memcpy(ret->hosts, from->hosts, count * sizeof(*ret->hosts));
	return ret;
}

/* Of a descriptor, so that binary fields and packed files are read as they are. */
static inline struct log_result *log_of_fd(int fd)
{
	static struct incident incidents[LOG_INCIDENTS];
	static struct host_facts hosts[LOG_INCIDENTS];
	static struct judgement judgements[LOG_INCIDENTS];
	struct log_reader reader = {
		.log = {.incidents = incidents, .hosts = hosts, .judgements = judgements}};
	struct klog_input *input = klog_input_new(fd);
	struct klog_stream *stream = klog_stream_new(input, log_record, &reader);
	const char *line;
	size_t len;

	reader.importer = importer_new(log_zone);
	reader.reports = klog_reports_new(log_take, &reader);
	for (;;) {
		if (klog_reports_idle(reader.reports) && klog_stream_idle(stream) &&
			klog_input_skip(input, klog_needles))
			klog_stream_end(stream);
		if (klog_input_line(input, &line, &len) <= 0)
			break;
		klog_reports_at(reader.reports, klog_input_lines(input));
		klog_stream_line(stream, line, len);
	}
	klog_stream_end(stream);
	klog_reports_end(reader.reports);
	klog_stream_free(stream);
	klog_input_free(input);
	klog_reports_free(reader.reports);
	importer_free(reader.importer);
	return log_pack(&reader.log);
}

static inline struct log_result *log_of_bytes(const char *text, size_t len)
{
	FILE *file = tmpfile();
	struct log_result *log;

	assert_non_null(file);
	assert_int_equal(fwrite(text, 1, len, file), len);
	assert_int_equal(fflush(file), 0);
	assert_int_equal(lseek(fileno(file), 0, SEEK_SET), 0);
	log = log_of_fd(fileno(file));
	fclose(file);
	return log;
}

static inline struct log_result *log_of(const char *text)
{
	return log_of_bytes(text, strlen(text));
}

static inline const struct verdict *log_verdict(
	const struct log_result *log, unsigned int index, const char *id)
{
	for (unsigned int i = 0; i < log->judgements[index].verdict_count; i++)
		if (!strcmp(log->judgements[index].verdicts[i].id, id))
			return &log->judgements[index].verdicts[i];
	return NULL;
}

static inline bool log_misses(const struct log_result *log, unsigned int index, const char *field)
{
	for (unsigned int i = 0; i < log->judgements[index].missing_count; i++)
		if (!strcmp(log->judgements[index].missing[i].field, field))
			return true;
	return false;
}

#endif /* OOMSNOOP_TESTS_KLOG_FIXTURE_H */
