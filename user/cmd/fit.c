// SPDX-License-Identifier: Apache-2.0
#include "cmd/fit.h"

#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#include "base/buf.h"
#include "base/text.h"
#include "base/units.h"
#include "facts/host.h"
#include "facts/room.h"

#define MIB (1ULL << 20)

void fit_options(const struct live_options *options, bool store, uint64_t queue_bytes,
	struct need_options *ret)
{
	*ret = (struct need_options) {
		.recorder = !options->no_recorder,
		.store = store,
		.ring_bytes = options->ring_bytes,
		.queue_bytes = queue_bytes,
	};
}

static unsigned long long mib_up(uint64_t bytes)
{
	return (bytes + MIB - 1) / MIB;
}

static int too_little_asked(uint64_t memory_bytes, const struct need *least)
{
	fprintf(stderr,
		"oomsnoop: --memory: the smallest tables need %llu MiB, and %llu MiB are given\n",
		mib_up(least->full_bytes), (unsigned long long)(memory_bytes / MIB));
	return EX_USAGE;
}

static void put_room(struct buf *buf, const struct need *need, const struct memory_room *room)
{
	buf_printf(buf,
		"oomsnoop: with its tables full it needs %llu MiB, and %llu MiB are left "
		"before the limit of ",
		mib_up(need->full_bytes), (unsigned long long)(room->room_bytes / MIB));
	text_terminal(buf, room->cgroup, strlen(room->cgroup), 0);
	buf_puts(buf, " (");
	units_bytes(buf, room->max_bytes);
	buf_puts(buf, ", used ");
	units_bytes(buf, room->used_bytes);
	buf_puts(buf, " without page cache): it would cause the kill that it is to explain; ");
}

static int no_room(
	const struct need_options *asked, const struct need *need, const struct memory_room *room)
{
	struct need smaller;
	char text[2048];
	struct buf buf;

	buf_init(&buf, text, sizeof(text));
	put_room(&buf, need, room);
	if (need_fit(asked, room->room_bytes, &smaller))
		buf_printf(
			&buf, "--memory %lluMiB makes smaller tables", mib_up(smaller.full_bytes));
	else
		buf_printf(&buf, "the smallest tables need %llu MiB", mib_up(smaller.full_bytes));
	fprintf(stderr, "%.*s\n", (int)buf.len, buf.data);
	return EX_UNAVAILABLE;
}

int fit_tables(const struct live_options *options, const struct need_options *asked,
	struct table_sizes *ret)
{
	static struct memory_room room;
	struct need need;

	need_of(asked, 0, &need);
	if (options->memory_bytes && !need_fit(asked, options->memory_bytes, &need))
		return too_little_asked(options->memory_bytes, &need);
	*ret = need.sizes;
	/* Where no limit can be seen there is none to be held to. */
	if (read_memory_room("", &room) || room.room_bytes == UNKNOWN_U64 ||
		room.room_bytes >= need.full_bytes)
		return 0;
	return no_room(asked, &need, &room);
}
