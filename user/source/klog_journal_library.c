// SPDX-License-Identifier: Apache-2.0
#include "source/klog_journal_library.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <sys/auxv.h>

#define LIBRARY "libsystemd.so.0"

struct place {
	const char *name;
	size_t offset;
};

#define PLACE(function)                                                                            \
	{                                                                                          \
		"sd_journal_" #function, offsetof(struct journal_library, function)                \
	}

static const struct place places[] = {
	PLACE(open_files_fd),
	PLACE(close),
	PLACE(next),
	PLACE(seek_head),
	PLACE(seek_realtime_usec),
	PLACE(get_realtime_usec),
	PLACE(get_data),
	PLACE(add_match),
	PLACE(flush_matches),
	PLACE(query_unique),
	PLACE(enumerate_unique),
	PLACE(get_usage),
};

static int load(struct journal_library *ret)
{
	void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);

	if (!library)
		return -ELIBACC;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		void *function = dlsym(library, places[i].name);

		if (!function)
			return -ELIBACC;
		/* A pointer to a function is one to data by dlsym() only. */
		memcpy((char *)ret + places[i].offset, &function, sizeof(function));
	}
	return 0;
}

int journal_library_load(struct journal_library *ret)
{
	/* A static program has no loader that gives the library its thread-local memory. */
	if (getauxval(AT_BASE) == 0)
		return -ELIBACC;
	return load(ret);
}
