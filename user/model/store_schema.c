// SPDX-License-Identifier: Apache-2.0
#include "model/store_schema.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"

#define SQL_MAX 32768
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* --- tables --- */

/* Numbers of incidents and runs are never given twice, even when the last one was pruned. */
static const char *const numbered[] = {"id INTEGER PRIMARY KEY AUTOINCREMENT", "crc INTEGER", NULL};
static const char *const of_incident[] = {"incident INTEGER", "n INTEGER", NULL};
static const char *const of_kill[] = {"kill INTEGER", "n INTEGER", NULL};
static const char *const of_run[] = {"run INTEGER", "n INTEGER", NULL};

#define PER_INCIDENT ", PRIMARY KEY(incident, n)"
#define ROWLESS "WITHOUT ROWID"

static const struct field_table *const incident_facts[] = {
	&store_field_tables[STORE_FIELDS_INCIDENT], &store_fields_moment, &store_fields_told, NULL};
static const struct field_table *const kill_facts[] = {
	&store_fields_kill, &store_fields_kill_told, NULL};
static const struct field_table *const refusal_facts[] = {
	&store_fields_refusal, &store_fields_refusal_told, NULL};
static const struct field_table *const kill_target_facts[] = {&store_fields_kill_target, NULL};
static const struct field_table *const run_facts[] = {&store_fields_run, NULL};
static const struct field_table *const run_hook_facts[] = {&store_fields_run_hook, NULL};
static const struct field_table *const verdict_facts[] = {&store_fields_verdict, NULL};
static const struct field_table *const array_facts[][2] = {
	{&store_field_tables[1]},
	{&store_field_tables[2]},
	{&store_field_tables[3]},
	{&store_field_tables[4]},
	{&store_field_tables[5]},
	{&store_field_tables[6]},
	{&store_field_tables[7]},
	{&store_field_tables[8]},
	{&store_field_tables[9]},
	{&store_field_tables[10]},
};

/* Series. wall_minus_boot_ns: CLOCK_REALTIME less CLOCK_BOOTTIME, as last seen. */
static const char *const boot_columns[] = {"id INTEGER PRIMARY KEY AUTOINCREMENT", "boot_id TEXT",
	"wall_minus_boot_ns INTEGER", "hostname TEXT", NULL};
static const char *const process_columns[] = {"id INTEGER PRIMARY KEY", "boot INTEGER",
	"pid INTEGER", "start_ns INTEGER", "ppid INTEGER", "root_pid INTEGER",
	"root_start_ns INTEGER", "cgroup INTEGER", "exited_ns INTEGER", "shared_bytes INTEGER",
	"comm TEXT", "cmdline TEXT", "until_ms INTEGER", NULL};
static const char *const cgroup_columns[] = {"id INTEGER PRIMARY KEY", "boot INTEGER",
	"kernfs_id INTEGER", "parent_kernfs_id INTEGER", "path TEXT", "max_bytes INTEGER",
	"until_ms INTEGER", NULL};
static const char *const process_point_columns[] = {"boot INTEGER", "t_ms INTEGER",
	"process INTEGER", "resident INTEGER", "swap INTEGER", "cow INTEGER", "cached INTEGER",
	NULL};
static const char *const cgroup_point_columns[] = {
	"boot INTEGER", "t_ms INTEGER", "cgroup INTEGER", "usage INTEGER", "charged INTEGER", NULL};
static const char *const gap_columns[] = {"id INTEGER PRIMARY KEY", "why INTEGER",
	"from_ns INTEGER", "to_ns INTEGER", "incidents INTEGER", "points INTEGER", NULL};

const struct store_table store_tables[] = {
	{"run", numbered, run_facts, "", ""},
	{"run_hook", of_run, run_hook_facts, ", PRIMARY KEY(run, n)", ROWLESS},
	{"incident", numbered, incident_facts, "", ""},
	{"level", of_incident, array_facts[0], PER_INCIDENT, ROWLESS},
	{"victim", of_incident, array_facts[1], PER_INCIDENT, ROWLESS},
	{"candidate", of_incident, array_facts[2], PER_INCIDENT, ROWLESS},
	{"picture_cgroup", of_incident, array_facts[3], PER_INCIDENT, ROWLESS},
	{"picture_process", of_incident, array_facts[4], PER_INCIDENT, ROWLESS},
	{"picture_family", of_incident, array_facts[5], PER_INCIDENT, ROWLESS},
	{"picture_point", of_incident, array_facts[6], PER_INCIDENT, ROWLESS},
	{"picture_armed", of_incident, array_facts[7], PER_INCIDENT, ROWLESS},
	{"log", of_incident, array_facts[8], PER_INCIDENT, ROWLESS},
	{"zone", of_incident, array_facts[9], PER_INCIDENT, ROWLESS},
	{"verdict", of_incident, verdict_facts, PER_INCIDENT, ROWLESS},
	{"kill", numbered, kill_facts, "", ""},
	{"kill_target", of_kill, kill_target_facts, ", PRIMARY KEY(kill, n)", ROWLESS},
	{"refusal", numbered, refusal_facts, "", ""},
	{"boot", boot_columns, NULL, ", UNIQUE(boot_id)", ""},
	{"process", process_columns, NULL, ", UNIQUE(boot, pid, start_ns)", ""},
	{"cgroup", cgroup_columns, NULL, ", UNIQUE(boot, kernfs_id)", ""},
	{"process_point", process_point_columns, NULL, ", PRIMARY KEY(boot, t_ms, process)",
		ROWLESS},
	{"cgroup_point", cgroup_point_columns, NULL, ", PRIMARY KEY(boot, t_ms, cgroup)", ROWLESS},
	{"gap", gap_columns, NULL, "", ""},
};

const size_t store_table_count = COUNT(store_tables);
_Static_assert(COUNT(array_facts) == STORE_FIELDS_TABLES - 2, "array_facts");

static const char index_sql[] =
	"CREATE INDEX IF NOT EXISTS incident_time ON incident(time_real_ns);"
	"CREATE INDEX IF NOT EXISTS kill_time ON kill(time_real_ns);"
	"CREATE INDEX IF NOT EXISTS refusal_time ON refusal(time_real_ns)";

/* --- what a file is --- */

static int read_marks(struct db *db, int64_t *ret_application, int64_t *ret_version, bool *ret_new)
{
	int64_t objects = 0;
	int ret = db_number(db, "PRAGMA application_id", 0, ret_application);

	if (!ret)
		ret = db_number(db, "PRAGMA user_version", 0, ret_version);
	if (!ret)
		ret = db_number(db, "SELECT count(*) FROM sqlite_schema", 0, &objects);
	*ret_new = !objects && !*ret_application && !*ret_version;
	return ret;
}

static int judge_marks(struct db *db, int64_t application, int64_t version, int *ret_version)
{
	*ret_version = version > 0 && version < INT32_MAX ? (int)version : 0;
	if (application != STORE_APPLICATION_ID)
		return db_say(db, -EBADMSG, "a database of another program");
	if (version < 1)
		return db_say(db, -EBADMSG, "damaged: it has no version");
	if (version > STORE_VERSION)
		return db_say(
			db, -EPROTO, "needs oomsnoop that knows store version %d", *ret_version);
	return 0;
}

int store_schema_check(struct db *db, int *ret_version)
{
	int64_t application = 0, version = 0;
	bool is_new = false;
	int ret = read_marks(db, &application, &version, &is_new);

	*ret_version = 0;
	if (ret)
		return ret;
	if (is_new)
		return db_say(db, -EBADMSG, "it is empty: nothing was ever stored in it");
	return judge_marks(db, application, version, ret_version);
}

/* --- making and completing it --- */

static const char *type_name(enum field_type type)
{
	return type == FIELD_TEXT || type == FIELD_CSTRING ? "TEXT" : "INTEGER";
}

/* Calls fn for the declaration of each column, until it fails. */
static int each_column(
	const struct store_table *table, int (*fn)(const char *column, void *arg), void *arg)
{
	char column[96];
	int ret = 0;

	for (size_t i = 0; !ret && table->columns[i]; i++)
		ret = fn(table->columns[i], arg);
	for (size_t i = 0; !ret && table->facts && table->facts[i]; i++) {
		for (size_t j = 0; !ret && j < table->facts[i]->field_count; j++) {
			const struct field *field = &table->facts[i]->fields[j];

			snprintf(column, sizeof(column), "%s %s", field->column,
				type_name(field->type));
			ret = fn(column, arg);
		}
	}
	return ret;
}

static int append_column(const char *column, void *arg)
{
	struct buf *buf = arg;

	if (buf->data[buf->len - 1] != '(')
		buf_puts(buf, ", ");
	buf_puts(buf, column);
	return 0;
}

static int create_table(struct db *db, const struct store_table *table)
{
	char sql[SQL_MAX];
	struct buf buf;

	buf_init(&buf, sql, sizeof(sql));
	buf_printf(&buf, "CREATE TABLE IF NOT EXISTS %s(", table->name);
	each_column(table, append_column, &buf);
	buf_printf(&buf, "%s) %s", table->keys, table->options);
	if (buf.full)
		return db_say(db, -ENOBUFS, "the statement is too long");
	return db_exec(db, sql);
}

struct completing {
	struct db *db;
	const struct store_table *table;
};

static int add_column(const char *column, void *arg)
{
	struct completing *completing = arg;
	char sql[320];
	int64_t found;
	int ret;

	snprintf(sql, sizeof(sql), "SELECT 1 FROM pragma_table_info('%s') WHERE name = '%.*s'",
		completing->table->name, (int)strcspn(column, " "), column);
	ret = db_number(completing->db, sql, 0, &found);
	if (ret || found)
		return ret;
	/* A key that is missing cannot be added: then it is no store of ours, and SQLite says so.
	 */
	snprintf(sql, sizeof(sql), "ALTER TABLE %s ADD COLUMN %s", completing->table->name, column);
	return db_exec(completing->db, sql);
}

/* A view of another build's is replaced: what it tells is the same facts. */
static int create_view(struct db *db, const struct store_view *view)
{
	char sql[SQL_MAX];
	sqlite3_stmt *statement;
	int ret = db_prepare(
		db, &statement, "SELECT 1 FROM sqlite_schema WHERE type = 'view' AND sql = ?");

	if (ret)
		return ret;
	if ((size_t)snprintf(sql, sizeof(sql), "CREATE VIEW %s %s", view->name, view->sql) >=
		sizeof(sql))
		ret = db_say(db, -ENOBUFS, "the statement is too long");
	if (!ret) {
		sqlite3_bind_text(statement, 1, sql, -1, SQLITE_STATIC);
		ret = db_step(db, statement);
	}
	sqlite3_finalize(statement);
	if (ret)
		return ret < 0 ? ret : 0;
	ret = db_exec(
		db, sqlite3_snprintf(64, (char[64]) {0}, "DROP VIEW IF EXISTS %s", view->name));
	return ret ? ret : db_exec(db, sql);
}

static int write_schema(struct db *db, bool is_new)
{
	char sql[128];
	int ret = 0;

	for (size_t i = 0; !ret && i < store_table_count; i++)
		ret = create_table(db, &store_tables[i]);
	for (size_t i = 0; !ret && !is_new && i < store_table_count; i++)
		ret = each_column(
			&store_tables[i], add_column, &(struct completing) {db, &store_tables[i]});
	if (!ret)
		ret = db_exec(db, index_sql);
	for (size_t i = 0; !ret && i < store_view_count; i++)
		ret = create_view(db, &store_views[i]);
	if (ret || !is_new)
		return ret;
	snprintf(sql, sizeof(sql), "PRAGMA application_id = %d; PRAGMA user_version = %d",
		STORE_APPLICATION_ID, STORE_VERSION);
	return db_exec(db, sql);
}

int store_schema_prepare(struct db *db, int *ret_version)
{
	int64_t application = 0, version = 0;
	bool is_new = false;
	int ret = read_marks(db, &application, &version, &is_new);

	*ret_version = 0;
	if (!ret && !is_new)
		ret = judge_marks(db, application, version, ret_version);
	if (!ret)
		ret = db_wal(db);
	if (!ret)
		ret = db_begin_durable(db);
	if (ret)
		return ret;
	ret = write_schema(db, is_new);
	if (ret) {
		db_rollback(db);
		return ret;
	}
	*ret_version = STORE_VERSION;
	return db_commit(db);
}
