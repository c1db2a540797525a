// SPDX-License-Identifier: Apache-2.0
#include "source/klog_needles.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define VECTOR 16
#define STEP (4 * VECTOR)

/* The compiler makes of it what the machine has. */
typedef uint8_t vector __attribute__((vector_size(VECTOR)));

union bits {
	vector bytes;
	uint64_t words[VECTOR / sizeof(uint64_t)];
};

/* Bytes of logs, from the one that comes most often. Others are rare. */
static const char common[] = " e0ta1io2nsr345d6789lc:-.upm=hg[]bf/w\",y_kv";

static size_t rareness(char byte)
{
	const char *found = memchr(common, byte, sizeof(common) - 1);

	return found ? (size_t)(found - common) : sizeof(common);
}

/* Its rarest byte, and its last one or, where that is the rarest, its first. */
static void set_marks(struct klog_needle *needle)
{
	size_t rarest = 0;

	for (size_t i = 1; i < needle->len; i++)
		if (rareness(needle->text[i]) > rareness(needle->text[rarest]))
			rarest = i;
	needle->marks[0] = rarest;
	needle->marks[1] = rarest == needle->len - 1 ? 0 : needle->len - 1;
}

void klog_needles_set(struct klog_needles *needles, const char *const *texts)
{
	*needles = (struct klog_needles) {0};
	for (; texts[needles->count] && needles->count < KLOG_NEEDLES_MAX; needles->count++) {
		struct klog_needle *needle = &needles->list[needles->count];

		needle->text = texts[needles->count];
		needle->len = strlen(needle->text);
		if (needle->len > needles->longest)
			needles->longest = needle->len;
		set_marks(needle);
	}
}

static vector load(const char *data)
{
	vector ret;

	memcpy(&ret, data, sizeof(ret));
	return ret;
}

/* May one begin at one of the STEP places from here? All that is looked at is there. */
static bool may_begin(const struct klog_needles *needles, const char *data)
{
	union bits hits = {.words = {0}};

	for (unsigned int i = 0; i < needles->count; i++) {
		const struct klog_needle *needle = &needles->list[i];
		const char *first = data + needle->marks[0], *second = data + needle->marks[1];
		vector one = (vector) {0} + (uint8_t)needle->text[needle->marks[0]];
		vector other = (vector) {0} + (uint8_t)needle->text[needle->marks[1]];

		for (size_t at = 0; at < STEP; at += VECTOR)
			hits.bytes |= (vector)(load(first + at) == one) &
				      (vector)(load(second + at) == other);
	}
	return (hits.words[0] | hits.words[1]) != 0;
}

/* Among the first `places` places. */
static const char *find_at(
	const struct klog_needles *needles, const char *data, size_t len, size_t places)
{
	for (size_t at = 0; at < places; at++)
		for (unsigned int i = 0; i < needles->count; i++) {
			const struct klog_needle *needle = &needles->list[i];

			if (data[at] == needle->text[0] && needle->len <= len - at &&
				!memcmp(data + at, needle->text, needle->len))
				return data + at;
		}
	return NULL;
}

const char *klog_needles_find(const struct klog_needles *needles, const char *data, size_t len)
{
	const char *found;

	while (len >= STEP + needles->longest) {
		found = may_begin(needles, data) ? find_at(needles, data, len, STEP) : NULL;
		if (found)
			return found;
		data += STEP;
		len -= STEP;
	}
	return find_at(needles, data, len, len);
}
