// SPDX-License-Identifier: Apache-2.0
#include "cmd/keeper_queue.h"

#include <string.h>

#define VARINT_MAX 10
#define KIND_BITS 3
#define PAGE_SHIFT 12 /* most values are whole pages of 4 KiB; others take more room */
#define RUN_MAX UINT16_MAX
/* Kept free of incidents, so that a gap can still be told of. */
#define SPARE_FOR_GAPS 4096

void queue_init(struct queue *queue, void *memory, size_t bytes)
{
	memset(queue, 0, sizeof(*queue));
	ringbuf_init(&queue->ring, memory, bytes);
}

/* --- numbers --- */

static size_t put_varint(uint8_t *at, uint64_t value)
{
	size_t len = 0;

	for (; value >= 0x80; value >>= 7)
		at[len++] = (uint8_t)value | 0x80;
	at[len++] = (uint8_t)value;
	return len;
}

static bool get_varint(struct queue *queue, uint64_t *ret)
{
	uint64_t value = 0;
	uint8_t byte;

	for (unsigned int shift = 0; shift < 64; shift += 7) {
		if (!ringbuf_get(&queue->ring, &byte, 1))
			return false;
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80)) {
			*ret = value;
			return true;
		}
	}
	return false;
}

static uint64_t zigzag(uint64_t difference)
{
	return difference << 1 ^ (difference >> 63 ? UINT64_MAX : 0);
}

static uint64_t unzigzag(uint64_t value)
{
	return value >> 1 ^ (value & 1 ? UINT64_MAX : 0);
}

/* Differences of whole pages are told in pages: the lowest bit says so. */
static size_t put_difference(uint8_t *at, uint64_t difference)
{
	uint64_t value = zigzag(difference);
	bool pages = !(difference & ((1U << PAGE_SHIFT) - 1));

	if (pages)
		value = zigzag((uint64_t)((int64_t)difference >> PAGE_SHIFT));
	at[0] = (uint8_t)(value & 0x3f) << 1 | pages;
	value >>= 6;
	if (!value)
		return 1;
	at[0] |= 0x80;
	return 1 + put_varint(at + 1, value);
}

static bool get_difference(struct queue *queue, uint64_t *ret)
{
	uint64_t rest = 0, value;
	uint8_t byte;

	if (!ringbuf_get(&queue->ring, &byte, 1) || (byte & 0x80 && !get_varint(queue, &rest)))
		return false;
	value = unzigzag(rest << 6 | (byte >> 1 & 0x3f));
	*ret = byte & 1 ? value << PAGE_SHIFT : value;
	return true;
}

/* --- series --- */

static size_t series_spare(const struct queue *queue)
{
	return queue->ring.size / 2;
}

static size_t text_len(const char *text, size_t most)
{
	return strnlen(text, most);
}

/* All of a series is lost or it begins with its owner: the parts go in together or not at all. */
static bool put_parts(struct queue *queue, const uint8_t *head, size_t head_len, const char *path,
	size_t path_len, const char *cmdline, size_t cmdline_len)
{
	size_t spare = series_spare(queue);
	uint64_t at = queue->ring.put;

	if (ringbuf_put(&queue->ring, head, head_len, spare) &&
		ringbuf_put(&queue->ring, path, path_len, spare) &&
		ringbuf_put(&queue->ring, cmdline, cmdline_len, spare))
		return true;
	ringbuf_back(&queue->ring, at);
	return false;
}

bool queue_owner(struct queue *queue, const struct history_owner *owner, const char *path,
	const char *cmdline)
{
	size_t path_len = text_len(path, CGROUP_PATH_LEN - 1);
	size_t cmdline_len = text_len(cmdline, QUEUE_CMDLINE);
	size_t comm_len = text_len(owner->comm, sizeof(owner->comm) - 1);
	/* "No limit" is the largest number there is: one more makes it the smallest. */
	const uint64_t numbers[] = {owner->kind, owner->cgroup_id, owner->parent_id,
		owner->max_bytes + 1, owner->tgid, owner->ppid, owner->root_tgid, owner->start_ns,
		owner->root_start_ns, owner->exited_ns, owner->shared_bytes, comm_len, path_len,
		cmdline_len};
	uint8_t head[1 + sizeof(numbers) / sizeof(numbers[0]) * VARINT_MAX + sizeof(owner->comm)];
	size_t len = 0;

	queue_publish(queue);
	head[len++] = QUEUE_OWNER;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		len += put_varint(head + len, numbers[i]);
	memcpy(head + len, owner->comm, comm_len);
	len += comm_len;
	if (!put_parts(queue, head, len, path, path_len, cmdline, cmdline_len))
		return false;
	memset(&queue->put_last, 0, sizeof(queue->put_last));
	return true;
}

bool queue_point(struct queue *queue, const struct history_point *point)
{
	uint8_t bytes[1 + VARINT_MAX + HISTORY_VALUES * (VARINT_MAX + 1)];
	struct history_point now = *point;
	struct history_point *last = &queue->put_last;
	size_t len = 1;

	now.time_ns /= 1000;
	bytes[0] = QUEUE_POINT;
	len += put_varint(bytes + len, zigzag((uint64_t)now.time_ns - (uint64_t)last->time_ns));
	for (int i = 0; i < HISTORY_VALUES; i++) {
		if (now.values[i] == last->values[i])
			continue;
		bytes[0] |= 1U << (KIND_BITS + i);
		len += put_difference(
			bytes + len, (uint64_t)now.values[i] - (uint64_t)last->values[i]);
	}
	if (!ringbuf_put(&queue->ring, bytes, len, series_spare(queue)))
		return false;
	*last = now;
	return true;
}

static bool get_text(struct queue *queue, char *text, size_t size, uint64_t len)
{
	if (len >= size || !ringbuf_get(&queue->ring, text, len))
		return false;
	text[len] = '\0';
	return true;
}

static bool get_owner(struct queue *queue, struct queue_item *ret)
{
	struct history_owner *owner = &ret->owner;
	uint64_t numbers[14];

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (!get_varint(queue, &numbers[i]))
			return false;
	*owner = (struct history_owner) {
		.kind = (enum history_kind)numbers[0],
		.cgroup_id = numbers[1],
		.parent_id = numbers[2],
		.max_bytes = numbers[3] - 1,
		.tgid = (uint32_t)numbers[4],
		.ppid = (uint32_t)numbers[5],
		.root_tgid = (uint32_t)numbers[6],
		.start_ns = numbers[7],
		.root_start_ns = numbers[8],
		.exited_ns = numbers[9],
		.shared_bytes = numbers[10],
	};
	memset(&queue->got_last, 0, sizeof(queue->got_last));
	return get_text(queue, owner->comm, sizeof(owner->comm), numbers[11]) &&
	       get_text(queue, ret->path, sizeof(ret->path), numbers[12]) &&
	       get_text(queue, ret->cmdline, sizeof(ret->cmdline), numbers[13]);
}

static bool get_point(struct queue *queue, unsigned int changed, struct history_point *ret)
{
	struct history_point *last = &queue->got_last;
	uint64_t difference;

	if (!get_varint(queue, &difference))
		return false;
	last->time_ns = (int64_t)((uint64_t)last->time_ns + unzigzag(difference));
	for (int i = 0; i < HISTORY_VALUES; i++) {
		if (!(changed & 1U << i))
			continue;
		if (!get_difference(queue, &difference))
			return false;
		last->values[i] = (int64_t)((uint64_t)last->values[i] + difference);
	}
	*ret = *last;
	ret->time_ns *= 1000;
	return true;
}

/* --- gaps and incidents --- */

/* Any struct, seen as words. */
typedef uint64_t __attribute__((may_alias)) word;

bool queue_gap(struct queue *queue, const struct store_gap *gap)
{
	uint8_t bytes[1 + sizeof(*gap)];

	bytes[0] = QUEUE_GAP;
	memcpy(bytes + 1, gap, sizeof(*gap));
	if (!ringbuf_put(&queue->ring, bytes, sizeof(bytes), 0))
		return false;
	queue_publish(queue);
	return true;
}

/* A struct as runs: how many empty words, how many others, then these. */
static bool put_struct(struct queue *queue, const void *data, size_t size)
{
	const word *words = data;
	size_t count = size / sizeof(*words), at = 0;

	while (at < count) {
		uint16_t run[2] = {0, 0};

		while (at + run[0] < count && !words[at + run[0]] && run[0] < RUN_MAX)
			run[0]++;
		at += run[0];
		while (at + run[1] < count && words[at + run[1]] && run[1] < RUN_MAX)
			run[1]++;
		if (!ringbuf_put(&queue->ring, run, sizeof(run), SPARE_FOR_GAPS) ||
			!ringbuf_put(
				&queue->ring, words + at, run[1] * sizeof(*words), SPARE_FOR_GAPS))
			return false;
		at += run[1];
	}
	return true;
}

static bool get_struct(struct queue *queue, void *data, size_t size)
{
	word *words = data;
	size_t count = size / sizeof(*words), at = 0;

	while (at < count) {
		uint16_t run[2];

		if (!ringbuf_get(&queue->ring, run, sizeof(run)) ||
			(size_t)run[0] + run[1] > count - at)
			return false;
		memset(words + at, 0, run[0] * sizeof(*words));
		at += run[0];
		if (!ringbuf_get(&queue->ring, words + at, run[1] * sizeof(*words)))
			return false;
		at += run[1];
	}
	return true;
}

_Static_assert(sizeof(struct incident) % sizeof(uint64_t) == 0, "packed by words");
_Static_assert(sizeof(struct judgement) % sizeof(uint64_t) == 0, "packed by words");
_Static_assert(sizeof(struct capture_moment) % sizeof(uint64_t) == 0, "packed by words");
_Static_assert(2 * (sizeof(struct incident) + sizeof(struct judgement)) < QUEUE_MIN_BYTES,
	"the largest must fit, whatever its runs cost");

bool queue_incident(struct queue *queue, const struct incident *incident,
	const struct judgement *judgement, const struct capture_moment *moment)
{
	static const uint8_t kind = QUEUE_INCIDENT;
	uint64_t at = queue->ring.put;

	if (ringbuf_put(&queue->ring, &kind, 1, SPARE_FOR_GAPS) &&
		put_struct(queue, moment, sizeof(*moment)) &&
		put_struct(queue, judgement, sizeof(*judgement)) &&
		put_struct(queue, incident, sizeof(*incident))) {
		queue_publish(queue);
		return true;
	}
	ringbuf_back(&queue->ring, at);
	return false;
}

_Static_assert(sizeof(struct killing) % sizeof(uint64_t) == 0, "packed by words");
_Static_assert(sizeof(struct store_kill_told) % sizeof(uint64_t) == 0, "packed by words");

_Static_assert(sizeof(struct refusal) % sizeof(uint64_t) == 0, "packed by words");

/* As with series, half of the queue: a storm of them must leave room for incidents. */
static bool put_note(struct queue *queue, uint8_t kind, const void *facts, size_t size,
	const struct store_kill_told *told)
{
	uint64_t at = queue->ring.put;

	if (ringbuf_put(&queue->ring, &kind, 1, series_spare(queue)) &&
		put_struct(queue, told, sizeof(*told)) && put_struct(queue, facts, size)) {
		queue_publish(queue);
		return true;
	}
	ringbuf_back(&queue->ring, at);
	return false;
}

bool queue_kill(
	struct queue *queue, const struct killing *killing, const struct store_kill_told *told)
{
	return put_note(queue, QUEUE_KILL, killing, sizeof(*killing), told);
}

bool queue_refusal(
	struct queue *queue, const struct refusal *refusal, const struct store_kill_told *told)
{
	return put_note(queue, QUEUE_REFUSAL, refusal, sizeof(*refusal), told);
}

void queue_publish(struct queue *queue)
{
	ringbuf_publish(&queue->ring);
}

bool queue_fills(const struct queue *queue)
{
	return ringbuf_used(&queue->ring) > queue->ring.size / 4;
}

/* --- the consumer --- */

static bool get_item(struct queue *queue, uint8_t tag, struct queue_item *ret)
{
	switch (ret->kind) {
	case QUEUE_OWNER:
		return get_owner(queue, ret);
	case QUEUE_POINT:
		return get_point(queue, tag >> KIND_BITS, &ret->point);
	case QUEUE_GAP:
		return ringbuf_get(&queue->ring, &ret->gap, sizeof(ret->gap));
	case QUEUE_INCIDENT:
		return get_struct(queue, &ret->moment, sizeof(ret->moment)) &&
		       get_struct(queue, &ret->judgement, sizeof(ret->judgement)) &&
		       get_struct(queue, &ret->incident, sizeof(ret->incident));
	case QUEUE_KILL:
		return get_struct(queue, &ret->told, sizeof(ret->told)) &&
		       get_struct(queue, &ret->killing, sizeof(ret->killing));
	case QUEUE_REFUSAL:
		return get_struct(queue, &ret->told, sizeof(ret->told)) &&
		       get_struct(queue, &ret->refusal, sizeof(ret->refusal));
	default:
		return false;
	}
}

enum queue_kind queue_next(struct queue *queue, struct queue_item *ret)
{
	uint8_t tag;

	ret->at = queue->ring.got;
	ret->kind = QUEUE_EMPTY;
	if (ringbuf_get(&queue->ring, &tag, 1)) {
		ret->kind = (enum queue_kind)(tag & ((1U << KIND_BITS) - 1));
		if (!get_item(queue, tag, ret)) {
			/* Only whole items are published. */
			queue->ring.got = ret->at;
			ret->kind = QUEUE_EMPTY;
		}
	}
	ret->end = queue->ring.got;
	return ret->kind;
}

void queue_release(struct queue *queue, uint64_t at)
{
	ringbuf_release(&queue->ring, at);
}

void queue_rewind(struct queue *queue)
{
	ringbuf_rewind(&queue->ring);
}
