// SPDX-License-Identifier: Apache-2.0
#include "source/klog_journal.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "source/klog_journal_files.h"
#include "source/klog_journal_library.h"

#define NS_PER_US 1000
#define THIS_BOOT_FILE "/proc/sys/kernel/random/boot_id"
#define BOOT_MATCH "_BOOT_ID="
#define KERNEL_MATCH "_TRANSPORT=kernel"

struct boot {
	char id[KLOG_BOOT_ID_LEN + 1];
	uint64_t began_us;
};

struct klog_journal {
	struct journal_library library;
	struct journal_files files;
	struct sd_journal *handle;
	int64_t until_ns;
	uint64_t usage; /* of the files that it began with */
	uint64_t lost;
	bool ended;
};

/* --- the files --- */

/* The library passes over files that it cannot make sense of without a word, so each is tried by
 * itself first. Some versions of it close the descriptor with the journal, some do not. */
static void drop_damaged(struct klog_journal *journal)
{
	struct journal_files *files = &journal->files;

	for (size_t i = 0; i < files->count;) {
		struct sd_journal *one;
		int fd = fcntl(files->list[i].fd, F_DUPFD_CLOEXEC, 0);
		int error = fd < 0 ? -errno : journal->library.open_files_fd(&one, &fd, 1, 0);

		if (error >= 0)
			journal->library.close(one);
		if (fd >= 0)
			close(fd);
		if (error < 0)
			journal_files_drop(files, i, error);
		else
			i++;
	}
}

static int open_all(struct klog_journal *journal)
{
	const struct journal_files *files = &journal->files;
	int *fds = calloc(files->count, sizeof(*fds)), error;

	if (!fds)
		return -ENOMEM;
	for (size_t i = 0; i < files->count; i++)
		fds[i] = files->list[i].fd;
	error = journal->library.open_files_fd(
		&journal->handle, fds, (unsigned int)files->count, 0);
	free(fds);
	if (error < 0)
		return error;
	error = journal->library.get_usage(journal->handle, &journal->usage);
	return error < 0 ? error : 0;
}

static int open_files(struct klog_journal *journal, const struct klog_journal_query *query)
{
	int error = journal_files_find(&journal->files, query);

	if (error)
		return error;
	drop_damaged(journal);
	if (!journal->files.count)
		return journal->files.problems ? -EBADMSG : -ENOENT;
	return open_all(journal);
}

/* --- boots --- */

bool klog_journal_boot_id(const char *text, char ret[KLOG_BOOT_ID_LEN + 1])
{
	size_t len = 0;

	for (; *text; text++) {
		bool joint = len == 8 || len == 12 || len == 16 || len == 20;

		if (*text == '-' && joint && text[-1] != '-')
			continue;
		if (!isxdigit((unsigned char)*text) || len == KLOG_BOOT_ID_LEN)
			return false;
		ret[len++] = (char)tolower((unsigned char)*text);
	}
	ret[len] = '\0';
	return len == KLOG_BOOT_ID_LEN;
}

static int this_boot(char ret[KLOG_BOOT_ID_LEN + 1])
{
	char text[64];
	int fd = open(THIS_BOOT_FILE, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	if (got <= 0)
		return -ENOKEY;
	text[got] = '\0';
	text[strcspn(text, "\n")] = '\0';
	return klog_journal_boot_id(text, ret) ? 0 : -ENOKEY;
}

static int match_boot(struct klog_journal *journal, const char *id)
{
	char match[sizeof(BOOT_MATCH) + KLOG_BOOT_ID_LEN];

	snprintf(match, sizeof(match), BOOT_MATCH "%s", id);
	return journal->library.add_match(journal->handle, match, strlen(match));
}

/* When its first entry was written. -ENOKEY: it has none. */
static int boot_began(struct klog_journal *journal, const char *id, uint64_t *ret_us)
{
	const struct journal_library *library = &journal->library;
	int got;

	library->flush_matches(journal->handle);
	got = match_boot(journal, id);
	if (got >= 0)
		got = library->seek_head(journal->handle);
	if (got >= 0)
		got = library->next(journal->handle);
	if (got > 0)
		got = library->get_realtime_usec(journal->handle, ret_us);
	else if (!got)
		got = -ENOKEY;
	library->flush_matches(journal->handle);
	return got < 0 ? got : 0;
}

static int by_beginning(const void *one, const void *other)
{
	const struct boot *a = one, *b = other;

	if (a->began_us != b->began_us)
		return a->began_us < b->began_us ? -1 : 1;
	return strcmp(a->id, b->id);
}

/* Every id that an entry has. *ret is the caller's to free, also after an error. */
static int list_ids(struct klog_journal *journal, struct boot **ret, size_t *ret_count)
{
	const struct journal_library *library = &journal->library;
	const char *data;
	size_t len, room = 0;
	int got = library->query_unique(journal->handle, "_BOOT_ID");

	while (got >= 0) {
		got = library->enumerate_unique(journal->handle, (const void **)&data, &len);
		if (got <= 0 || len != strlen(BOOT_MATCH) + KLOG_BOOT_ID_LEN)
			break;
		if (*ret_count == room) {
			struct boot *list = reallocarray(*ret, room + 64, sizeof(*list));

			if (!list)
				return -ENOMEM;
			*ret = list;
			room += 64;
		}
		memcpy((*ret)[*ret_count].id, data + strlen(BOOT_MATCH), KLOG_BOOT_ID_LEN);
		(*ret)[(*ret_count)++].id[KLOG_BOOT_ID_LEN] = '\0';
	}
	return got < 0 ? got : 0;
}

/* Oldest first. An id without an entry is of a file that is damaged. */
static int list_boots(struct klog_journal *journal, struct boot **ret, size_t *ret_count)
{
	size_t count = 0, kept = 0;
	int error = list_ids(journal, ret, &count);

	for (size_t i = 0; !error && i < count; i++) {
		struct boot boot = (*ret)[i];

		error = boot_began(journal, boot.id, &boot.began_us);
		if (!error)
			(*ret)[kept++] = boot;
		else if (error == -ENOKEY)
			error = 0;
	}
	if (!error && kept)
		qsort(*ret, kept, sizeof(**ret), by_beginning);
	*ret_count = kept;
	return error;
}

static int boot_by_offset(
	struct klog_journal *journal, int64_t offset, char ret_id[KLOG_BOOT_ID_LEN + 1])
{
	struct boot *boots = NULL;
	size_t count = 0;
	int error = list_boots(journal, &boots, &count);
	int64_t index = offset > 0 ? offset - 1 : (int64_t)count - 1 + offset;

	if (!error && (index < 0 || index >= (int64_t)count))
		error = -ENOKEY;
	if (!error)
		memcpy(ret_id, boots[index].id, KLOG_BOOT_ID_LEN + 1);
	free(boots);
	return error;
}

/* Leaves the match for it, where one is wanted. */
static int choose_boot(struct klog_journal *journal, const struct klog_journal_query *query)
{
	char id[KLOG_BOOT_ID_LEN + 1];
	bool here = !query->directory && !query->file_count;
	uint64_t began_us;
	int error = 0;

	if (query->boot == KLOG_BOOT_ALL)
		return 0;
	if (query->boot == KLOG_BOOT_BY_ID)
		memcpy(id, query->boot_id, sizeof(id));
	else if (here && !query->boot_offset)
		error = this_boot(id);
	else
		error = boot_by_offset(journal, query->boot_offset, id);
	if (!error)
		error = boot_began(journal, id, &began_us);
	return error ? error : match_boot(journal, id);
}

/* --- opening --- */

static int begin(struct klog_journal *journal, const struct klog_journal_query *query)
{
	const struct journal_library *library = &journal->library;
	int error = choose_boot(journal, query);

	if (error >= 0)
		error = library->add_match(journal->handle, KERNEL_MATCH, strlen(KERNEL_MATCH));
	if (error >= 0)
		error = query->since_ns <= 0 ? library->seek_head(journal->handle)
					     : library->seek_realtime_usec(journal->handle,
						       (uint64_t)query->since_ns / NS_PER_US);
	journal->until_ns = query->until_ns;
	return error < 0 ? error : 0;
}

struct klog_journal *klog_journal_open(const struct klog_journal_query *query,
	klog_journal_problem_fn problem, void *arg, int *ret_error)
{
	struct klog_journal *journal = calloc(1, sizeof(*journal));
	int error;

	if (!journal) {
		*ret_error = -ENOMEM;
		return NULL;
	}
	journal->files = (struct journal_files) {.problem = problem, .arg = arg};
	error = journal_library_load(&journal->library);
	if (!error)
		error = open_files(journal, query);
	if (!error)
		error = begin(journal, query);
	*ret_error = error;
	if (!error)
		return journal;
	klog_journal_close(journal);
	return NULL;
}

void klog_journal_close(struct klog_journal *journal)
{
	if (!journal)
		return;
	if (journal->handle)
		journal->library.close(journal->handle);
	journal_files_free(&journal->files);
	free(journal);
}

/* --- entries --- */

/* A field of the entry, if it has it. 0 or -errno. */
static int take_field(struct klog_journal *journal, const char *name, struct klog_entry *ret)
{
	const char *data, *value;
	size_t len;
	int got = journal->library.get_data(journal->handle, name, (const void **)&data, &len);

	if (got == -ENOENT)
		return 0;
	if (got < 0)
		return got;
	value = memchr(data, '=', len);
	if (value)
		klog_entry_field(
			ret, (struct scan) {data, value}, (struct scan) {value + 1, data + len});
	return 0;
}

/* False: it is damaged. */
static bool take_entry(struct klog_journal *journal, uint64_t us, struct klog_entry *ret)
{
	static const char *const names[] = {"_TRANSPORT", "_SOURCE_REALTIME_TIMESTAMP",
		"_SOURCE_MONOTONIC_TIMESTAMP", "_HOSTNAME", "_BOOT_ID", "MESSAGE"};
	char number[24];
	int len = snprintf(number, sizeof(number), "%llu", (unsigned long long)us);

	klog_entry_begin(ret);
	klog_entry_field(ret, scan_of("__REALTIME_TIMESTAMP", strlen("__REALTIME_TIMESTAMP")),
		scan_of(number, (size_t)len));
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (take_field(journal, names[i], ret))
			return false;
	return true;
}

/* It leaves files behind when it finds them damaged, and says nothing; what it reads gets less. */
static int end_of(struct klog_journal *journal)
{
	uint64_t usage;

	journal->ended = true;
	if (journal->library.get_usage(journal->handle, &usage) < 0 || usage < journal->usage)
		return -EBADMSG;
	return 0;
}

int klog_journal_next(struct klog_journal *journal, struct klog_entry *ret)
{
	uint64_t us;
	int got;

	while (!journal->ended) {
		got = journal->library.next(journal->handle);
		if (got < 0)
			return got;
		if (!got)
			return end_of(journal);
		if (journal->library.get_realtime_usec(journal->handle, &us) < 0 ||
			us > INT64_MAX / NS_PER_US) {
			journal->lost++;
			continue;
		}
		if ((int64_t)us * NS_PER_US > journal->until_ns)
			return end_of(journal);
		if (!take_entry(journal, us, ret))
			journal->lost++;
		else if (ret->has_text)
			return 1;
	}
	return 0;
}

uint64_t klog_journal_lost(const struct klog_journal *journal)
{
	return journal->lost;
}
