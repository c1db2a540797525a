/* SPDX-License-Identifier: Apache-2.0 */
/* store_parts.h: private to model/store*.c. store.c opens and lists, store_load.c reads incidents
 * and runs, store_series.c series, gaps and the summary. */
#ifndef OOMSNOOP_MODEL_STORE_PARTS_H
#define OOMSNOOP_MODEL_STORE_PARTS_H

#include "model/store.h"
#include "model/store_fields.h"
#include "source/db.h"

struct store_readers; /* store_load.c: statements, prepared when they are first asked for */

struct store {
	struct db db;
	bool stale;
	bool checked; /* index and table of incidents were compared, and are of one mind */
	int version;
	struct store_readers *readers;
	char why[400];
};

/* Keeps the words for store_why(); returns `error`. */
int store_say(struct store *store, int error, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Those of the database. */
int store_failed(struct store *store, int error);

/* A run alone, into ret->run. -EBADMSG: what of it cannot be read is in ret->damage. */
int store_load_run(struct store *store, int64_t id, struct captured *ret);

/* A range of numbers in which every incident is; *ret_last 0: there never was one. Of a damaged
 * store: as far as anything tells. */
int store_numbers(struct store *store, int64_t *ret_first, int64_t *ret_last);

/* Opens the file anew where a writer has overtaken this reader; true: it is worth trying again. */
bool store_renew(struct store *store);
void store_readers_free(struct store *store);

#endif /* OOMSNOOP_MODEL_STORE_PARTS_H */
