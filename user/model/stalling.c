// SPDX-License-Identifier: Apache-2.0
#include "model/stalling.h"

#include <stddef.h>

#define ROUNDS 3

static struct stall *find(struct stalling *stalling, uint64_t cgroup_id)
{
	for (unsigned int i = 0; i < stalling->count; i++)
		if (stalling->stalls[i].first.cgroup_id == cgroup_id)
			return &stalling->stalls[i];
	return NULL;
}

static void begin_round(struct stall *stall, uint64_t now_ns)
{
	stall->round_ns = now_ns;
	stall->round_events = stall->last.high_events;
	stall->round_full_us = stall->last.full_us;
}

static void begin(struct stall *stall, uint64_t now_ns, const struct stall_look *look)
{
	*stall = (struct stall) {
		.since_ns = now_ns,
		.last_ns = now_ns,
		.first = *look,
		.last = *look,
	};
	begin_round(stall, now_ns);
}

static void drop(struct stalling *stalling, struct stall *stall)
{
	*stall = stalling->stalls[--stalling->count];
}

static unsigned int percent_of(uint64_t from_us, uint64_t to_us, uint64_t ns)
{
	double share = ns && to_us > from_us ? (double)(to_us - from_us) * 1e5 / (double)ns : 0;

	return share < 100 ? (unsigned int)share : 100;
}

unsigned int stall_full_percent(const struct stall *stall)
{
	return percent_of(
		stall->first.full_us, stall->last.full_us, stall->last_ns - stall->since_ns);
}

static bool round_was_stalled(const struct stall *stall, const struct stall_look *look, uint64_t ns)
{
	return look->high_events > stall->round_events &&
	       percent_of(stall->round_full_us, look->full_us, ns) >= STALL_FULL_PERCENT;
}

/* Of a round that was none the stall ended with the one before: it may begin anew. */
static enum stall_news end(
	struct stall *stall, uint64_t now_ns, const struct stall_look *look, struct stall *ret)
{
	bool told = stall->told;

	*ret = *stall;
	ret->last_ns = stall->round_ns;
	ret->last.high_events = stall->round_events;
	ret->last.full_us = stall->round_full_us;
	begin(stall, now_ns, look);
	return told ? STALL_ENDED : STALL_NO_NEWS;
}

enum stall_news stalling_take(struct stalling *stalling, uint64_t now_ns,
	const struct stall_look *look, struct stall *ret)
{
	struct stall *stall = find(stalling, look->cgroup_id);
	uint64_t round_ns;

	if (!stall && stalling->count == STALLS_MAX) {
		stalling->not_followed++;
		return STALL_NO_NEWS;
	}
	if (!stall) {
		begin(&stalling->stalls[stalling->count++], now_ns, look);
		return STALL_NO_NEWS;
	}
	round_ns = now_ns - stall->round_ns;
	if (round_ns >= stalling->stall_ns / ROUNDS && !round_was_stalled(stall, look, round_ns))
		return end(stall, now_ns, look, ret);
	stall->last = *look;
	stall->last_ns = now_ns;
	if (round_ns < stalling->stall_ns / ROUNDS)
		return STALL_NO_NEWS;
	begin_round(stall, now_ns);
	if (stall->told || now_ns - stall->since_ns < stalling->stall_ns)
		return STALL_NO_NEWS;
	stall->told = true;
	*ret = *stall;
	return STALL_BEGAN;
}

bool stalling_left(struct stalling *stalling, uint64_t now_ns, struct stall *ret)
{
	unsigned int i = 0;

	while (i < stalling->count) {
		struct stall *stall = &stalling->stalls[i];

		if (stall->last_ns == now_ns) {
			i++;
			continue;
		}
		*ret = *stall;
		drop(stalling, stall);
		if (ret->told)
			return true;
	}
	return false;
}
