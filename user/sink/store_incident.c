// SPDX-License-Identifier: Apache-2.0
/* Writes one incident, whole, in one durable transaction. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "judge/limit.h"
#include "judge/whose.h"
#include "sink/store_parts.h"
#include "sink/view.h"

#define COLUMNS_MAX 192 /* of one table of facts */
#define INSERT_MAX 16384

/* One table of facts with the part of the checksum that its columns' names make. */
struct facts {
	const struct field_table *table;
	uint32_t sums[COLUMNS_MAX];
};

struct store_incident_statements {
	sqlite3_stmt *next_id;
	sqlite3_stmt *incident; /* id, crc, facts, moment, told */
	sqlite3_stmt *arrays[STORE_FIELDS_TABLES]; /* as store_field_tables; not its first */
	sqlite3_stmt *verdict;
	struct facts facts[STORE_FIELDS_TABLES], moment, told, verdict_facts;
	/* of the incident that is being written */
	struct store_addresses addresses;
	struct store_told to_tell;
	struct store_verdict verdict_row;
};

/* --- statements --- */

static int facts_of(
	struct store_writer *writer, struct facts *facts, const struct field_table *table)
{
	if (table->field_count > COLUMNS_MAX)
		return db_say(&writer->db, -ENOBUFS, "too many columns");
	facts->table = table;
	for (size_t i = 0; i < table->field_count; i++)
		facts->sums[i] = store_sum_column(table->table, table->fields[i].column);
	return 0;
}

static size_t list_columns(char *sql, size_t at, const struct field_table *table)
{
	for (size_t i = 0; i < table->field_count && at < INSERT_MAX; i++)
		at += (size_t)snprintf(sql + at, INSERT_MAX - at, ",%s", table->fields[i].column);
	return at;
}

/* Three structs go into one row. */
static int prepare_incident(struct store_writer *writer)
{
	struct store_incident_statements *statements = writer->incident;
	const struct field_table *facts = &store_field_tables[STORE_FIELDS_INCIDENT];
	char sql[INSERT_MAX];
	size_t at = 0, count = facts->field_count + store_fields_moment.field_count +
			       store_fields_told.field_count;

	at += (size_t)snprintf(sql, sizeof(sql), "INSERT INTO incident(id,crc");
	at = list_columns(sql, at, facts);
	at = list_columns(sql, at, &store_fields_moment);
	at = list_columns(sql, at, &store_fields_told);
	if (at + 2 * count + 32 > sizeof(sql))
		return db_say(&writer->db, -ENOBUFS, "the statement is too long");
	at += (size_t)snprintf(sql + at, sizeof(sql) - at, ") VALUES(?,?");
	for (size_t i = 0; i < count; i++)
		at += (size_t)snprintf(sql + at, sizeof(sql) - at, ",?");
	snprintf(sql + at, sizeof(sql) - at, ")");
	return db_prepare(&writer->db, &statements->incident, sql);
}

static int prepare_facts(struct store_writer *writer)
{
	struct store_incident_statements *statements = writer->incident;
	int ret = 0;

	for (size_t i = 0; !ret && i < store_field_table_count; i++) {
		ret = facts_of(writer, &statements->facts[i], &store_field_tables[i]);
		if (!ret && i != STORE_FIELDS_INCIDENT)
			ret = store_row_prepare(&writer->db, &store_field_tables[i], "incident,n",
				&statements->arrays[i]);
	}
	if (!ret)
		ret = facts_of(writer, &statements->moment, &store_fields_moment);
	if (!ret)
		ret = facts_of(writer, &statements->told, &store_fields_told);
	if (!ret)
		ret = facts_of(writer, &statements->verdict_facts, &store_fields_verdict);
	return ret;
}

int store_incident_prepare(struct store_writer *writer)
{
	int ret;

	writer->incident = sqlite3_malloc(sizeof(*writer->incident));
	if (!writer->incident)
		return db_say(&writer->db, -ENOMEM, "no memory");
	memset(writer->incident, 0, sizeof(*writer->incident));
	/* Never given twice, whatever was pruned: AUTOINCREMENT's own count, asked beforehand since
	 * the checksum covers it. */
	ret = db_prepare(&writer->db, &writer->incident->next_id,
		"SELECT max(coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'incident'), 0),"
		" coalesce((SELECT max(id) FROM incident NOT INDEXED), 0)) + 1");
	if (!ret)
		ret = prepare_facts(writer);
	if (!ret)
		ret = prepare_incident(writer);
	if (!ret)
		ret = store_row_prepare(&writer->db, &store_fields_verdict, "incident,n",
			&writer->incident->verdict);
	if (ret)
		store_incident_release(writer);
	return ret;
}

void store_incident_release(struct store_writer *writer)
{
	struct store_incident_statements *statements = writer->incident;

	if (!statements)
		return;
	sqlite3_finalize(statements->next_id);
	sqlite3_finalize(statements->incident);
	for (size_t i = 0; i < STORE_FIELDS_TABLES; i++)
		sqlite3_finalize(statements->arrays[i]);
	sqlite3_finalize(statements->verdict);
	sqlite3_free(statements);
	writer->incident = NULL;
}

/* --- what is told --- */

static uint64_t pages_bytes(uint64_t pages, uint32_t page_size)
{
	return pages >= LIMIT_NONE_PAGES(page_size) ? UNKNOWN_U64 : pages * page_size;
}

/* As the record tells it: only of a cgroup's limit. */
static void tell_limit(struct store_told *told, const struct capture_run *run,
	const struct incident *incident, const struct judgement *judgement)
{
	const struct incident_level *level = view_limit(incident, judgement);

	told->limit_bytes = told->usage_bytes = UNKNOWN_U64;
	if (!level || judgement->scope != SCOPE_MEMCG)
		return;
	told->limit_bytes = pages_bytes(level->max_pages, run->host.page_size);
	told->usage_bytes = pages_bytes(level->usage_pages, run->host.page_size);
	snprintf(told->limit_cgroup, sizeof(told->limit_cgroup), "%s",
		view_limit_path(incident, judgement));
	if (told->limit_cgroup[0])
		snprintf(told->limit_kind, sizeof(told->limit_kind), "%s",
			cgroup_kind_name(judgement->limit_kind));
}

static void tell_whose(
	struct store_told *told, const struct incident *incident, const struct judgement *judgement)
{
	const struct container_path *where = &judgement->where;
	const char *runtime = container_runtime_name(judgement->runtime);

	memcpy(told->container_id, where->id, sizeof(told->container_id));
	snprintf(told->container_name, sizeof(told->container_name), "%s",
		whose_container(incident, judgement));
	snprintf(told->pod_uid, sizeof(told->pod_uid), "%s", whose_pod_uid(incident, judgement));
	snprintf(told->runtime, sizeof(told->runtime), "%s", runtime ? runtime : "");
	memcpy(told->unit, where->unit, sizeof(told->unit));
}

static void tell(struct store_told *told, const struct capture_run *run,
	const struct capture_moment *moment, const struct incident *incident,
	const struct judgement *judgement)
{
	memset(told, 0, sizeof(*told));
	told->time_real_ns = (int64_t)(incident->time_ns + (uint64_t)moment->wall_minus_boot_ns);
	told->run = run->id;
	snprintf(told->by, sizeof(told->by), "%s", OOMSNOOP_VERSION);
	if (judgement->scope != SCOPE_UNKNOWN)
		snprintf(told->scope, sizeof(told->scope), "%s", scope_name(judgement->scope));
	snprintf(told->outcome, sizeof(told->outcome), "%s", outcome_name(incident->outcome));
	told->manual = judgement->manual_known ? judgement->manual : UINT32_MAX;
	told->rss_exact = judgement->rss_sum == RSS_EXACT;
	tell_limit(told, run, incident, judgement);
	tell_whose(told, incident, judgement);
	told->total_pages = judgement->totalpages;
	told->points = judgement->has_badness ? judgement->badness.points : INT64_MIN;
	if (!judgement->verdict_count)
		return;
	snprintf(told->first_verdict, sizeof(told->first_verdict), "%s", judgement->verdicts[0].id);
	snprintf(told->claim, sizeof(told->claim), "%s", judgement->verdicts[0].claim);
}

static void tell_verdict(struct store_verdict *row, const struct verdict *verdict)
{
	size_t at = 0;

	_Static_assert(STORE_CLAIM == VERDICT_TEXT, "STORE_CLAIM");
	_Static_assert(STORE_EVIDENCE == VERDICT_EVIDENCE * (VERDICT_TEXT + 1), "STORE_EVIDENCE");
	memset(row, 0, sizeof(*row));
	snprintf(row->id, sizeof(row->id), "%s", verdict->id);
	snprintf(row->claim, sizeof(row->claim), "%s", verdict->claim);
	row->confidence = verdict->confidence;
	for (unsigned int i = 0; i < verdict->evidence_count && i < VERDICT_EVIDENCE; i++)
		at += (size_t)snprintf(row->evidence + at, sizeof(row->evidence) - at, "%s%s",
			i ? "\n" : "", verdict->evidence[i]);
}

/* --- rows --- */

/* Binds the columns of row n from parameter `first` on; returns their part of the checksum. */
static uint64_t bind_facts(struct store_incident_statements *statements, sqlite3_stmt *statement,
	int first, const struct facts *facts, const void *base, size_t n, int64_t sum_n)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < facts->table->field_count; i++) {
		struct store_value value =
			store_value_of(&facts->table->fields[i], base, n, &statements->addresses);

		store_value_bind(statement, first + (int)i, &value);
		sum += store_sum_value(facts->sums[i], sum_n, &value);
	}
	return sum;
}

static int insert_array(struct store_writer *writer, size_t which, const struct incident *incident,
	int64_t id, uint64_t *sum)
{
	struct store_incident_statements *statements = writer->incident;
	const struct facts *facts = &statements->facts[which];
	sqlite3_stmt *statement = statements->arrays[which];
	int ret = 0;

	for (size_t n = 0; !ret && n < store_row_count(facts->table, incident); n++) {
		sqlite3_bind_int64(statement, 1, id);
		sqlite3_bind_int64(statement, 2, (int64_t)n);
		*sum += bind_facts(statements, statement, 3, facts, incident, n, (int64_t)n);
		ret = db_step(&writer->db, statement);
	}
	return ret;
}

static int insert_verdicts(
	struct store_writer *writer, const struct judgement *judgement, int64_t id, uint64_t *sum)
{
	struct store_incident_statements *statements = writer->incident;
	int ret = 0;

	for (unsigned int n = 0; !ret && n < judgement->verdict_count && n < VERDICTS_MAX; n++) {
		tell_verdict(&statements->verdict_row, &judgement->verdicts[n]);
		sqlite3_bind_int64(statements->verdict, 1, id);
		sqlite3_bind_int64(statements->verdict, 2, n);
		*sum += bind_facts(statements, statements->verdict, 3, &statements->verdict_facts,
			&statements->verdict_row, 0, n);
		ret = db_step(&writer->db, statements->verdict);
	}
	return ret;
}

/* Last, since its `crc` is over all rows. */
static int insert_incident(struct store_writer *writer, const struct capture_moment *moment,
	const struct incident *incident, int64_t id, uint64_t sum)
{
	struct store_incident_statements *statements = writer->incident;
	const struct facts *facts = &statements->facts[STORE_FIELDS_INCIDENT];
	int at = 3;

	sqlite3_bind_int64(statements->incident, 1, id);
	sum += bind_facts(statements, statements->incident, at, facts, incident, 0, id);
	at += (int)facts->table->field_count;
	sum += bind_facts(statements, statements->incident, at, &statements->moment, moment, 0, id);
	at += (int)store_fields_moment.field_count;
	sum += bind_facts(statements, statements->incident, at, &statements->told,
		&statements->to_tell, 0, id);
	sqlite3_bind_int64(statements->incident, 2, (int64_t)sum);
	return db_step(&writer->db, statements->incident);
}

static int next_id(struct store_writer *writer, int64_t *ret)
{
	sqlite3_stmt *statement = writer->incident->next_id;
	int error = db_step(&writer->db, statement);

	*ret = sqlite3_column_int64(statement, 0);
	sqlite3_reset(statement);
	return error < 0 ? error : 0;
}

static int insert_all(struct store_writer *writer, const struct capture_moment *moment,
	const struct incident *incident, const struct judgement *judgement, int64_t *ret_id)
{
	uint64_t sum = 0;
	int ret = next_id(writer, ret_id);

	store_addresses_reset(&writer->incident->addresses);
	for (size_t i = 1; !ret && i < store_field_table_count; i++)
		ret = insert_array(writer, i, incident, *ret_id, &sum);
	if (!ret)
		ret = insert_verdicts(writer, judgement, *ret_id, &sum);
	if (!ret)
		ret = insert_incident(writer, moment, incident, *ret_id, sum);
	return ret;
}

int store_incident(struct store_writer *writer, const struct capture_run *run,
	const struct capture_moment *moment, const struct incident *incident,
	const struct judgement *judgement, int64_t *ret_id)
{
	int ret = store_room(writer, STORE_INCIDENT_BYTES, false);

	if (!ret)
		ret = db_begin_durable(&writer->db);
	if (ret)
		return ret;
	tell(&writer->incident->to_tell, run, moment, incident, judgement);
	ret = insert_all(writer, moment, incident, judgement, ret_id);
	if (!ret)
		return db_commit(&writer->db);
	db_rollback(&writer->db);
	return ret;
}
