/* SPDX-License-Identifier: Apache-2.0 */
/* report_page_kills.h: the kills around the incident in hand that were not the OOM killer's. */
#ifndef OOMSNOOP_CMD_REPORT_PAGE_KILLS_H
#define OOMSNOOP_CMD_REPORT_PAGE_KILLS_H

#include <stddef.h>

#include "cmd/reading.h"
#include "cmd/window.h"
#include "sink/html.h"

#define PAGE_KILLS 100 /* the last ones of the window */

struct page_kills {
	size_t count, total;
	struct html_kill list[PAGE_KILLS];
};

/* To be freed; NULL: no memory. What cannot be read is told on stderr and left out. */
struct page_kills *page_kills_load(struct reading *reading, const struct window *window);

#endif /* OOMSNOOP_CMD_REPORT_PAGE_KILLS_H */
