// SPDX-License-Identifier: Apache-2.0
/*
 * A kernel log of any bytes, plain or packed, read, judged and told in both forms: nothing may
 * crash, read past an end or overflow; a record in JSON is one line of JSON, one in text holds no
 * byte that a terminal would obey; a report is told once it is over, and none twice.
 */
#include <jansson.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"
#include "judge/judgement.h"
#include "model/imported.h"
#include "model/klog_report.h"
#include "sink/sink.h"
#include "source/klog_input.h"
#include "source/klog_stream.h"

static struct incident incident;
static struct judgement judgement;
static char text[SINK_JSON_MAX];

struct run {
	struct importer *importer;
	struct klog_reports *reports;
	struct sink_context context;
	struct host_facts host;
	uint64_t sequence;
};

static int64_t an_hour_east(int64_t civil_ns)
{
	return civil_ns - 3600 * 1000000000LL;
}

static void wrong(const char *what, const struct buf *buf)
{
	fprintf(stderr, "%s:\n%.*s\n", what, (int)buf->len, buf->data);
	abort();
}

static void check_json(const struct buf *buf)
{
	json_error_t error;
	json_t *record;

	if (!buf->len || memchr(buf->data, '\n', buf->len) != buf->data + buf->len - 1)
		wrong("more or less than a line", buf);
	record = json_loadb(buf->data, buf->len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);
	if (!record || !json_is_object(record))
		wrong(error.text, buf);
	json_decref(record);
}

static void check_text(const struct buf *buf)
{
	for (size_t i = 0; i < buf->len; i++) {
		unsigned char byte = (unsigned char)buf->data[i];

		if ((byte < ' ' && byte != '\n') || byte == 0x7f)
			wrong("a control character", buf);
	}
}

static void tell(void *arg, const struct klog_report *report)
{
	static const struct coverage nothing_traced;
	struct run *run = arg;
	struct buf buf;

	if (report->sequence <= run->sequence)
		abort();
	run->sequence = report->sequence;
	if (!importer_incident(run->importer, report, &incident, &run->host))
		return;
	incident.number++;
	judge_incident(&incident, &run->host, &nothing_traced, &judgement);
	buf_init(&buf, text, sizeof(text));
	if (!json_incident(&buf, &run->context, &incident, &judgement))
		check_json(&buf);
	buf_init(&buf, text, sizeof(text));
	if (!text_incident(&buf, &run->context, &incident, &judgement))
		check_text(&buf);
}

static void take(void *arg, const struct klog_record *record)
{
	struct run *run = arg;

	klog_reports_record(run->reports, record);
}

static void read_all(struct run *run, struct klog_input *input, struct klog_stream *stream)
{
	const char *line;
	size_t len;

	for (;;) {
		if (klog_reports_idle(run->reports) && klog_stream_idle(stream) &&
			klog_input_skip(input, klog_needles))
			klog_stream_end(stream);
		if (klog_input_line(input, &line, &len) <= 0)
			break;
		if (len > KLOG_LINE_MAX)
			abort();
		klog_reports_at(run->reports, klog_input_lines(input));
		klog_stream_line(stream, line, len);
	}
	klog_stream_end(stream);
	klog_reports_end(run->reports);
	if (!klog_reports_idle(run->reports))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct run run = {.context = {.width = 80}};
	int fd = memfd_create("klog", MFD_CLOEXEC);
	struct klog_input *input;
	struct klog_stream *stream;

	if (fd < 0 || write(fd, data, size) != (ssize_t)size || lseek(fd, 0, SEEK_SET))
		abort();
	run.context.host = &run.host;
	run.importer = importer_new(an_hour_east);
	run.reports = klog_reports_new(tell, &run);
	input = klog_input_new(fd);
	stream = klog_stream_new(input, take, &run);
	if (!run.importer || !run.reports || !input || !stream)
		abort();
	read_all(&run, input, stream);
	klog_stream_free(stream);
	klog_input_free(input);
	klog_reports_free(run.reports);
	importer_free(run.importer);
	close(fd);
	return 0;
}
