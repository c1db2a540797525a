// SPDX-License-Identifier: Apache-2.0
/* Series of a whole store in the order of time, gaps, and the summary. */
#include "model/store_names.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "facts/host.h"

#define NS_PER_MS 1000000LL
#define T_MS_MAX (INT64_MAX / NS_PER_MS / 2)
#define PIECE_POINTS 4096
#define PIECE_SLOTS (2 * PIECE_POINTS)

/* Whoever takes the points may be slow, and a reader that stands still keeps the writer from
 * emptying its log: so they are read piece by piece, each in a transaction that ends before
 * anything of it is told. */

struct piece_name {
	uint64_t key; /* row and kind */
	bool known;
	struct history_owner owner;
	char *path; /* NULL: not known */
};

struct piece_point {
	uint32_t name;
	struct history_point point;
};

struct run_begin {
	int64_t id, began_ns;
};

struct boot_row {
	int64_t id;
	int64_t wall_minus_boot_ns;
	char boot_id[37];
	char hostname[65];
};

/* One of the two tables of points: what comes after (t_ms, row). */
struct source {
	sqlite3_stmt *statement; /* open while a piece is read; stands on a row */
	bool done;
	int64_t t_ms, row;
};

struct export
{
	struct store_lookup lookup;
	int64_t wall_minus_boot_ns, since_ns, until_ns, until_ms;
	struct source sources[2];
	struct run_begin *runs; /* of the boot, by time */
	size_t run_count, run_at;
	struct captured *scratch; /* for reading a run */
	struct capture_run run;
	uint32_t name_count, point_count;
	uint32_t slots[PIECE_SLOTS]; /* index + 1 */
	struct piece_name names[PIECE_POINTS];
	struct piece_point points[PIECE_POINTS];
	void (*fn)(const struct capture_run *run, const struct history_owner *owner,
		const char *path, const struct history_point *point, void *arg);
	void *arg;
	int error; /* the first; what was read is told all the same */
};

static int64_t add_bounded(int64_t a, int64_t b)
{
	int64_t sum;

	if (__builtin_add_overflow(a, b, &sum))
		return a < 0 ? INT64_MIN : INT64_MAX;
	return sum;
}

static int64_t subtract_bounded(int64_t a, int64_t b)
{
	int64_t difference;

	if (__builtin_sub_overflow(a, b, &difference))
		return a < 0 ? INT64_MIN : INT64_MAX;
	return difference;
}

/* The bounds of t_ms for a span of CLOCK_REALTIME, rounded outwards. */
static int64_t bound_ms(int64_t time_ns, int64_t wall_minus_boot_ns, bool upper)
{
	int64_t boot_ns;

	if (time_ns == INT64_MIN || time_ns == INT64_MAX)
		return upper ? T_MS_MAX : 0;
	boot_ns = subtract_bounded(time_ns, wall_minus_boot_ns);
	if (boot_ns < 0)
		return upper ? -1 : 0;
	return boot_ns / NS_PER_MS < T_MS_MAX ? boot_ns / NS_PER_MS : T_MS_MAX;
}

static void note(struct export *export, int error)
{
	export->error = store_note(export->lookup.store, export->error, error);
}

static void note_damage(struct export *export, const char *what)
{
	export->error = store_note_damage(export->lookup.store, export->error, what);
}

static void forget_piece(struct export *export)
{
	for (uint32_t i = 0; i < export->name_count; i++)
		free(export->names[i].path);
	memset(export->slots, 0, sizeof(export->slots));
	export->name_count = export->point_count = 0;
}

static void export_free(struct export *export)
{
	forget_piece(export);
	store_lookup_close(&export->lookup);
	free(export->runs);
	free(export->scratch);
	free(export);
}

/* --- runs: which one a point is of --- */

static int append_run(struct export *export, sqlite3_stmt *statement)
{
	struct run_begin *runs = export->runs;

	if (!(export->run_count & (export->run_count - 1))) {
		size_t room = export->run_count ? 2 * export->run_count : 1;

		runs = realloc(export->runs, room * sizeof(*runs));
		if (!runs)
			return -ENOMEM;
		export->runs = runs;
	}
	runs[export->run_count].id = sqlite3_column_int64(statement, 0);
	runs[export->run_count++].began_ns = sqlite3_column_int64(statement, 1);
	return 0;
}

/* Where no run of a boot is there any more, its points are told with what the boot's row has. */
static int read_runs(struct export *export, const struct boot_row *boot)
{
	struct db *db = &export->lookup.store->db;
	struct capture_run *run = &export->run;
	sqlite3_stmt *statement;
	int ret = db_prepare(db, &statement,
		"SELECT id, began_ns FROM run WHERE boot_id = ?1 ORDER BY began_ns, id");

	export->run_count = export->run_at = 0;
	memset(run, 0, sizeof(*run));
	run->ended_ns = INT64_MIN;
	memcpy(run->host.boot_id, boot->boot_id, sizeof(boot->boot_id));
	memcpy(run->host.hostname, boot->hostname, sizeof(boot->hostname));
	if (ret)
		return ret;
	db_bind_bytes(statement, 1, boot->boot_id, strlen(boot->boot_id));
	while ((ret = db_step(db, statement)) > 0 && !(ret = append_run(export, statement)))
		;
	sqlite3_finalize(statement);
	return ret;
}

static void read_run(struct export *export, int64_t id)
{
	int ret = store_load_run(export->lookup.store, id, export->scratch);

	if (ret == -EBADMSG)
		note_damage(export, export->scratch->damage);
	else
		note(export, ret);
	export->run = export->scratch->run;
}

/* On to the run that was going on at that time: the last that had begun by then. */
static void move_to_run(struct export *export, int64_t time_ns)
{
	size_t before = export->run_at;

	while (export->run_at < export->run_count &&
		(!export->run_at || export->runs[export->run_at].began_ns <= time_ns))
		export->run_at++;
	if (export->run_at != before)
		read_run(export, export->runs[export->run_at - 1].id);
}

/* --- points --- */

static void read_name(struct export *export, int kind, int64_t row, struct piece_name *name)
{
	char path[CGROUP_PATH_LEN];
	int ret = store_lookup_row(&export->lookup, kind, row, &name->owner, path);

	note(export, ret);
	if (!ret)
		note_damage(export, "a series of nobody: its name is missing");
	name->known = ret > 0;
	if (ret > 0 && kind == OF_PROCESS && name->owner.cgroup_id)
		note(export, store_lookup_path(&export->lookup, name->owner.cgroup_id, path));
	name->path = path[0] ? strdup(path) : NULL;
	if (path[0] && !name->path)
		note(export, -ENOMEM);
}

/* Its index. A piece has no more names than points, so there is always room. */
static uint32_t find_name(struct export *export, int kind, int64_t row)
{
	uint64_t key = (uint64_t)row << 1 | (uint64_t)kind;
	uint32_t at = (uint32_t)(key * 0x9e3779b97f4a7c15ULL >> 32) % PIECE_SLOTS;
	struct piece_name *name;

	while (export->slots[at] && export->names[export->slots[at] - 1].key != key)
		at = (at + 1) % PIECE_SLOTS;
	if (!export->slots[at]) {
		name = &export->names[export->name_count];
		memset(name, 0, sizeof(*name));
		name->key = key;
		export->slots[at] = ++export->name_count;
		read_name(export, kind, row, name);
	}
	return export->slots[at] - 1;
}

static void step_source(struct export *export, struct source *source)
{
	int ret = db_step(&export->lookup.store->db, source->statement);

	note(export, ret);
	if (ret > 0)
		return;
	source->done = true;
	sqlite3_finalize(source->statement);
	source->statement = NULL;
}

static void open_source(struct export *export, int kind)
{
	static const char *const texts[2] = {
		"SELECT " POINT_COLUMNS_CGROUP " WHERE boot = ?1 AND (t_ms, cgroup) > (?2, ?3)"
		" AND t_ms <= ?4 ORDER BY t_ms, cgroup",
		"SELECT " POINT_COLUMNS_PROCESS " WHERE boot = ?1 AND (t_ms, process) > (?2, ?3)"
		" AND t_ms <= ?4 ORDER BY t_ms, process",
	};
	struct source *source = &export->sources[kind];
	int ret;

	if (source->done)
		return;
	ret = db_prepare(&export->lookup.store->db, &source->statement, texts[kind]);
	note(export, ret);
	if (ret) {
		source->done = true;
		return;
	}
	sqlite3_bind_int64(source->statement, 1, export->lookup.boot);
	sqlite3_bind_int64(source->statement, 2, source->t_ms);
	sqlite3_bind_int64(source->statement, 3, source->row);
	sqlite3_bind_int64(source->statement, 4, export->until_ms);
	step_source(export, source);
}

static void take_row(struct export *export, int kind)
{
	struct source *source = &export->sources[kind];
	struct piece_point *taken = &export->points[export->point_count];
	int64_t t_ms = sqlite3_column_int64(source->statement, 0);
	int64_t row = sqlite3_column_int64(source->statement, 1);

	/* A tree that leads back into itself would be walked for ever. */
	if (t_ms < source->t_ms || (t_ms == source->t_ms && row <= source->row)) {
		note_damage(export, "the order of a series is damaged");
		source->done = true;
		sqlite3_finalize(source->statement);
		source->statement = NULL;
		return;
	}
	source->t_ms = t_ms;
	source->row = row;
	taken->point.time_ns = add_bounded(t_ms * NS_PER_MS, export->wall_minus_boot_ns);
	if (!store_read_values(source->statement, 2, kind, taken->point.values)) {
		note_damage(export, "a point of a series is damaged");
	} else if (taken->point.time_ns >= export->since_ns &&
		   taken->point.time_ns <= export->until_ns) {
		taken->name = find_name(export, kind, row);
		export->point_count += export->names[taken->name].known;
	}
	step_source(export, source);
}

/* Of two at one time the cgroup's first. */
static int next_kind(const struct export *export)
{
	sqlite3_stmt *cgroup = export->sources[OF_CGROUP].statement;
	sqlite3_stmt *process = export->sources[OF_PROCESS].statement;

	if (!cgroup || !process)
		return cgroup ? OF_CGROUP : OF_PROCESS;
	return sqlite3_column_int64(cgroup, 0) <= sqlite3_column_int64(process, 0) ? OF_CGROUP
										   : OF_PROCESS;
}

static void read_piece(struct export *export)
{
	struct db *db = &export->lookup.store->db;
	int ret = db_exec(db, "BEGIN");

	note(export, ret);
	for (int kind = 0; kind < 2; kind++)
		open_source(export, kind);
	/* A name is kept even if its point is not. */
	while (export->point_count < PIECE_POINTS && export->name_count < PIECE_POINTS &&
		(export->sources[0].statement || export->sources[1].statement))
		take_row(export, next_kind(export));
	for (int kind = 0; kind < 2; kind++) {
		sqlite3_finalize(export->sources[kind].statement);
		export->sources[kind].statement = NULL;
	}
	db_rollback(db);
}

static void tell_piece(struct export *export)
{
	for (uint32_t i = 0; i < export->point_count; i++) {
		const struct piece_point *told = &export->points[i];
		const struct piece_name *name = &export->names[told->name];

		move_to_run(export, told->point.time_ns);
		export->fn(&export->run, &name->owner, name->path ? name->path : "", &told->point,
			export->arg);
	}
}

static void tell_boot(struct export *export, const struct boot_row *boot)
{
	int64_t since_ms = bound_ms(export->since_ns, boot->wall_minus_boot_ns, false);

	export->lookup.boot = boot->id;
	export->wall_minus_boot_ns = boot->wall_minus_boot_ns;
	export->until_ms = bound_ms(export->until_ns, boot->wall_minus_boot_ns, true);
	for (int kind = 0; kind < 2; kind++)
		export->sources[kind] = (struct source) {.t_ms = since_ms - 1, .row = INT64_MAX};
	note(export, read_runs(export, boot));
	while (!export->sources[0].done || !export->sources[1].done) {
		forget_piece(export);
		read_piece(export);
		tell_piece(export);
	}
}

/* The boot after that one: 1, or 0: there is none. */
static int next_boot(struct export *export, sqlite3_stmt *statement, struct boot_row *boot)
{
	int ret;

	sqlite3_bind_int64(statement, 1, boot->id);
	ret = db_step(&export->lookup.store->db, statement);
	if (ret > 0) {
		boot->id = sqlite3_column_int64(statement, 0);
		db_column_bytes(statement, 1, boot->boot_id, sizeof(boot->boot_id));
		boot->wall_minus_boot_ns = sqlite3_column_int64(statement, 2);
		db_column_bytes(statement, 3, boot->hostname, sizeof(boot->hostname));
	}
	sqlite3_reset(statement);
	return ret;
}

static int tell_boots(struct export *export)
{
	struct boot_row boot = {.id = INT64_MIN};
	sqlite3_stmt *statement;
	int ret = db_prepare(&export->lookup.store->db, &statement,
		"SELECT id, boot_id, wall_minus_boot_ns, hostname FROM boot WHERE id > ?1"
		" ORDER BY id LIMIT 1");

	if (ret)
		return ret;
	while ((ret = next_boot(export, statement, &boot)) > 0)
		tell_boot(export, &boot);
	sqlite3_finalize(statement);
	return ret;
}

int store_series(struct store *store, int64_t since_ns, int64_t until_ns,
	void (*fn)(const struct capture_run *run, const struct history_owner *owner,
		const char *path, const struct history_point *point, void *arg),
	void *arg)
{
	struct export *export = calloc(1, sizeof(*export));
	int ret;

	store->why[0] = '\0';
	if (!export)
		return store_say(store, -ENOMEM, "no memory");
	export->since_ns = since_ns;
	export->until_ns = until_ns;
	export->fn = fn;
	export->arg = arg;
	ret = store_lookup_open(&export->lookup, store);
	export->scratch = malloc(sizeof(*export->scratch));
	if (!export->scratch)
		ret = -ENOMEM;
	if (!ret)
		ret = tell_boots(export);
	note(export, ret);
	ret = export->error;
	export_free(export);
	return ret;
}

/* --- gaps --- */

const char *store_gap_name(enum store_gap_why why)
{
	switch (why) {
	case STORE_GAP_NOT_RUNNING:
		return "not-running";
	case STORE_GAP_DISK:
		return "disk";
	case STORE_GAP_QUEUE:
		return "queue";
	case STORE_GAP_WINDOW:
		return "window";
	case STORE_GAP_PRUNED:
		return "pruned";
	}
	return "unknown";
}

static uint64_t column_count(sqlite3_stmt *statement, int column)
{
	int64_t value = sqlite3_column_int64(statement, column);

	return sqlite3_column_type(statement, column) != SQLITE_INTEGER || value < 0
		       ? UNKNOWN_U64
		       : (uint64_t)value;
}

int store_gaps(struct store *store, int64_t since_ns, int64_t until_ns,
	void (*fn)(const struct store_gap *gap, void *arg), void *arg)
{
	sqlite3_stmt *statement;
	int ret = db_prepare(&store->db, &statement,
		"SELECT why, from_ns, to_ns, incidents, points FROM gap"
		" WHERE to_ns >= ?1 AND from_ns <= ?2 ORDER BY from_ns, id");

	store->why[0] = '\0';
	if (ret)
		return store_note(store, 0, ret);
	sqlite3_bind_int64(statement, 1, since_ns);
	sqlite3_bind_int64(statement, 2, until_ns);
	while ((ret = db_step(&store->db, statement)) > 0) {
		struct store_gap gap = {
			.why = (enum store_gap_why)sqlite3_column_int(statement, 0),
			.from_ns = sqlite3_column_int64(statement, 1),
			.to_ns = sqlite3_column_int64(statement, 2),
			.incidents = column_count(statement, 3),
			.points = column_count(statement, 4),
		};

		fn(&gap, arg);
	}
	sqlite3_finalize(statement);
	return store_note(store, 0, ret);
}

/* --- summary --- */

static int read_last_run(struct store *store, struct store_summary *ret)
{
	sqlite3_stmt *statement;
	int error = db_prepare(&store->db, &statement,
		"SELECT hostname, began_ns, ended_ns FROM run ORDER BY id DESC LIMIT 1");

	if (error)
		return error;
	error = db_step(&store->db, statement);
	if (error > 0) {
		db_column_bytes(statement, 0, ret->hostname, sizeof(ret->hostname));
		if (sqlite3_column_type(statement, 2) == SQLITE_NULL)
			ret->running_since_ns = sqlite3_column_int64(statement, 1);
		error = 0;
	}
	sqlite3_finalize(statement);
	return error;
}

int store_summary(struct store *store, struct store_summary *ret)
{
	const struct {
		const char *sql;
		int64_t none;
		int64_t *ret;
	} numbers[] = {
		{"SELECT count(*) FROM incident", 0, (int64_t *)&ret->incidents},
		{"SELECT count(*) FROM run", 0, (int64_t *)&ret->runs},
		{"SELECT min(time_real_ns) FROM incident", INT64_MIN, &ret->first_ns},
		{"SELECT max(time_real_ns) FROM incident", INT64_MIN, &ret->last_ns},
	};
	uint64_t log_bytes;
	int error = 0;

	store->why[0] = '\0';
	memset(ret, 0, sizeof(*ret));
	ret->first_ns = ret->last_ns = ret->running_since_ns = INT64_MIN;
	/* One that cannot be read does not keep the others from being told. */
	error = store_note(store, error, db_size(&store->db, &ret->bytes, &log_bytes));
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		error = store_note(store, error,
			db_number(&store->db, numbers[i].sql, numbers[i].none, numbers[i].ret));
	return store_note(store, error, read_last_run(store, ret));
}
