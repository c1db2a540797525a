// SPDX-License-Identifier: Apache-2.0
#include "source/klog_unpack.h"

#include <errno.h>
#include <poll.h>
#include <lzma.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#define PACKED_BYTES (64U << 10)
/* Of the decoders' own memory: both refuse what asks for more, as archives made by `-T0 -19
 * --long` do not. */
#define XZ_MEMORY (96ULL << 20)
#define ZSTD_WINDOW_LOG 27

enum packing { PACKING_UNKNOWN, PACKING_NONE, PACKING_GZIP, PACKING_XZ, PACKING_ZSTD };

struct klog_unpack {
	int fd;
	enum packing packing;
	bool eof; /* of the descriptor */
	bool whole; /* what was unpacked so far ended where a member ends */
	z_stream gzip;
	lzma_stream xz;
	ZSTD_DStream *zstd;
	size_t at, len; /* of packed */
	unsigned char packed[PACKED_BYTES];
};

static ssize_t read_some(int fd, void *ret, size_t size)
{
	ssize_t got;

	do
		got = read(fd, ret, size);
	while (got < 0 && errno == EINTR);
	return got < 0 ? -errno : got;
}

/* Moves what is left to the front and reads behind it. 0 or -errno. */
static int refill(struct klog_unpack *unpack)
{
	ssize_t got;

	memmove(unpack->packed, unpack->packed + unpack->at, unpack->len - unpack->at);
	unpack->len -= unpack->at;
	unpack->at = 0;
	if (unpack->eof || unpack->len == PACKED_BYTES)
		return 0;
	got = read_some(unpack->fd, unpack->packed + unpack->len, PACKED_BYTES - unpack->len);
	if (got < 0)
		return (int)got;
	unpack->eof = got == 0;
	unpack->len += (size_t)got;
	return 0;
}

static bool begins_with(const struct klog_unpack *unpack, const char *magic, size_t len)
{
	return unpack->len - unpack->at >= len &&
	       memcmp(unpack->packed + unpack->at, magic, len) == 0;
}

static int begin_gzip(struct klog_unpack *unpack)
{
	unpack->packing = PACKING_GZIP;
	/* 16: with a gzip header */
	return inflateInit2(&unpack->gzip, 16 + MAX_WBITS) == Z_OK ? 0 : -ENOMEM;
}

static int begin_xz(struct klog_unpack *unpack)
{
	unpack->packing = PACKING_XZ;
	unpack->xz = (lzma_stream)LZMA_STREAM_INIT;
	return lzma_stream_decoder(&unpack->xz, XZ_MEMORY, LZMA_CONCATENATED) == LZMA_OK ? 0
											 : -ENOMEM;
}

static int begin_zstd(struct klog_unpack *unpack)
{
	unpack->packing = PACKING_ZSTD;
	unpack->zstd = ZSTD_createDStream();
	if (!unpack->zstd)
		return -ENOMEM;
	ZSTD_DCtx_setParameter(unpack->zstd, ZSTD_d_windowLogMax, ZSTD_WINDOW_LOG);
	return 0;
}

static int find_packing(struct klog_unpack *unpack)
{
	int err = 0;

	while (!err && !unpack->eof && unpack->len < 6)
		err = refill(unpack);
	if (err)
		return err;
	if (begins_with(unpack, "\x1f\x8b", 2))
		return begin_gzip(unpack);
	if (begins_with(unpack,
		    "\xfd"
		    "7zXZ\0",
		    6))
		return begin_xz(unpack);
	if (begins_with(unpack, "\x28\xb5\x2f\xfd", 4))
		return begin_zstd(unpack);
	unpack->packing = PACKING_NONE;
	return 0;
}

static ssize_t read_plain(struct klog_unpack *unpack, char *ret, size_t size)
{
	size_t left = unpack->len - unpack->at;

	if (!left)
		return unpack->eof ? 0 : read_some(unpack->fd, ret, size);
	if (left > size)
		left = size;
	memcpy(ret, unpack->packed + unpack->at, left);
	unpack->at += left;
	return (ssize_t)left;
}

/* Bytes put into ret, or -EBADMSG. */
static ssize_t step_gzip(struct klog_unpack *unpack, char *ret, size_t size)
{
	z_stream *stream = &unpack->gzip;
	int err;

	/* Another member, or zeros that fill a block: those are no data. */
	if (unpack->whole) {
		if (!begins_with(unpack, "\x1f\x8b", 2)) {
			unpack->at = unpack->len;
			return 0;
		}
		inflateReset(stream);
		unpack->whole = false;
	}
	stream->next_in = unpack->packed + unpack->at;
	stream->avail_in = (uInt)(unpack->len - unpack->at);
	stream->next_out = (unsigned char *)ret;
	stream->avail_out = (uInt)size;
	err = inflate(stream, Z_NO_FLUSH);
	unpack->at = unpack->len - stream->avail_in;
	if (err == Z_STREAM_END)
		unpack->whole = true;
	else if (err != Z_OK && err != Z_BUF_ERROR)
		return -EBADMSG;
	return (ssize_t)(size - stream->avail_out);
}

static ssize_t step_xz(struct klog_unpack *unpack, char *ret, size_t size)
{
	lzma_stream *stream = &unpack->xz;
	lzma_ret err;

	stream->next_in = unpack->packed + unpack->at;
	stream->avail_in = unpack->len - unpack->at;
	stream->next_out = (uint8_t *)ret;
	stream->avail_out = size;
	err = lzma_code(stream, unpack->eof ? LZMA_FINISH : LZMA_RUN);
	unpack->at = unpack->len - stream->avail_in;
	if (err == LZMA_STREAM_END)
		unpack->whole = true;
	else if (err == LZMA_MEMLIMIT_ERROR || err == LZMA_MEM_ERROR)
		return -ENOMEM;
	else if (err != LZMA_OK && err != LZMA_BUF_ERROR)
		return -EBADMSG;
	return (ssize_t)(size - stream->avail_out);
}

static ssize_t step_zstd(struct klog_unpack *unpack, char *ret, size_t size)
{
	ZSTD_inBuffer in = {unpack->packed, unpack->len, unpack->at};
	ZSTD_outBuffer out = {ret, size, 0};
	size_t left = ZSTD_decompressStream(unpack->zstd, &out, &in);

	if (ZSTD_isError(left))
		return -EBADMSG;
	unpack->at = in.pos;
	unpack->whole = left == 0;
	return (ssize_t)out.pos;
}

static ssize_t step(struct klog_unpack *unpack, char *ret, size_t size)
{
	switch (unpack->packing) {
	case PACKING_GZIP:
		return step_gzip(unpack, ret, size);
	case PACKING_XZ:
		return step_xz(unpack, ret, size);
	default:
		return step_zstd(unpack, ret, size);
	}
}

/* The decoders may hold output back when there is no input left, so they are asked once more. */
static ssize_t read_packed(struct klog_unpack *unpack, char *ret, size_t size)
{
	ssize_t got;
	int err;

	for (;;) {
		bool dry;

		if (unpack->at == unpack->len) {
			err = refill(unpack);
			if (err)
				return err;
		}
		dry = unpack->at == unpack->len && unpack->eof;
		if (dry && unpack->whole)
			return 0;
		got = step(unpack, ret, size);
		if (got)
			return got;
		if (dry)
			return unpack->whole ? 0 : -EBADMSG;
	}
}

ssize_t klog_unpack_read(struct klog_unpack *unpack, char *ret, size_t size)
{
	int err = unpack->packing == PACKING_UNKNOWN ? find_packing(unpack) : 0;

	if (err)
		return err;
	if (!size)
		return 0;
	return unpack->packing == PACKING_NONE ? read_plain(unpack, ret, size)
					       : read_packed(unpack, ret, size);
}

struct klog_unpack *klog_unpack_new(int fd)
{
	struct klog_unpack *unpack = calloc(1, sizeof(*unpack));

	if (unpack)
		unpack->fd = fd;
	return unpack;
}

void klog_unpack_free(struct klog_unpack *unpack)
{
	if (!unpack)
		return;
	if (unpack->packing == PACKING_GZIP)
		inflateEnd(&unpack->gzip);
	if (unpack->packing == PACKING_XZ)
		lzma_end(&unpack->xz);
	ZSTD_freeDStream(unpack->zstd);
	free(unpack);
}

bool klog_unpack_stalls(const struct klog_unpack *unpack, int wait_ms)
{
	struct pollfd poller = {.fd = unpack->fd, .events = POLLIN};

	return unpack->packing == PACKING_NONE && unpack->at == unpack->len &&
	       poll(&poller, 1, wait_ms) == 0;
}

const char *klog_unpack_name(const struct klog_unpack *unpack)
{
	static const char *const names[] = {NULL, NULL, "gzip", "xz", "zstd"};

	return names[unpack->packing];
}
