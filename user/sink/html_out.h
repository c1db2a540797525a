/* SPDX-License-Identifier: Apache-2.0 */
/*
 * html_out.h: markup on its way out, in pieces; for HTML and for SVG (the references and numbers
 * written here are well-formed in both).
 *
 * Three kinds of text, and they must not be mixed up: markup of our own (html_raw, html_printf),
 * arbitrary bytes (html_text), and what the text view has made harmless already (html_shown). After
 * a failed write everything is a no-op and html_finish() returns what the writer returned.
 */
#ifndef OOMSNOOP_SINK_HTML_OUT_H
#define OOMSNOOP_SINK_HTML_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* No single append is larger: a path of which every byte becomes a character reference. */
#define HTML_APPEND_MAX (8U << 10)

typedef int html_writer(const char *data, size_t len, void *arg);

struct html_out {
	html_writer *write;
	void *arg;
	int result;
	struct buf buf;
	char data[4 * HTML_APPEND_MAX];
};

void html_out_init(struct html_out *out, html_writer *write, void *arg);
int html_finish(struct html_out *out);

void html_raw(struct html_out *out, const char *markup);
void html_data(struct html_out *out, const char *markup, size_t len);
/* Numbers and literals only. */
void html_printf(struct html_out *out, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void html_text(struct html_out *out, const char *bytes);
/* Harmless already; FLOW_GLUE becomes a space that does not break. */
void html_shown(struct html_out *out, const char *text);

void html_bytes(struct html_out *out, uint64_t bytes);
void html_signed_bytes(struct html_out *out, int64_t bytes); /* "+12.0 GiB", "-3 MiB", "0" */
void html_count(struct html_out *out, int64_t count);
void html_duration(struct html_out *out, uint64_t ns);
void html_name(struct html_out *out, const char *comm, uint32_t pid); /* python3[31415] */

/* A line of JSON as text: still the same JSON, with what would turn or hide text escaped in JSON's
 * own way. */
void html_json_text(struct html_out *out, const char *json, size_t len);
/* JSON inside a script element: nothing in it can end the element. */
void html_json_data(struct html_out *out, const char *json, size_t len);

#endif /* OOMSNOOP_SINK_HTML_OUT_H */
