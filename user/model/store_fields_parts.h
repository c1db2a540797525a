/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_fields_parts.h: what the tables of incidents, kills and refusals have in common. FIELD is a
 * table's own macro, FIELD(type, column, member, max, about): members of the same struct have the
 * same columns everywhere.
 */
#ifndef OOMSNOOP_MODEL_STORE_FIELDS_PARTS_H
#define OOMSNOOP_MODEL_STORE_FIELDS_PARTS_H

#include "model/store_fields.h"

#define TIME_MAX (1ULL << 62)
#define BYTES_MAX (1ULL << 60)
#define COUNTER_MAX (1ULL << 53) /* PAGE_COUNTER_MAX with the smallest pages */
#define ADJ_MAX 1000

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* `host`: struct host_memory */
#define HOST_FIELDS(FIELD, max)                                                                    \
	FIELD(FIELD_U64, "host_total_bytes", host.total_bytes, max, NULL),                         \
		FIELD(FIELD_U64, "host_free_bytes", host.free_bytes, max, NULL),                   \
		FIELD(FIELD_U64, "host_available_bytes", host.available_bytes, max, NULL),         \
		FIELD(FIELD_U64, "host_swap_total_bytes", host.swap_total_bytes, max, NULL),       \
		FIELD(FIELD_U64, "host_swap_free_bytes", host.swap_free_bytes, max, NULL),         \
		FIELD(FIELD_U64, "host_hugetlb_bytes", host.hugetlb_bytes, max, NULL)

/* `names`: struct container_names */
#define NAMES_FIELDS(FIELD)                                                                        \
	FIELD(FIELD_U32, "names_runtime", names.runtime, RUNTIME_NOMAD,                            \
		"enum container_runtime: in whose folder its container was found; 0: in none"),    \
		FIELD(FIELD_BOOL, "names_sandbox", names.sandbox, 0,                               \
			"its container is a pod's sandbox"),                                       \
		FIELD(FIELD_U32, "names_troubles", names.troubles, 0,                              \
			"enum names_trouble: why names are not known"),                            \
		FIELD(FIELD_TEXT, "container_name", names.container, 0,                            \
			"as learnt from the host's disk"),                                         \
		FIELD(FIELD_TEXT, "pod_name", names.pod, 0, NULL),                                 \
		FIELD(FIELD_TEXT, "pod_namespace", names.namespace, 0, NULL),                      \
		FIELD(FIELD_TEXT, "names_pod_uid", names.pod_uid, 0, NULL)

/* `rss_pages`, of one process */
#define RSS_FIELDS(FIELD, max)                                                                     \
	FIELD(FIELD_I64, "file_pages", rss_pages[EV_RSS_FILE], max, NULL),                         \
		FIELD(FIELD_I64, "anon_pages", rss_pages[EV_RSS_ANON], max, NULL),                 \
		FIELD(FIELD_I64, "swap_pages", rss_pages[EV_RSS_SWAP], max, NULL),                 \
		FIELD(FIELD_I64, "shmem_pages", rss_pages[EV_RSS_SHMEM], max, NULL)

#endif /* OOMSNOOP_MODEL_STORE_FIELDS_PARTS_H */
