// SPDX-License-Identifier: Apache-2.0
#include "source/klog_stream.h"

#include <stdlib.h>
#include <string.h>

#include "source/klog_entry.h"

#define TEXT_MAX KLOG_LINE_MAX
#define JOINS_MAX 64
#define ESC '\x1b'

/* Each decision has a line with one of the first three; a table may be longer than what is looked
 * at before it. Bytes that are no text are written as numbers, so nothing is found in them. */
const char *const klog_needles[] = {"oom-kill", "Killed process", "ut of memory", "total_vm",
	"\"MESSAGE\":[", "\"MESSAGE\" : [", NULL};

enum entry_mode { ENTRY_NONE, ENTRY_EXPORT, ENTRY_VERBOSE, ENTRY_PRETTY };

enum join { JOIN_AS_SEEN, JOIN_BLANK, JOIN_TIGHT, JOIN_NEWLINE, JOIN_WAYS };

/* A line that is held until it is clear that the next one does not belong to it. */
struct pending {
	bool used;
	struct klog_prefix prefix; /* its texts are in `names` */
	char boot_id[37];
	unsigned int joins;
	bool raised; /* the last piece is longer than any line before it */
	bool full; /* a piece of it is as long as any line: broken, not followed by another */
	size_t ends[JOINS_MAX]; /* where each piece but the last one ends in text */
	enum join seen[JOINS_MAX]; /* what was lost at that place, as far as is known */
	size_t blanks[JOINS_MAX]; /* that were trimmed there */
	size_t physical, trimmed; /* length of the last piece's line; blanks at its end */
	size_t len;
	char names[512];
	char text[TEXT_MAX];
};

struct klog_stream {
	struct klog_input *input;
	klog_record_fn fn;
	void *arg;
	struct klog_layout layout;
	size_t widths[2]; /* the longest line so far, plain and quoted: where they may be broken */
	uint64_t breaks[2]; /* of lines: that were shorter than that, and as long */
	bool raised; /* the last line was longer than any before it: no evidence of where they break
		      */
	enum entry_mode mode;
	struct pending pending;
	struct klog_entry entry;
	char plain[TEXT_MAX]; /* without colours */
	char decoded[TEXT_MAX];
	char joined[TEXT_MAX];
};

struct klog_stream *klog_stream_new(struct klog_input *input, klog_record_fn fn, void *arg)
{
	struct klog_stream *stream = calloc(1, sizeof(*stream));

	if (!stream)
		return NULL;
	stream->input = input;
	stream->fn = fn;
	stream->arg = arg;
	return stream;
}

void klog_stream_free(struct klog_stream *stream)
{
	free(stream);
}

/* --- telling --- */

static void tell(struct klog_stream *stream, struct klog_line *line)
{
	const struct pending *pending = &stream->pending;
	struct klog_record record = {
		.stamp = &pending->prefix.stamp,
		.speaker = pending->prefix.speaker,
		.host = pending->prefix.host,
		.caller = pending->prefix.caller,
		.boot_id = scan_of(pending->boot_id, strlen(pending->boot_id)),
		.line = line,
	};

	line->escaped = pending->prefix.escape == KLOG_ESCAPE_DMESG;
	if (line->kind == KLOG_TABLE)
		stream->layout = line->table;
	if (line->kind != KLOG_NONE)
		stream->fn(stream->arg, &record);
}

/* A record of several lines is one line for the kernel only where a name has the newline in it. */
static void tell_text(struct klog_stream *stream, struct scan text)
{
	struct scan rest = text, part;
	struct klog_line line, first, next;
	const char *newline = memchr(text.at, '\n', scan_left(&text));

	klog_line_parse(text, &stream->layout, &line);
	if (newline && line.whole) {
		klog_line_parse((struct scan) {text.at, newline}, &stream->layout, &first);
		klog_line_parse((struct scan) {newline + 1, text.end}, &stream->layout, &next);
		if (first.kind == KLOG_NONE || next.kind == KLOG_NONE) {
			tell(stream, &line);
			return;
		}
	}
	if (!newline) {
		tell(stream, &line);
		return;
	}
	while (scan_line(&rest, &part)) {
		klog_line_parse(part, &stream->layout, &line);
		tell(stream, &line);
	}
}

/* --- putting together what was broken --- */

static struct scan join(struct klog_stream *stream, enum join how)
{
	const struct pending *pending = &stream->pending;
	size_t from = 0, len = 0;

	for (unsigned int i = 0; i <= pending->joins; i++) {
		size_t end = i < pending->joins ? pending->ends[i] : pending->len;
		enum join here = i && how == JOIN_AS_SEEN ? pending->seen[i - 1] : how;

		/* What was trimmed there belongs between the two. */
		for (size_t j = 0; i && here == JOIN_TIGHT && how == JOIN_AS_SEEN &&
				   j < pending->blanks[i - 1];
			j++)
			if (len < TEXT_MAX)
				stream->joined[len++] = ' ';
		if (i && here != JOIN_TIGHT && len < TEXT_MAX)
			stream->joined[len++] = here == JOIN_NEWLINE ? '\n' : ' ';
		if (end - from > TEXT_MAX - len)
			end = from + TEXT_MAX - len;
		memcpy(stream->joined + len, pending->text + from, end - from);
		len += end - from;
		from = i < pending->joins ? pending->ends[i] : end;
	}
	return scan_of(stream->joined, len);
}

/* Ends with a name, or with text that may be any: whatever follows would be taken for a part of it.
 */
static bool ends_open(const struct klog_stream *stream, struct scan text)
{
	struct klog_line line;

	klog_line_parse(text, &stream->layout, &line);
	return line.whole && (line.kind == KLOG_ROW || line.kind == KLOG_TASK_IN ||
				     line.kind == KLOG_CPU || line.kind == KLOG_STACK ||
				     line.kind == KLOG_BUDDY || line.kind == KLOG_PANIC ||
				     line.kind == KLOG_BOOT || line.kind == KLOG_ALLOC_FAILURE);
}

static bool is_whole(const struct klog_stream *stream, struct scan text)
{
	struct klog_line line;

	klog_line_parse(text, &stream->layout, &line);
	return line.whole;
}

static void flush(struct klog_stream *stream)
{
	struct pending *pending = &stream->pending;
	struct scan first, text;

	if (!pending->used)
		return;
	pending->used = false;
	first = scan_of(pending->text, pending->joins ? pending->ends[0] : pending->len);
	if (!pending->joins ||
		(!pending->prefix.quoted && !pending->full && ends_open(stream, first))) {
		tell_text(stream, first);
		return;
	}
	for (int how = JOIN_AS_SEEN; how < JOIN_WAYS; how++) {
		text = join(stream, (enum join)how);
		if (is_whole(stream, text)) {
			tell_text(stream, text);
			return;
		}
	}
	tell_text(stream, first);
}

/* --- the next line --- */

/* Undoes what the transport did to bytes that are not printable. */
static struct scan unescape(struct klog_stream *stream, struct scan text, enum klog_escape escape)
{
	static const char hex[] = "0123456789abcdef", octal[] = "01234567";
	size_t len = 0;

	if (escape == KLOG_ESCAPE_DMESG || escape == KLOG_ESCAPE_DONE ||
		!memchr(text.at, escape == KLOG_ESCAPE_KMSG ? '\\' : '#', scan_left(&text)))
		return text;
	while (!scan_done(&text) && len < TEXT_MAX) {
		const char *at = text.at, *high, *low, *lowest;
		size_t left = scan_left(&text);

		if (escape == KLOG_ESCAPE_KMSG && left >= 4 && at[0] == '\\' && at[1] == 'x' &&
			(high = memchr(hex, at[2], 16)) && (low = memchr(hex, at[3], 16))) {
			stream->decoded[len++] = (char)((high - hex) << 4 | (low - hex));
			text.at += 4;
		} else if (escape == KLOG_ESCAPE_SYSLOG && left >= 4 && at[0] == '#' &&
			   (high = memchr(octal, at[1], 2)) && (low = memchr(octal, at[2], 8)) &&
			   (lowest = memchr(octal, at[3], 8)) &&
			   ((high == octal && low - octal < 4) || !memcmp(at, "#177", 4))) {
			stream->decoded[len++] =
				(char)((high - octal) << 6 | (low - octal) << 3 | (lowest - octal));
			text.at += 4;
		} else {
			stream->decoded[len++] = *text.at++;
		}
	}
	return scan_of(stream->decoded, len);
}

/* What the prefix points at goes with the next line that is read. */
static struct scan keep(struct pending *pending, size_t *len, struct scan text)
{
	size_t size = scan_left(&text);

	if (size > sizeof(pending->names) - *len)
		return (struct scan) {0};
	/* They may be there already. */
	if (size)
		memmove(pending->names + *len, text.at, size);
	text = scan_of(pending->names + *len, size);
	*len += size;
	return text;
}

static void hold(struct klog_stream *stream, const struct klog_prefix *prefix, struct scan body,
	size_t physical)
{
	struct pending *pending = &stream->pending;
	size_t len = 0;

	body = unescape(stream, body, prefix->escape);
	pending->used = true;
	pending->prefix = *prefix;
	pending->prefix.host = keep(pending, &len, prefix->host);
	pending->prefix.caller = keep(pending, &len, prefix->caller);
	pending->prefix.stamp.text = keep(pending, &len, prefix->stamp.text);
	pending->joins = 0;
	pending->full = false;
	pending->physical = physical;
	pending->raised = stream->raised;
	pending->trimmed = prefix->trimmed;
	pending->len = scan_left(&body) < TEXT_MAX ? scan_left(&body) : TEXT_MAX;
	memcpy(pending->text, body.at, pending->len);
}

/* Is the last piece as long as any line of this log? */
static bool is_full(const struct klog_stream *stream)
{
	const struct pending *pending = &stream->pending;

	return pending->physical >= stream->widths[pending->prefix.quoted > 0];
}

/* False: it is full, or there is nothing that could go on. */
static bool append(struct klog_stream *stream, const struct klog_prefix *prefix, size_t physical)
{
	struct pending *pending = &stream->pending;
	struct scan body = unescape(stream, prefix->body, pending->prefix.escape);
	size_t from;
	bool full;

	if (pending->joins == JOINS_MAX || scan_left(&body) > TEXT_MAX - pending->len)
		return false;
	full = is_full(stream);
	if (!pending->raised)
		stream->breaks[full]++;
	pending->full |= full;
	/* Lines that are broken at blanks have many lengths, but for words that are longer than a
	 * line; those that are cut have one. */
	from = pending->joins ? pending->ends[pending->joins - 1] : 0;
	pending->seen[pending->joins] =
		full && (stream->breaks[true] >= 4 * stream->breaks[false] ||
				!memchr(pending->text + from, ' ', pending->len - from))
			? JOIN_TIGHT
			: JOIN_BLANK;
	if (prefix->stamped)
		pending->seen[pending->joins] = prefix->continued ? JOIN_TIGHT : JOIN_NEWLINE;
	pending->ends[pending->joins] = pending->len;
	pending->blanks[pending->joins] = pending->trimmed;
	pending->joins++;
	pending->physical = physical;
	pending->raised = stream->raised;
	pending->trimmed = prefix->trimmed;
	memcpy(pending->text + pending->len, body.at, scan_left(&body));
	pending->len += scan_left(&body);
	return true;
}

/* Only a name may have broken it: these end with one, or have more behind it. */
static bool may_be_broken(const struct klog_line *line)
{
	return !line->whole && (line->kind == KLOG_KILL || line->kind == KLOG_SUMMARY ||
				       line->kind == KLOG_CHOICE || line->kind == KLOG_ROW);
}

/* Does the line that is held go on here? */
static bool goes_on(
	struct klog_stream *stream, const struct klog_prefix *prefix, const struct klog_line *line)
{
	const struct pending *pending = &stream->pending;
	struct klog_line held;

	if (!pending->used || scan_done(&prefix->body) || pending->prefix.quoted != prefix->quoted)
		return false;
	if (prefix->continued)
		return true;
	if (!prefix->stamped && pending->prefix.stamped && prefix->quoted)
		return true;
	if (line->kind != KLOG_NONE)
		return false;
	klog_line_parse(scan_of(pending->text, pending->len), &stream->layout, &held);
	if (!prefix->stamped)
		return pending->prefix.stamped || !held.whole;
	/* Every line of one record has the record's own stamp. */
	return may_be_broken(&held) && pending->prefix.stamped && prefix->stamp.has_mono &&
	       prefix->stamp.mono_ns == pending->prefix.stamp.mono_ns;
}

/* A log that was pasted into something is indented: that is no part of the name that a line begins
 * with. One blank may be. */
static void pass_indentation(const struct klog_stream *stream, struct klog_prefix *prefix)
{
	struct scan body = prefix->body;
	struct klog_line line;

	scan_blanks(&body);
	if (prefix->stamped || body.at - prefix->body.at < 2)
		return;
	klog_line_parse(body, &stream->layout, &line);
	if (line.kind != KLOG_NONE)
		prefix->body = body;
}

static void take(struct klog_stream *stream, struct klog_prefix *prefix, size_t physical)
{
	size_t *width = &stream->widths[prefix->quoted > 0];
	struct klog_line line;

	stream->raised = physical > *width;
	if (stream->raised)
		*width = physical;
	if (prefix->speaker == KLOG_PROGRAM || (scan_done(&prefix->body) && !prefix->stamped)) {
		flush(stream);
		return;
	}
	pass_indentation(stream, prefix);
	klog_line_parse(prefix->body, &stream->layout, &line);
	if (goes_on(stream, prefix, &line) && append(stream, prefix, physical))
		return;
	/* One more line of a record whose first line had the stamp. */
	if (!prefix->stamped && stream->pending.used && stream->pending.prefix.stamped &&
		prefix->quoted == stream->pending.prefix.quoted) {
		struct klog_prefix first = stream->pending.prefix;

		flush(stream);
		hold(stream, &first, prefix->body, physical);
		return;
	}
	flush(stream);
	stream->pending.boot_id[0] = '\0';
	hold(stream, prefix, prefix->body, physical);
}

/* --- entries --- */

static void fill_missing(struct klog_prefix *prefix, const struct klog_entry *entry)
{
	if (!prefix->stamp.has_wall && entry->stamp.has_wall) {
		prefix->stamp.has_wall = true;
		prefix->stamp.has_year = entry->stamp.has_year;
		prefix->stamp.has_zone = entry->stamp.has_zone;
		prefix->stamp.wall_ns = entry->stamp.wall_ns;
	}
	if (!prefix->stamp.has_mono && entry->stamp.has_mono) {
		prefix->stamp.has_mono = true;
		prefix->stamp.mono_ns = entry->stamp.mono_ns;
	}
	if (!scan_left(&prefix->host))
		prefix->host = scan_of(entry->host, strlen(entry->host));
	if (entry->speaker == KLOG_PROGRAM || prefix->speaker == KLOG_ANYBODY)
		prefix->speaker = entry->speaker;
}

static void take_entry(struct klog_stream *stream)
{
	struct klog_entry *entry = &stream->entry;
	struct scan text = scan_of(entry->text, entry->len), line;
	struct klog_prefix prefix;

	if (!entry->has_text)
		return;
	if (entry->inner) {
		while (scan_line(&text, &line)) {
			klog_prefix_parse(line.at, scan_left(&line), &prefix);
			fill_missing(&prefix, entry);
			take(stream, &prefix, 0);
		}
		return;
	}
	/* The journal keeps a record whole, so it is told as it is. */
	flush(stream);
	if (entry->speaker == KLOG_PROGRAM)
		return;
	prefix = (struct klog_prefix) {.stamped = true, .escape = KLOG_ESCAPE_DONE, .body = text};
	fill_missing(&prefix, entry);
	memcpy(stream->pending.boot_id, entry->boot_id, sizeof(entry->boot_id));
	hold(stream, &prefix, text, 0);
	flush(stream);
}

static bool is_name(struct scan text)
{
	if (!scan_left(&text))
		return false;
	for (; !scan_done(&text); text.at++)
		if (!(*text.at >= 'A' && *text.at <= 'Z') && *text.at != '_' &&
			!(*text.at >= '0' && *text.at <= '9'))
			return false;
	return true;
}

/* A name alone in its line: 8 bytes of length, and so many bytes, follow. */
static bool take_binary(struct klog_stream *stream, struct scan name)
{
	char copy[64];
	const char *bytes;
	uint64_t len = 0;

	if (!stream->input || scan_copy(&name, copy, sizeof(copy)) ||
		!klog_input_bytes(stream->input, 8, &bytes))
		return false;
	for (int i = 7; i >= 0; i--)
		len = len << 8 | (unsigned char)bytes[i];
	if (!klog_input_bytes(stream->input, len, &bytes))
		return false;
	klog_entry_field(&stream->entry, scan_of(copy, strlen(copy)), scan_of(bytes, len));
	return klog_input_bytes(stream->input, 1, &bytes);
}

static void end_entry(struct klog_stream *stream)
{
	if (stream->mode != ENTRY_NONE)
		take_entry(stream);
	stream->mode = ENTRY_NONE;
}

static void begin_entry(struct klog_stream *stream, enum entry_mode mode)
{
	end_entry(stream);
	klog_entry_begin(&stream->entry);
	stream->mode = mode;
}

/* "Mon 2024-01-01 00:00:00.123456 UTC [s=…;i=…]": the head of an entry as -o verbose shows it. */
static bool is_verbose_head(struct scan line)
{
	return memmem(line.at, scan_left(&line), " [s=", 4) && line.end[-1] == ']';
}

/* True: the line was one of an entry's. */
static bool take_entry_line(struct klog_stream *stream, struct scan line)
{
	struct scan bare = line;
	struct klog_prefix head;

	scan_blanks(&bare);
	if (stream->mode == ENTRY_PRETTY) {
		if (scan_text(&bare, "}"))
			end_entry(stream);
		else
			klog_entry_pretty(&stream->entry, bare);
		return true;
	}
	if (scan_equals(&bare, "{")) {
		begin_entry(stream, ENTRY_PRETTY);
		return true;
	}
	if (scan_text(&line, "__CURSOR=")) {
		begin_entry(stream, ENTRY_EXPORT);
		return true;
	}
	if (scan_left(&line) > 40 && is_verbose_head(line)) {
		begin_entry(stream, ENTRY_VERBOSE);
		klog_prefix_parse(line.at, scan_left(&line), &head);
		stream->entry.stamp = head.stamp;
		stream->entry.stamp.text = (struct scan) {0};
		return true;
	}
	if (stream->mode == ENTRY_NONE)
		return false;
	if (stream->mode == ENTRY_EXPORT && scan_done(&line)) {
		end_entry(stream);
		return true;
	}
	if (klog_entry_assignment(&stream->entry, line) ||
		(stream->mode == ENTRY_EXPORT && is_name(line) && take_binary(stream, line)))
		return true;
	/* More lines of a value, or the end of it all. */
	if (stream->mode == ENTRY_VERBOSE && !scan_done(&line) && *line.at == ' ')
		return true;
	end_entry(stream);
	return false;
}

/* --- lines --- */

/* "\e[32m[ 12.345] \e[0m": dmesg in colours */
static struct scan without_colours(struct klog_stream *stream, struct scan line)
{
	size_t len = 0;

	if (scan_done(&line) || *line.at != ESC)
		return line;
	while (!scan_done(&line) && len < TEXT_MAX) {
		const char *at = line.at + 1;

		if (*line.at == ESC && at < line.end && *at == '[') {
			for (at++; at < line.end && ((*at >= '0' && *at <= '9') || *at == ';');
				at++)
				;
			if (at < line.end && (*at == 'm' || *at == 'K')) {
				line.at = at + 1;
				continue;
			}
		}
		stream->plain[len++] = *line.at++;
	}
	return scan_of(stream->plain, len);
}

void klog_stream_line(struct klog_stream *stream, const char *line, size_t len)
{
	struct scan text = without_colours(stream, scan_of(line, len)), object = text;
	struct klog_prefix prefix;

	if (scan_left(&text) && text.end[-1] == '\r')
		text.end--;
	if (take_entry_line(stream, text))
		return;
	scan_blanks(&object);
	if (scan_left(&object) > 2 &&
		(*object.at == '{' || *object.at == '\x1e' || !memcmp(object.at, "data", 3)) &&
		klog_entry_json(&stream->entry, object)) {
		take_entry(stream);
		return;
	}
	klog_prefix_parse(text.at, scan_left(&text), &prefix);
	take(stream, &prefix, len);
}

void klog_stream_entry(struct klog_stream *stream, const struct klog_entry *entry)
{
	end_entry(stream);
	memcpy(&stream->entry, entry, offsetof(struct klog_entry, text) + entry->len);
	take_entry(stream);
}

void klog_stream_end(struct klog_stream *stream)
{
	end_entry(stream);
	flush(stream);
}

bool klog_stream_idle(const struct klog_stream *stream)
{
	const struct pending *pending = &stream->pending;
	struct klog_line line;

	if (stream->mode != ENTRY_NONE)
		return false;
	if (!pending->used)
		return true;
	klog_line_parse(scan_of(pending->text, pending->len), &stream->layout, &line);
	return line.kind == KLOG_NONE && !pending->prefix.quoted;
}
