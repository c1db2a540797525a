/* SPDX-License-Identifier: Apache-2.0 */
/* keeper_world.h: what a keeper has around it: a store and a history that do as they are told. To
 * be included once, behind the parts of the keeper itself. */
#ifndef OOMSNOOP_TESTS_KEEPER_WORLD_H
#define OOMSNOOP_TESTS_KEEPER_WORLD_H

#define PATH "/nowhere/oom.db"
#define SECOND_NS 1000000000ULL
#define LOG_MAX 8192

/* --- the store --- */

enum call {
	CALL_OPEN,
	CALL_BEGIN_RUN,
	CALL_OWNER,
	CALL_POINT,
	CALL_COMMIT,
	CALL_INCIDENT,
	CALL_END_RUN,
	CALL_COUNT
};

/* What happened to the file: 'o' owner, 'p' points (once), 'c' commit, 'i' incident, 'g' gap, 'r'
 * run. Read once the thread is gone, or under the mutex. */
static struct {
	pthread_mutex_t mutex;
	int fails[CALL_COUNT]; /* -errno that this call gives */
	unsigned int fail_times[CALL_COUNT]; /* so often */
	bool replaced;
	bool full;
	unsigned int opened, runs;
	uint64_t points_in_batch, points, batch_most;
	unsigned int owners;
	uint32_t numbers[LOG_MAX]; /* of incidents */
	unsigned int incidents;
	struct store_gap gaps[64];
	unsigned int gap_count, gaps_in_batch;
	char log[LOG_MAX];
	unsigned int log_len;
	char why[64];
	int64_t ended_ns;
	bool closed;
} disk = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static void noted(char what)
{
	if (disk.log_len < LOG_MAX - 1 &&
		(what != 'p' || !disk.log_len || disk.log[disk.log_len - 1] != 'p'))
		disk.log[disk.log_len++] = what;
}

static int failing(enum call call)
{
	if (!disk.fail_times[call])
		return 0;
	disk.fail_times[call]--;
	return disk.fails[call];
}

static void breaks(enum call call, int error, unsigned int times)
{
	pthread_mutex_lock(&disk.mutex);
	disk.fails[call] = error;
	disk.fail_times[call] = times;
	pthread_mutex_unlock(&disk.mutex);
}

#define LOCKED(type, expression)                                                                   \
	({                                                                                         \
		type ret_;                                                                         \
		pthread_mutex_lock(&disk.mutex);                                                   \
		ret_ = (expression);                                                               \
		pthread_mutex_unlock(&disk.mutex);                                                 \
		ret_;                                                                              \
	})

int db_memory(uint64_t heap_bytes)
{
	(void)heap_bytes;
	return -EALREADY;
}

static int open_disk(struct store_writer **ret)
{
	static char writer;
	int error = failing(CALL_OPEN);

	*ret = error ? NULL : (struct store_writer *)(void *)&writer;
	disk.opened += !error;
	if (!error)
		disk.replaced = false;
	return error;
}

int store_writer_open(
	const char *path, const struct store_limits *limits, struct store_writer **ret)
{
	assert_string_equal(path, PATH);
	assert_int_equal(limits->keep_ns, 5);
	return LOCKED(int, open_disk(ret));
}

void store_writer_close(struct store_writer *writer)
{
	(void)writer;
	disk.closed = true;
}

const char *store_writer_why(const struct store_writer *writer)
{
	return writer ? "why it failed" : "why it could not be opened";
}

bool store_writer_in_place(const struct store_writer *writer)
{
	(void)writer;
	return LOCKED(bool, !disk.replaced);
}

uint64_t store_writer_bytes(const struct store_writer *writer)
{
	(void)writer;
	return 4096;
}

int store_run_begin(
	struct store_writer *writer, struct capture_run *run, int64_t wall_minus_boot_ns)
{
	int error = LOCKED(int, failing(CALL_BEGIN_RUN));

	(void)writer, (void)wall_minus_boot_ns;
	assert_true(run->began_ns > 0 && run->ended_ns == INT64_MIN);
	if (error)
		return error;
	noted('r');
	run->id = ++disk.runs;
	return 0;
}

int store_run_end(struct store_writer *writer, const struct capture_run *run)
{
	int error = LOCKED(int, failing(CALL_END_RUN));

	(void)writer;
	if (error)
		return error;
	assert_int_equal(run->id, disk.runs);
	snprintf(disk.why, sizeof(disk.why), "%s", run->ended_why);
	disk.ended_ns = run->ended_ns;
	return 0;
}

int store_batch_begin(struct store_writer *writer)
{
	(void)writer;
	disk.points_in_batch = disk.gaps_in_batch = 0;
	return 0;
}

int store_owner(struct store_writer *writer, const struct history_owner *owner, const char *path,
	const char *cmdline)
{
	(void)writer;
	assert_string_equal(path, owner->kind == HISTORY_CGROUP ? "/a/path" : "");
	assert_string_equal(cmdline, owner->kind == HISTORY_PROCESS ? "a command" : "");
	noted('o');
	disk.owners++;
	return LOCKED(int, failing(CALL_OWNER));
}

int store_point(struct store_writer *writer, const struct history_point *point)
{
	int error = LOCKED(int, failing(CALL_POINT));

	(void)writer;
	if (error)
		return error;
	if (disk.points_in_batch == STORE_BATCH_POINTS)
		return -ENOBUFS;
	assert_int_equal(point->values[HISTORY_RESIDENT], point->time_ns / 1000);
	disk.points_in_batch++;
	noted('p');
	return 0;
}

int store_gap(struct store_writer *writer, const struct store_gap *gap)
{
	(void)writer;
	assert_true(gap->why >= STORE_GAP_NOT_RUNNING && gap->why <= STORE_GAP_PRUNED);
	assert_true(gap->from_ns <= gap->to_ns);
	assert_true(disk.gap_count + disk.gaps_in_batch < 64);
	disk.gaps[disk.gap_count + disk.gaps_in_batch++] = *gap;
	noted('g');
	return 0;
}

int store_batch_commit(struct store_writer *writer, int64_t wall_minus_boot_ns)
{
	int error = LOCKED(int, failing(CALL_COMMIT));

	(void)writer, (void)wall_minus_boot_ns;
	if (error)
		return error;
	noted('c');
	if (disk.points_in_batch > disk.batch_most)
		disk.batch_most = disk.points_in_batch;
	disk.points += disk.points_in_batch;
	disk.gap_count += disk.gaps_in_batch;
	return 0;
}

static int store_note(char mark, uint32_t number, int64_t time_ns, int64_t *ret_id)
{
	int error = LOCKED(int, failing(CALL_INCIDENT));

	if (error)
		return error;
	assert_int_equal(time_ns, number);
	noted(mark);
	*ret_id = number;
	return 0;
}

#define STORE_NOTE(name, type, mark)                                                               \
	int name(struct store_writer *writer, const struct capture_run *run,                       \
		const struct type *what, const struct store_kill_told *told, int64_t *ret_id)      \
	{                                                                                          \
		(void)writer, (void)run;                                                           \
		return store_note(mark, what->number, told->time_real_ns, ret_id);                 \
	}
STORE_NOTE(store_kill, killing, 'k')
STORE_NOTE(store_refusal, refusal, 'r')
int store_incident(struct store_writer *writer, const struct capture_run *run,
	const struct capture_moment *moment, const struct incident *incident,
	const struct judgement *judgement, int64_t *ret_id)
{
	int error = LOCKED(int, failing(CALL_INCIDENT));

	(void)writer, (void)judgement;
	assert_int_equal(run->id, disk.runs);
	assert_int_equal(moment->lost_events, incident->number);
	if (error)
		return error;
	pthread_mutex_lock(&disk.mutex);
	/* What goes into a file that was replaced is gone with it. */
	if (!disk.replaced)
		disk.numbers[disk.incidents++] = incident->number;
	pthread_mutex_unlock(&disk.mutex);
	noted('i');
	*ret_id = disk.incidents;
	return 0;
}

int store_keep(struct store_writer *writer, int64_t now_ns, bool *ret_more, bool *ret_full)
{
	(void)writer;
	assert_true(now_ns > 0);
	*ret_more = false;
	*ret_full = LOCKED(bool, disk.full);
	return 0;
}

/* --- the history --- */

static struct {
	unsigned int points, left_out;
	uint64_t domain_id, from_ns;
	bool again;
	unsigned int thinned;
} history;

static void tell_series(const struct history_taker *taker)
{
	struct history_owner owner = {.kind = HISTORY_PROCESS, .tgid = 7, .start_ns = 70};

	for (unsigned int i = 0; i < history.points; i++) {
		struct history_point point = {.time_ns = 1000 * (1 + (int64_t)i)};

		if (i % 100 == 0 && history.points < 10000)
			taker->owner(&owner, taker->arg);
		else if (i == 0)
			taker->owner(&owner, taker->arg);
		point.values[HISTORY_RESIDENT] = point.time_ns / 1000;
		taker->point(&point, taker->arg);
	}
}

unsigned int growth_history(struct growth *growth, uint64_t domain_id, uint64_t from_ns, bool again,
	const struct history_taker *taker)
{
	(void)growth;
	history.domain_id = domain_id;
	history.from_ns = from_ns;
	history.again = again;
	tell_series(taker);
	return history.left_out;
}

void growth_thinned(struct growth *growth, uint64_t now_ns, uint64_t min_bytes,
	const struct history_taker *taker)
{
	(void)growth, (void)now_ns;
	assert_int_equal(min_bytes, 1 << 20);
	history.thinned++;
	tell_series(taker);
}

#endif /* OOMSNOOP_TESTS_KEEPER_WORLD_H */
