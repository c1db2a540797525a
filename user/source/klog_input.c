// SPDX-License-Identifier: Apache-2.0
#include "source/klog_input.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "source/klog_needles.h"
#include "source/klog_unpack.h"

#define BUFFER_BYTES (512U << 10)

struct klog_input {
	struct klog_unpack *unpack;
	bool eof;
	int error; /* told once all that came before it was handed out */
	bool in_long; /* the rest of a line that was cut is passed over */
	uint64_t cut, lines;
	size_t at, len; /* of data */
	struct klog_needles needles;
	size_t clean; /* no needle begins before this offset into data and behind `at` */
	bool is_needle; /* one begins there */
	char data[BUFFER_BYTES];
};

struct klog_input *klog_input_new(int fd)
{
	struct klog_input *input = calloc(1, sizeof(*input));

	if (!input)
		return NULL;
	input->unpack = klog_unpack_new(fd);
	if (!input->unpack) {
		free(input);
		return NULL;
	}
	return input;
}

void klog_input_free(struct klog_input *input)
{
	if (!input)
		return;
	klog_unpack_free(input->unpack);
	free(input);
}

/* Reads behind what is left. False: nothing more comes. */
static bool fill(struct klog_input *input)
{
	ssize_t got;

	if (input->eof)
		return false;
	if (input->len - input->at == BUFFER_BYTES)
		return true;
	if (input->at) {
		memmove(input->data, input->data + input->at, input->len - input->at);
		input->len -= input->at;
		if (input->clean < input->at)
			input->is_needle = false;
		input->clean = input->clean > input->at ? input->clean - input->at : 0;
		input->at = 0;
	}
	got = klog_unpack_read(input->unpack, input->data + input->len, BUFFER_BYTES - input->len);
	if (got <= 0) {
		input->eof = true;
		input->error = (int)got;
		return false;
	}
	input->len += (size_t)got;
	return true;
}

/* What is left of a line that was cut. */
static void pass_long(struct klog_input *input)
{
	while (input->in_long) {
		char *end = memchr(input->data + input->at, '\n', input->len - input->at);

		input->at = end ? (size_t)(end - input->data) + 1 : input->len;
		input->in_long = !end;
		if (!end && !fill(input))
			return;
	}
}

static int hand_out(struct klog_input *input, size_t len, const char **ret_line, size_t *ret_len)
{
	*ret_line = input->data + input->at;
	*ret_len = len;
	input->lines++;
	return 1;
}

int klog_input_line(struct klog_input *input, const char **ret_line, size_t *ret_len)
{
	size_t looked = 0;

	pass_long(input);
	for (;;) {
		size_t left = input->len - input->at;
		const char *start = input->data + input->at;
		const char *end = memchr(start + looked, '\n', left - looked);
		size_t len = end ? (size_t)(end - start) : left;

		if (len > KLOG_LINE_MAX) {
			input->cut++;
			input->in_long = true;
			hand_out(input, KLOG_LINE_MAX, ret_line, ret_len);
			input->at += KLOG_LINE_MAX;
			return 1;
		}
		if (end) {
			hand_out(input, len, ret_line, ret_len);
			input->at += len + 1;
			return 1;
		}
		looked = left;
		if (fill(input))
			continue;
		if (!left)
			return input->error;
		/* The last line has no newline. */
		hand_out(input, left, ret_line, ret_len);
		input->at = input->len;
		return 1;
	}
}

bool klog_input_stalls(const struct klog_input *input, int wait_ms)
{
	return !input->eof && !memchr(input->data + input->at, '\n', input->len - input->at) &&
	       klog_unpack_stalls(input->unpack, wait_ms);
}

/* Where the next one is; the end of what was read: nowhere in it. */
static size_t next_needle(struct klog_input *input, const char *const *texts)
{
	const struct klog_needles *needles = &input->needles;
	const char *found;

	if (!needles->count)
		klog_needles_set(&input->needles, texts);
	if (input->clean < input->at) {
		input->clean = input->at;
		input->is_needle = false;
	}
	if (input->is_needle)
		return input->clean;
	found = klog_needles_find(needles, input->data + input->clean, input->len - input->clean);
	input->is_needle = found;
	if (found)
		input->clean = (size_t)(found - input->data);
	else if (input->len - input->clean >= needles->longest)
		input->clean = input->len - needles->longest + 1;
	return found ? input->clean : input->len;
}

/* Keeps whole lines of the last KLOG_LOOKBACK bytes before `stop`. */
static bool drop_before(struct klog_input *input, size_t stop)
{
	char *end;

	if (stop - input->at <= KLOG_LOOKBACK)
		return false;
	end = memchr(input->data + stop - KLOG_LOOKBACK, '\n', KLOG_LOOKBACK);
	if (end) {
		input->at = (size_t)(end - input->data) + 1;
	} else if (input->len - input->at > KLOG_LINE_MAX) {
		/* One line that is longer than any may be, and nothing of interest in it. */
		input->at = input->len;
		input->in_long = true;
		input->cut++;
	}
	return true;
}

bool klog_input_skip(struct klog_input *input, const char *const *needles)
{
	bool dropped = false;

	for (;;) {
		size_t stop;
		char *start;

		pass_long(input);
		stop = next_needle(input, needles);
		if (stop < input->len) {
			start = memrchr(input->data + input->at, '\n', stop - input->at);
			stop = start ? (size_t)(start - input->data) + 1 : input->at;
			return drop_before(input, stop) || dropped;
		}
		dropped |= drop_before(input, input->len);
		if (!fill(input)) {
			input->at = input->len;
			return true;
		}
	}
}

bool klog_input_bytes(struct klog_input *input, uint64_t len, const char **ret_bytes)
{
	bool fits = len <= KLOG_LINE_MAX;

	while (input->len - input->at < len) {
		if (!fits) {
			len -= input->len - input->at;
			input->at = input->len;
		}
		if (!fill(input)) {
			input->at = input->len;
			return false;
		}
	}
	*ret_bytes = input->data + input->at;
	input->at += len;
	return fits;
}

uint64_t klog_input_cut(const struct klog_input *input)
{
	return input->cut;
}

uint64_t klog_input_lines(const struct klog_input *input)
{
	return input->lines;
}

const char *klog_input_compression(const struct klog_input *input)
{
	return klog_unpack_name(input->unpack);
}
