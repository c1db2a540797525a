/* SPDX-License-Identifier: Apache-2.0 */
/* report_page.h: the incident in hand as a page, or as a chart alone. */
#ifndef OOMSNOOP_CMD_REPORT_PAGE_H
#define OOMSNOOP_CMD_REPORT_PAGE_H

#include <stddef.h>

#include "cmd/reading.h"
#include "cmd/window.h"

/* 0, -ENOMEM, or what write() returned. The incident is still in hand afterwards. */
int report_html(struct reading *reading, const struct window *window,
	int (*write)(const char *data, size_t len, void *arg), void *arg);
/* The same; -ENODATA: there are no series. */
int report_svg(struct reading *reading, const struct window *window,
	int (*write)(const char *data, size_t len, void *arg), void *arg);

#endif /* OOMSNOOP_CMD_REPORT_PAGE_H */
