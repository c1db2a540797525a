// SPDX-License-Identifier: Apache-2.0
#include "model/store_names.h"

#include <errno.h>
#include <string.h>

int store_note(struct store *store, int so_far, int error)
{
	if (error >= 0 || so_far)
		return so_far;
	if (error == -ENOMEM)
		return store_say(store, error, "no memory");
	return store_failed(store, error);
}

int store_note_damage(struct store *store, int so_far, const char *what)
{
	return so_far ? so_far : store_say(store, -EBADMSG, "%s", what);
}

static uint64_t column_u64(sqlite3_stmt *statement, int column, uint64_t none)
{
	if (sqlite3_column_type(statement, column) == SQLITE_NULL)
		return none;
	return (uint64_t)sqlite3_column_int64(statement, column);
}

static uint32_t column_u32(sqlite3_stmt *statement, int column)
{
	int64_t value = sqlite3_column_int64(statement, column);

	return value < 0 || value > UINT32_MAX ? 0 : (uint32_t)value;
}

/* Of CLOCK_BOOTTIME: no clock shows what does not fit into the signed type. */
static uint64_t column_time(sqlite3_stmt *statement, int column)
{
	int64_t value = sqlite3_column_int64(statement, column);

	return value < 0 ? 0 : (uint64_t)value;
}

#define PROCESS_COLUMNS                                                                            \
	"pid, start_ns, ppid, root_pid, root_start_ns, cgroup, exited_ns, shared_bytes, comm"
#define CGROUP_COLUMNS "kernfs_id, parent_kernfs_id, max_bytes, path"

void store_lookup_close(struct store_lookup *lookup)
{
	sqlite3_finalize(lookup->by_row[OF_CGROUP]);
	sqlite3_finalize(lookup->by_row[OF_PROCESS]);
	sqlite3_finalize(lookup->path);
	sqlite3_finalize(lookup->is_below);
}

int store_lookup_open(struct store_lookup *lookup, struct store *store)
{
	struct db *db = &store->db;
	int ret;

	memset(lookup, 0, sizeof(*lookup));
	lookup->store = store;
	ret = db_prepare(db, &lookup->by_row[OF_CGROUP],
		"SELECT " CGROUP_COLUMNS " FROM cgroup WHERE id = ?1");
	if (!ret)
		ret = db_prepare(db, &lookup->by_row[OF_PROCESS],
			"SELECT " PROCESS_COLUMNS " FROM process WHERE id = ?1");
	if (!ret)
		ret = db_prepare(db, &lookup->path,
			"SELECT path FROM cgroup WHERE boot = ?1 AND kernfs_id = ?2");
	if (!ret)
		ret = db_prepare(db, &lookup->is_below,
			"WITH RECURSIVE up (id) AS (VALUES (?2) UNION SELECT parent_kernfs_id"
			" FROM up JOIN cgroup ON boot = ?1 AND kernfs_id = up.id"
			" WHERE parent_kernfs_id IS NOT NULL LIMIT 64)"
			" SELECT 1 FROM up WHERE id = ?3");
	return ret;
}

static void read_process(sqlite3_stmt *statement, struct history_owner *ret)
{
	ret->kind = HISTORY_PROCESS;
	ret->tgid = column_u32(statement, 0);
	ret->start_ns = column_time(statement, 1);
	ret->ppid = column_u32(statement, 2);
	ret->root_tgid = column_u32(statement, 3);
	ret->root_start_ns = column_time(statement, 4);
	ret->cgroup_id = column_u64(statement, 5, 0);
	ret->exited_ns = column_time(statement, 6);
	ret->shared_bytes = column_time(statement, 7);
	ret->max_bytes = UINT64_MAX;
	db_column_bytes(statement, 8, ret->comm, sizeof(ret->comm));
}

static void read_cgroup(sqlite3_stmt *statement, struct history_owner *ret, char *path)
{
	ret->cgroup_id = column_u64(statement, 0, 0);
	ret->kind = ret->cgroup_id ? HISTORY_CGROUP : HISTORY_HOST;
	ret->parent_id = column_u64(statement, 1, 0);
	ret->max_bytes = column_u64(statement, 2, UINT64_MAX);
	db_column_bytes(statement, 3, path, CGROUP_PATH_LEN);
}

int store_lookup_path(struct store_lookup *lookup, uint64_t kernfs_id, char *path)
{
	int ret;

	path[0] = '\0';
	sqlite3_bind_int64(lookup->path, 1, lookup->boot);
	sqlite3_bind_int64(lookup->path, 2, (sqlite3_int64)kernfs_id);
	ret = db_step(&lookup->store->db, lookup->path);
	if (ret > 0)
		db_column_bytes(lookup->path, 0, path, CGROUP_PATH_LEN);
	sqlite3_reset(lookup->path);
	return ret < 0 ? ret : 0;
}

int store_lookup_row(
	struct store_lookup *lookup, int kind, int64_t row, struct history_owner *ret, char *path)
{
	sqlite3_stmt *statement = lookup->by_row[kind];
	int result;

	memset(ret, 0, sizeof(*ret));
	path[0] = '\0';
	sqlite3_bind_int64(statement, 1, row);
	result = db_step(&lookup->store->db, statement);
	if (result > 0 && kind == OF_PROCESS)
		read_process(statement, ret);
	else if (result > 0)
		read_cgroup(statement, ret, path);
	sqlite3_reset(statement);
	return result;
}

bool store_read_values(sqlite3_stmt *statement, int first, int kind, int64_t *values)
{
	int count = kind == OF_PROCESS ? HISTORY_VALUES : 2;

	memset(values, 0, HISTORY_VALUES * sizeof(*values));
	for (int i = 0; i < count; i++) {
		int type = sqlite3_column_type(statement, first + i);

		values[i] = sqlite3_column_int64(statement, first + i);
		if (type == SQLITE_NULL && kind == OF_CGROUP && i == HISTORY_CHARGED)
			values[i] = -1;
		else if (type != SQLITE_INTEGER || values[i] < 0)
			return false;
	}
	return true;
}
