// SPDX-License-Identifier: Apache-2.0
#include "base/ringbuf.h"

#include <string.h>

void ringbuf_init(struct ringbuf *ring, void *memory, size_t size)
{
	memset(ring, 0, sizeof(*ring));
	ring->data = memory;
	ring->size = size;
}

/* Bytes from a position to the end of the memory, at most len. */
static size_t first_part(const struct ringbuf *ring, uint64_t position, size_t len)
{
	size_t left = ring->size - (position & (ring->size - 1));

	return len < left ? len : left;
}

/* --- producer --- */

size_t ringbuf_used(const struct ringbuf *ring)
{
	return ring->put - atomic_load_explicit(&ring->released, memory_order_acquire);
}

bool ringbuf_put(struct ringbuf *ring, const void *data, size_t len, size_t spare)
{
	size_t left = ring->size - ringbuf_used(ring);
	size_t first = first_part(ring, ring->put, len);

	if (spare > left || len > left - spare)
		return false;
	memcpy(ring->data + (ring->put & (ring->size - 1)), data, first);
	memcpy(ring->data, (const uint8_t *)data + first, len - first);
	ring->put += len;
	return true;
}

void ringbuf_publish(struct ringbuf *ring)
{
	atomic_store_explicit(&ring->published, ring->put, memory_order_release);
}

void ringbuf_back(struct ringbuf *ring, uint64_t put)
{
	ring->put = put;
}

/* --- consumer --- */

bool ringbuf_get(struct ringbuf *ring, void *data, size_t len)
{
	uint64_t published = atomic_load_explicit(&ring->published, memory_order_acquire);
	size_t first = first_part(ring, ring->got, len);

	if (len > published - ring->got)
		return false;
	if (data) {
		memcpy(data, ring->data + (ring->got & (ring->size - 1)), first);
		memcpy((uint8_t *)data + first, ring->data, len - first);
	}
	ring->got += len;
	return true;
}

void ringbuf_release(struct ringbuf *ring, uint64_t got)
{
	atomic_store_explicit(&ring->released, got, memory_order_release);
}

void ringbuf_rewind(struct ringbuf *ring)
{
	ring->got = atomic_load_explicit(&ring->released, memory_order_relaxed);
}
