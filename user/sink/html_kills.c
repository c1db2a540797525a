// SPDX-License-Identifier: Apache-2.0
/* Who else killed, around the incident that the page is of. */
#include "base/units.h"
#include "sink/html_parts.h"
#include "sink/view.h"

/* "3 kills …, of which 1 in this cgroup or after this kill." */
static void put_account(struct html_view *view)
{
	const struct html_page *page = view->page;
	size_t near = 0;

	for (size_t i = 0; i < page->kill_count; i++)
		near += page->kills[i].near;
	html_printf(&view->out,
		"<p class=\"say\">%zu kill%s that %s not the OOM killer's, from the beginning of the "
		"window to two minutes after this incident",
		page->kill_total, page->kill_total == 1 ? "" : "s",
		page->kill_total == 1 ? "was" : "were");
	if (page->kill_total > page->kill_count)
		html_printf(&view->out, "; the last %zu are told", page->kill_count);
	if (near > 0)
		html_printf(&view->out,
			"; %zu of them (marked) in the cgroup of this limit, or after its kill",
			near);
	html_raw(&view->out, ".</p>\n");
}

static void put_when(struct html_view *view, const struct html_kill *kill)
{
	int64_t from_ns = kill->time_ns - view_wall_ns(view->context, view->incident->time_ns);
	char text[64];
	struct buf buf;

	buf_init(&buf, text, sizeof(text));
	units_local_date(&buf, kill->time_ns);
	html_printf(&view->out, "<td data-v=\"%lld\">%s</td>", (long long)(kill->time_ns / 1000000),
		text);
	buf_reset(&buf);
	units_duration_ns(&buf, (uint64_t)(from_ns < 0 ? -from_ns : from_ns));
	html_printf(&view->out, "<td class=\"n\" data-v=\"%lld\">%s %s</td>",
		(long long)(from_ns / 1000000), text, from_ns < 0 ? "before" : "after");
}

static void put_kill(struct html_view *view, const struct html_kill *kill)
{
	const struct verdict *verdict = &kill->verdict;
	struct html_out *out = &view->out;

	html_row(view, kill->near);
	put_when(view, kill);
	html_raw(out, "<td><details><summary>");
	html_text(out, verdict->claim);
	html_raw(out, "</summary><ul>");
	for (unsigned int i = 0; i < verdict->evidence_count && i < VERDICT_EVIDENCE; i++) {
		html_raw(out, "<li>");
		html_text(out, verdict->evidence[i]);
		html_raw(out, "</li>");
	}
	html_raw(out, "</ul></details></td>");
	html_printf(out, "<td>%s <code>%s</code></td>", confidence_name(verdict->confidence),
		verdict->id);
	html_row_end(view);
}

void html_kills(struct html_view *view)
{
	static const struct html_column columns[] = {
		{"when", true, NULL},
		{"from the OOM kill", true, NULL},
		{"what happened, and its evidence", false, NULL},
		{"verdict", false, NULL},
	};
	const struct html_page *page = view->page;

	if (page->kill_count == 0)
		return;
	html_section(view, "kills", "Who else killed");
	put_account(view);
	html_table(view, "Kills that were not the OOM killer's", columns, 4);
	for (size_t i = 0; i < page->kill_count; i++)
		put_kill(view, &page->kills[i]);
	html_table_end(view);
	html_section_end(view);
}
