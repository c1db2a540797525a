// SPDX-License-Identifier: Apache-2.0
/*
 * A window of series out of a store. The tables of points lie by time, their owners mixed, and have
 * no other index (it would double the file): a window is one scan, its points are collected, and
 * told owner by owner. Names are looked up as points ask for them.
 */
#include "model/store_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NS_PER_MS 1000000LL
#define COLLECTED_MAX (1U << 20) /* points held before they are told, and more collected */
#define NONE UINT32_MAX
/* How far back a value that still holds is looked for. Windows of incidents begin with a point of
 * each owner, so that this is for series between them. */
#define HELD_MS 900000LL
#define HELD_ROWS 200000

struct window_owner {
	int64_t key; /* row and kind */
	bool wanted;
	bool has_held;
	uint32_t points; /* of those collected */
	struct history_owner owner;
};

struct window_point {
	uint32_t owner;
	struct history_point point;
};

/* Processes share cgroups: what was found out of the last ones. */
struct domain_memo {
	uint64_t cgroup_id;
	bool known, inside;
};

struct window {
	struct store_lookup lookup;
	const struct history_taker *taker;
	uint64_t domain_id;
	char domain_path[CGROUP_PATH_LEN];
	struct domain_memo memo[256];
	int64_t from_ms, to_ms, from_ns;
	struct window_owner *owners;
	uint32_t owner_count, owner_room;
	uint32_t *slots; /* index + 1, by key; as many as a power of 2, at least 2 * owner_room */
	struct window_point *points;
	uint32_t point_count, point_room;
	uint32_t *order; /* points by owner */
	int error; /* the first; what was read is told all the same */
};

static void window_free(struct window *window)
{
	store_lookup_close(&window->lookup);
	free(window->owners);
	free(window->slots);
	free(window->points);
	free(window->order);
	free(window);
}

static uint32_t slot_of(const struct window *window, int64_t key)
{
	uint32_t mask = 2 * window->owner_room - 1;
	uint32_t at = (uint32_t)((uint64_t)key * 0x9e3779b97f4a7c15ULL >> 32) & mask;

	while (window->slots[at] && window->owners[window->slots[at] - 1].key != key)
		at = (at + 1) & mask;
	return at;
}

static int grow_owners(struct window *window)
{
	uint32_t room = window->owner_room ? 2 * window->owner_room : 1024;
	struct window_owner *owners = realloc(window->owners, room * sizeof(*owners));
	uint32_t *slots;

	if (!owners)
		return -ENOMEM;
	window->owners = owners;
	slots = calloc(2 * (size_t)room, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	free(window->slots);
	window->slots = slots;
	window->owner_room = room;
	for (uint32_t i = 0; i < window->owner_count; i++)
		slots[slot_of(window, owners[i].key)] = i + 1;
	return 0;
}

static bool path_is_below(const char *path, const char *above)
{
	size_t len = strlen(above);

	if (!len || strncmp(path, above, len) != 0)
		return false;
	return above[len - 1] == '/' || path[len] == '/' || !path[len];
}

/* By the chain of parents; where that is not whole, by the paths. */
static bool find_inside(struct window *window, uint64_t cgroup_id)
{
	struct store_lookup *lookup = &window->lookup;
	struct store *store = lookup->store;
	char path[CGROUP_PATH_LEN];
	int ret;

	sqlite3_bind_int64(lookup->is_below, 1, lookup->boot);
	sqlite3_bind_int64(lookup->is_below, 2, (sqlite3_int64)cgroup_id);
	sqlite3_bind_int64(lookup->is_below, 3, (sqlite3_int64)window->domain_id);
	ret = db_step(&store->db, lookup->is_below);
	sqlite3_reset(lookup->is_below);
	window->error = store_note(store, window->error, ret);
	if (ret > 0)
		return true;
	if (!window->domain_path[0])
		return false;
	window->error =
		store_note(store, window->error, store_lookup_path(lookup, cgroup_id, path));
	return path_is_below(path, window->domain_path);
}

static bool is_inside(struct window *window, uint64_t cgroup_id)
{
	struct domain_memo *memo = &window->memo[(cgroup_id ^ cgroup_id >> 8) % 256];

	if (!window->domain_id || cgroup_id == window->domain_id)
		return true;
	if (!cgroup_id)
		return false;
	if (!memo->known || memo->cgroup_id != cgroup_id) {
		memo->inside = find_inside(window, cgroup_id);
		memo->cgroup_id = cgroup_id;
		memo->known = true;
	}
	return memo->inside;
}

/* Names of other processes are looked up once, too, and passed over from then on. */
static bool is_wanted(struct window *window, int kind, int64_t row, struct history_owner *owner)
{
	struct store *store = window->lookup.store;
	char path[CGROUP_PATH_LEN];
	int ret = store_lookup_row(&window->lookup, kind, row, owner, path);

	window->error = store_note(store, window->error, ret);
	if (!ret)
		window->error = store_note_damage(
			store, window->error, "a series of nobody: its name is missing");
	if (ret <= 0)
		return false;
	if (kind == OF_CGROUP)
		return true;
	if (owner->exited_ns && (int64_t)owner->exited_ns < window->from_ns)
		return false;
	return is_inside(window, owner->cgroup_id);
}

/* Its index; NONE: not wanted; -1: no memory. */
static int64_t window_owner(struct window *window, int kind, int64_t row)
{
	int64_t key = (int64_t)((uint64_t)row << 1 | (uint64_t)kind);
	struct window_owner *owner;
	uint32_t at;

	if (window->owner_count == window->owner_room && grow_owners(window))
		return -1;
	at = slot_of(window, key);
	if (!window->slots[at]) {
		owner = &window->owners[window->owner_count];
		memset(owner, 0, sizeof(*owner));
		owner->key = key;
		window->slots[at] = ++window->owner_count;
		owner->wanted = is_wanted(window, kind, row, &owner->owner);
	}
	at = window->slots[at] - 1;
	return window->owners[at].wanted ? at : NONE;
}

static int grow_points(struct window *window)
{
	uint32_t room = window->point_room ? 2 * window->point_room : 8192;
	void *points = realloc(window->points, room * sizeof(*window->points));
	void *order;

	if (!points)
		return -ENOMEM;
	window->points = points;
	order = realloc(window->order, room * sizeof(*window->order));
	if (!order)
		return -ENOMEM;
	window->order = order;
	window->point_room = room;
	return 0;
}

/* Points were collected by time: put in order by owner, they keep it. */
static void tell_collected(struct window *window)
{
	const struct history_taker *taker = window->taker;
	uint32_t begin = 0;

	for (uint32_t i = 0; i < window->owner_count; i++) {
		uint32_t count = window->owners[i].points;

		window->owners[i].points = begin;
		begin += count;
	}
	for (uint32_t i = 0; i < window->point_count; i++)
		window->order[window->owners[window->points[i].owner].points++] = i;
	/* `points` of an owner is now where it ends. */
	begin = 0;
	for (uint32_t i = 0; i < window->owner_count; i++) {
		struct window_owner *owner = &window->owners[i];

		if (begin < owner->points)
			taker->owner(&owner->owner, taker->arg);
		for (; begin < owner->points; begin++)
			taker->point(&window->points[window->order[begin]].point, taker->arg);
		owner->points = 0;
	}
	window->point_count = 0;
}

static int collect_row(struct window *window, sqlite3_stmt *statement, int kind, bool held)
{
	int64_t t_ms = sqlite3_column_int64(statement, 0);
	struct window_point *collected;
	struct history_point point;
	int64_t owner;

	if (!store_read_values(statement, 2, kind, point.values)) {
		window->error = store_note_damage(
			window->lookup.store, window->error, "a point of a series is damaged");
		return 0;
	}
	owner = window_owner(window, kind, sqlite3_column_int64(statement, 1));
	if (owner < 0)
		return -ENOMEM;
	if (owner == NONE || (held && window->owners[owner].has_held))
		return 0;
	if (window->point_count == window->point_room && grow_points(window))
		return -ENOMEM;
	window->owners[owner].has_held |= held;
	window->owners[owner].points++;
	point.time_ns = held ? window->from_ns : t_ms * NS_PER_MS;
	collected = &window->points[window->point_count++];
	collected->owner = (uint32_t)owner;
	collected->point = point;
	if (window->point_count == COLLECTED_MAX)
		tell_collected(window);
	return 0;
}

/* `held`: backwards from the beginning, the first of each owner. */
static int collect(struct window *window, int kind, bool held)
{
	static const char *const texts[2][2] = {
		{"SELECT " POINT_COLUMNS_CGROUP " WHERE boot = ?1 AND t_ms > ?2 AND t_ms <= ?3"
		 " ORDER BY t_ms LIMIT ?4",
			"SELECT " POINT_COLUMNS_CGROUP " WHERE boot = ?1 AND t_ms > ?2 AND"
			" t_ms <= ?3 ORDER BY t_ms DESC LIMIT ?4"},
		{"SELECT " POINT_COLUMNS_PROCESS " WHERE boot = ?1 AND t_ms > ?2 AND t_ms <= ?3"
		 " ORDER BY t_ms LIMIT ?4",
			"SELECT " POINT_COLUMNS_PROCESS " WHERE boot = ?1 AND t_ms > ?2 AND"
			" t_ms <= ?3 ORDER BY t_ms DESC LIMIT ?4"},
	};
	struct store *store = window->lookup.store;
	sqlite3_stmt *statement;
	int ret = db_prepare(&store->db, &statement, texts[kind][held]);

	if (ret)
		return ret;
	sqlite3_bind_int64(statement, 1, window->lookup.boot);
	sqlite3_bind_int64(statement, 2, held ? window->from_ms - HELD_MS : window->from_ms);
	sqlite3_bind_int64(statement, 3, held ? window->from_ms : window->to_ms);
	sqlite3_bind_int64(statement, 4, held ? HELD_ROWS : -1);
	while ((ret = db_step(&store->db, statement)) > 0) {
		ret = collect_row(window, statement, kind, held);
		if (ret)
			break;
	}
	sqlite3_finalize(statement);
	return ret;
}

/* The row of a boot: 1, or 0: nothing of it was stored. */
static int find_boot(struct store *store, const char *boot_id, int64_t *ret_boot)
{
	sqlite3_stmt *statement;
	int ret = db_prepare(&store->db, &statement, "SELECT id FROM boot WHERE boot_id = ?1");

	if (ret)
		return ret;
	db_bind_bytes(statement, 1, boot_id, strlen(boot_id));
	ret = db_step(&store->db, statement);
	if (ret > 0)
		*ret_boot = sqlite3_column_int64(statement, 0);
	sqlite3_finalize(statement);
	return ret;
}

static int lookup_domain(struct window *window)
{
	if (!window->domain_id)
		return 0;
	return store_lookup_path(&window->lookup, window->domain_id, window->domain_path);
}

static int64_t to_ms(int64_t time_ns)
{
	return time_ns < 0 ? -1 : time_ns / NS_PER_MS;
}

/* A part that cannot be read does not keep the others from being told. */
static int tell_window(struct window *window)
{
	struct store *store = window->lookup.store;
	static const int kinds[] = {OF_CGROUP, OF_PROCESS};

	for (size_t i = 0; i < 2; i++) {
		for (int held = 1; held >= 0; held--) {
			int ret = collect(window, kinds[i], held);

			window->error = store_note(store, window->error, ret);
			if (ret == -ENOMEM)
				return ret;
		}
	}
	tell_collected(window);
	return window->error;
}

/* In one transaction, so that no name goes while its points are read. */
static int find_and_tell(struct window *window, const char *boot_id)
{
	struct store_lookup *lookup = &window->lookup;
	struct store *store = lookup->store;
	int ret = find_boot(store, boot_id, &lookup->boot);

	if (ret <= 0)
		return store_note(store, 0, ret);
	ret = lookup_domain(window);
	return ret ? store_note(store, 0, ret) : tell_window(window);
}

int store_history(struct store *store, const struct captured *captured, uint64_t domain_id,
	int64_t from_ns, int64_t to_ns, const struct history_taker *taker)
{
	struct window *window = calloc(1, sizeof(*window));
	int ret;

	store->why[0] = '\0';
	if (!window)
		return store_say(store, -ENOMEM, "no memory");
	window->taker = taker;
	window->domain_id = domain_id;
	window->from_ns = from_ns;
	window->from_ms = to_ms(from_ns);
	window->to_ms = to_ms(to_ns);
	ret = store_lookup_open(&window->lookup, store);
	if (!ret)
		ret = db_exec(&store->db, "BEGIN");
	if (ret)
		store_note(store, 0, ret);
	else
		ret = find_and_tell(window, captured->run.host.boot_id);
	db_rollback(&store->db);
	window_free(window);
	return ret;
}
