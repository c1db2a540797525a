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

struct log_result {
	unsigned int count;
	struct incident incidents[LOG_INCIDENTS];
	struct host_facts hosts[LOG_INCIDENTS];
	struct judgement judgements[LOG_INCIDENTS];
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
	struct log_result *log = arg;

	assert_true(log->count < LOG_INCIDENTS);
	if (!importer_incident(
		    log->importer, report, &log->incidents[log->count], &log->hosts[log->count]))
		return;
	judge_incident(&log->incidents[log->count], &log->hosts[log->count], &nothing,
		&log->judgements[log->count]);
	log->count++;
}

static inline void log_record(void *arg, const struct klog_record *record)
{
	struct log_result *log = arg;

	klog_reports_record(log->reports, record);
}

/* Of a descriptor, so that binary fields and packed files are read as they are. */
static inline struct log_result *log_of_fd(int fd)
{
	struct log_result *log = calloc(1, sizeof(*log));
	struct klog_input *input = klog_input_new(fd);
	struct klog_stream *stream = klog_stream_new(input, log_record, log);
	const char *line;
	size_t len;

	log->importer = importer_new(log_zone);
	log->reports = klog_reports_new(log_take, log);
	for (;;) {
		if (klog_reports_idle(log->reports) && klog_stream_idle(stream) &&
			klog_input_skip(input, klog_needles))
			klog_stream_end(stream);
		if (klog_input_line(input, &line, &len) <= 0)
			break;
		klog_reports_at(log->reports, klog_input_lines(input));
		klog_stream_line(stream, line, len);
	}
	klog_stream_end(stream);
	klog_reports_end(log->reports);
	klog_stream_free(stream);
	klog_input_free(input);
	klog_reports_free(log->reports);
	importer_free(log->importer);
	return log;
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
