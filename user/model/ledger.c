// SPDX-License-Identifier: Apache-2.0
#include "model/ledger.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * A point in a chunk: a byte that tells which values changed, the time since the point before it in
 * whole microseconds, and by how much each of those values changed. Numbers are stored seven bits a
 * byte, differences with their sign in the lowest bit. The first point of a chunk differs from a
 * point of zeros at the chunk's own time.
 *
 * Only times are rounded: down, to microseconds from the chunk's own, and each anew from the exact
 * time, so that what is lost does not add up.
 */
#define CHUNK_BYTES 128
#define CHUNK_HEAD 22
#define TICK_NS 1000
#define VARINT_MAX 10
#define CODE_MAX (1 + VARINT_MAX * (1 + LEDGER_VALUES))

struct chunk {
	struct series *owner; /* NULL: free */
	uint64_t first_ns;
	uint32_t next; /* of its series: chunk + 1; 0: none */
	uint16_t used;
	uint8_t data[CHUNK_BYTES - CHUNK_HEAD];
};

static_assert(sizeof(struct chunk) == CHUNK_BYTES, "a chunk is two cache lines");
static_assert(CODE_MAX * 2 <= CHUNK_BYTES - CHUNK_HEAD, "two points fit, whatever they are");

/*
 * Chunks are handed out in the order of the array, again and again. What lies at the cursor is thus
 * what was begun longest ago: free, or the oldest of its series.
 */
struct ledger {
	struct chunk *chunks; /* untouched, and so without memory, until the cursor comes by */
	uint32_t count;
	uint32_t cursor;
	uint64_t keep_ns;
	uint64_t now_ns; /* the latest time of all points */
	struct ledger_totals totals;
};

struct ledger *ledger_new(size_t bytes, uint64_t keep_ns)
{
	size_t count = bytes / CHUNK_BYTES;
	struct ledger *ledger;

	if (count == 0 || count >= UINT32_MAX) {
		errno = EINVAL;
		return NULL;
	}
	ledger = calloc(1, sizeof(*ledger));
	if (!ledger)
		return NULL;
	ledger->chunks = calloc(count, sizeof(*ledger->chunks));
	if (!ledger->chunks) {
		free(ledger);
		errno = ENOMEM;
		return NULL;
	}
	ledger->count = (uint32_t)count;
	ledger->keep_ns = keep_ns;
	return ledger;
}

void ledger_free(struct ledger *ledger)
{
	if (!ledger)
		return;
	free(ledger->chunks);
	free(ledger);
}

/* --- points to bytes, and back --- */

static size_t put_varint(uint8_t *to, uint64_t value)
{
	size_t len = 0;

	while (value >= 0x80) {
		to[len++] = (uint8_t)(value | 0x80);
		value >>= 7;
	}
	to[len++] = (uint8_t)value;
	return len;
}

static size_t get_varint(const uint8_t *from, uint64_t *ret)
{
	unsigned int shift = 0;
	size_t len = 0;

	*ret = 0;
	do {
		*ret |= (uint64_t)(from[len] & 0x7f) << shift;
		shift += 7;
	} while (from[len++] & 0x80);
	return len;
}

/* Differences wrap, as unsigned numbers do: so every one of them fits. */
static uint64_t zigzag(uint64_t difference)
{
	return difference << 1 ^ (difference >> 63 ? UINT64_MAX : 0);
}

static uint64_t unzigzag(uint64_t code)
{
	return code >> 1 ^ (code & 1 ? UINT64_MAX : 0);
}

static size_t encode(
	uint8_t *to, const struct ledger_point *before, const struct ledger_point *point)
{
	size_t len = 1;

	to[0] = 0;
	len += put_varint(to + len, (point->time_ns - before->time_ns) / TICK_NS);
	for (int i = 0; i < LEDGER_VALUES; i++) {
		uint64_t difference = (uint64_t)point->values[i] - (uint64_t)before->values[i];

		if (!difference)
			continue;
		to[0] |= (uint8_t)(1 << i);
		len += put_varint(to + len, zigzag(difference));
	}
	return len;
}

/* Moves a point on to the one that is coded there. */
static size_t decode(const uint8_t *from, struct ledger_point *point)
{
	uint64_t number;
	size_t len = 1;

	len += get_varint(from + len, &number);
	point->time_ns += number * TICK_NS;
	for (int i = 0; i < LEDGER_VALUES; i++) {
		if (!(from[0] & 1 << i))
			continue;
		len += get_varint(from + len, &number);
		point->values[i] = (int64_t)((uint64_t)point->values[i] + unzigzag(number));
	}
	return len;
}

/* --- chunks --- */

static const struct chunk *chunk_at(const struct ledger *ledger, uint32_t number)
{
	return &ledger->chunks[number - 1];
}

/* What its series held before the next chunk, or before what it holds now, is not known any more.
 */
static void give_way(struct ledger *ledger, struct chunk *chunk)
{
	struct series *series = chunk->owner;

	if (!series)
		return;
	series->oldest = chunk->next;
	if (chunk->next) {
		series->cut_ns = chunk_at(ledger, chunk->next)->first_ns;
	} else {
		series->newest = 0;
		series->cut_ns = series->last.time_ns;
	}
	if (ledger->now_ns < series->cut_ns || ledger->now_ns - series->cut_ns < ledger->keep_ns)
		ledger->totals.evicted++;
}

static struct chunk *begin_chunk(
	struct ledger *ledger, struct series *series, const struct ledger_point *point)
{
	struct ledger_point zero = {.time_ns = point->time_ns};
	struct chunk *chunk = &ledger->chunks[ledger->cursor];
	uint32_t number = ledger->cursor + 1;

	ledger->cursor = number < ledger->count ? number : 0;
	give_way(ledger, chunk);
	chunk->owner = series;
	chunk->first_ns = point->time_ns;
	chunk->next = 0;
	chunk->used = (uint16_t)encode(chunk->data, &zero, point);
	if (series->newest) {
		ledger->chunks[series->newest - 1].next = number;
	} else {
		series->oldest = number;
		series->cut_ns = series->first_ns ? point->time_ns : 0;
	}
	series->newest = number;
	return chunk;
}

static void store(struct ledger *ledger, struct series *series, const struct ledger_point *point)
{
	struct ledger_point before = series->last;
	struct chunk *chunk;
	uint8_t code[CODE_MAX];
	size_t len;

	if (!series->first_ns) {
		begin_chunk(ledger, series, point);
		return;
	}
	/* All of it gave way: what it held until now is the beginning of what is known. */
	chunk = series->newest ? &ledger->chunks[series->newest - 1]
			       : begin_chunk(ledger, series, &before);
	/* The time as it was stored. */
	before.time_ns -= (before.time_ns - chunk->first_ns) % TICK_NS;
	len = encode(code, &before, point);
	if (chunk->used + len > sizeof(chunk->data)) {
		begin_chunk(ledger, series, point);
		return;
	}
	memcpy(chunk->data + chunk->used, code, len);
	chunk->used += (uint16_t)len;
}

void ledger_append(
	struct ledger *ledger, struct series *series, uint64_t time_ns, const int64_t *values)
{
	struct ledger_point point = {.time_ns = time_ns};

	if (time_ns == 0 || time_ns < series->seen_ns) {
		ledger->totals.refused++;
		return;
	}
	series->seen_ns = time_ns;
	if (series->first_ns && !memcmp(values, series->last.values, sizeof(point.values)))
		return;
	if (time_ns > ledger->now_ns)
		ledger->now_ns = time_ns;
	memcpy(point.values, values, sizeof(point.values));
	store(ledger, series, &point);
	if (!series->first_ns)
		series->first_ns = time_ns;
	series->last = point;
	ledger->totals.points++;
}

/* The chunks are used again when the cursor comes by, which is no later than anything else's of
 * their age. */
void ledger_forget(struct ledger *ledger, struct series *series)
{
	uint32_t number = series->oldest;

	while (number) {
		struct chunk *chunk = &ledger->chunks[number - 1];

		chunk->owner = NULL;
		number = chunk->next;
	}
	memset(series, 0, sizeof(*series));
}

/* --- reading --- */

/* The last chunk that begins at or before a moment; the oldest one when all begin later. */
static const struct chunk *chunk_of(
	const struct ledger *ledger, const struct series *series, uint64_t time_ns)
{
	const struct chunk *chunk = chunk_at(ledger, series->oldest);

	while (chunk->next && chunk_at(ledger, chunk->next)->first_ns <= time_ns)
		chunk = chunk_at(ledger, chunk->next);
	return chunk;
}

/* The first point of a chunk, and how many bytes of it that took. */
static size_t first_of(const struct chunk *chunk, struct ledger_point *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->time_ns = chunk->first_ns;
	return decode(chunk->data, ret);
}

bool ledger_at(const struct ledger *ledger, const struct series *series, uint64_t time_ns,
	struct ledger_point *ret)
{
	struct ledger_point point;
	const struct chunk *chunk;
	size_t at;

	*ret = series->last;
	if (!series->first_ns)
		return false;
	if (time_ns >= series->last.time_ns)
		return true;
	if (!series->oldest)
		return false;
	chunk = chunk_of(ledger, series, time_ns);
	at = first_of(chunk, ret);
	if (ret->time_ns > time_ns)
		return false;
	for (point = *ret; at < chunk->used; *ret = point) {
		at += decode(chunk->data + at, &point);
		if (point.time_ns > time_ns)
			break;
	}
	return true;
}

static void walk_chunk(const struct chunk *chunk, uint64_t from_ns,
	void (*fn)(const struct ledger_point *point, void *arg), void *arg)
{
	struct ledger_point point, next;
	size_t at = first_of(chunk, &point);

	while (at < chunk->used) {
		next = point;
		at += decode(chunk->data + at, &next);
		/* It held until the next one came. */
		if (next.time_ns > from_ns)
			fn(&point, arg);
		point = next;
	}
	fn(&point, arg);
}

void ledger_walk(const struct ledger *ledger, const struct series *series, uint64_t from_ns,
	void (*fn)(const struct ledger_point *point, void *arg), void *arg)
{
	const struct chunk *chunk;

	if (!series->first_ns)
		return;
	if (!series->oldest) {
		fn(&series->last, arg);
		return;
	}
	for (chunk = chunk_of(ledger, series, from_ns);; chunk = chunk_at(ledger, chunk->next)) {
		walk_chunk(chunk, from_ns, fn, arg);
		if (!chunk->next)
			return;
	}
}

struct ledger_totals ledger_totals(const struct ledger *ledger)
{
	return ledger->totals;
}
