/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ringbuf.h: bytes from one thread to one other, through memory that the caller owns. No lock, no
 * wait, no allocation.
 *
 * The producer puts bytes and publishes them when what they say is whole; the consumer gets them
 * and releases them when it is done for good. Until then it can go back and get them once more.
 * Positions count all bytes ever put.
 */
#ifndef OOMSNOOP_BASE_RINGBUF_H
#define OOMSNOOP_BASE_RINGBUF_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ringbuf {
	uint8_t *data;
	size_t size; /* a power of two */
	/* The two threads write to different cache lines. */
	_Alignas(64) uint64_t put; /* the producer's own */
	_Atomic uint64_t published;
	_Alignas(64) uint64_t got; /* the consumer's own */
	_Atomic uint64_t released;
};

/* size: a power of two. */
void ringbuf_init(struct ringbuf *ring, void *memory, size_t size);

/* --- producer --- */

/* Appends len bytes, which the consumer does not see yet. False, and nothing is appended, where
 * fewer than `spare` bytes would stay free. */
bool ringbuf_put(struct ringbuf *ring, const void *data, size_t len, size_t spare);
void ringbuf_publish(struct ringbuf *ring);
/* Takes back what was put and not published from `put` on, a value of ring->put before. */
void ringbuf_back(struct ringbuf *ring, uint64_t put);
size_t ringbuf_used(const struct ringbuf *ring); /* not released yet, as far as is known */

/* --- consumer --- */

/* The next len bytes into data (NULL: passed over). False, and nothing is taken, where fewer are
 * published. */
bool ringbuf_get(struct ringbuf *ring, void *data, size_t len);
/* Room for the producer: all before `got`, a value of ring->got before. */
void ringbuf_release(struct ringbuf *ring, uint64_t got);
/* Back to the first byte that is not released. */
void ringbuf_rewind(struct ringbuf *ring);

#endif /* OOMSNOOP_BASE_RINGBUF_H */
