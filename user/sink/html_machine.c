// SPDX-License-Identifier: Apache-2.0
/* What the kernel itself printed of the machine's memory: what filled it, and zone by zone whether
 * there was room for what was asked for. Out of a log, or of a report that was joined to what was
 * traced. */
#include "facts/host.h"
#include "judge/zones.h"
#include "sink/html_parts.h"
#include "sink/view.h"

#define COUNT_OF(list) ((unsigned int)(sizeof(list) / sizeof((list)[0])))

/* --- what filled it --- */

static void put_kind(struct html_view *view, const char *kind, uint64_t bytes, uint64_t total)
{
	uint64_t tenths;

	if (bytes == UNKNOWN_U64)
		return;
	html_row(view, false);
	html_cell_literal(view, kind);
	html_cell_bytes(view, bytes);
	tenths = total > 0 ? (uint64_t)((unsigned __int128)bytes * 1000 / total) : 0;
	if (total == UNKNOWN_U64 || total == 0)
		html_cell_none(view);
	else
		html_printf(&view->out, "<td class=\"n\" data-v=\"%llu\">%llu.%llu\xc2\xa0%%</td>",
			(unsigned long long)tenths, (unsigned long long)(tenths / 10),
			(unsigned long long)(tenths % 10));
	html_row_end(view);
}

/* The kernel's lists overlap: tmpfs is anonymous to them. So nothing is summed here. */
void html_machine(struct html_view *view)
{
	static const struct html_column columns[] = {
		{"kind", false, NULL},
		{"size", true, NULL},
		{"of RAM", true, "they overlap: tmpfs is among anonymous memory, too"},
	};
	const struct incident_log *log = &view->incident->log;
	const struct host_memory *host = &view->incident->host;
	uint64_t total = host->total_bytes;

	if (!incident_is_logged(view->incident) || log->machine.anon_bytes == UNKNOWN_U64)
		return;
	html_section(view, "composition", "What filled the machine");
	html_raw(&view->out,
		"<p class=\"say\">By the kernel's own count (Mem-Info) at the kill.</p>\n");
	html_table(view, "Memory of the machine", columns, COUNT_OF(columns));
	put_kind(view, "anonymous memory and tmpfs", log->machine.anon_bytes, total);
	put_kind(view, "page cache", log->machine.file_bytes, total);
	put_kind(view, "waiting to be written", log->machine.dirty_bytes, total);
	put_kind(view, "tmpfs and shared memory", log->machine.shmem_bytes, total);
	put_kind(view, "unevictable", log->machine.unevictable_bytes, total);
	put_kind(view, "kernel: slab", log->machine.slab_bytes, total);
	put_kind(view, "kernel: slab, not reclaimable", log->machine.slab_unreclaimable_bytes,
		total);
	put_kind(view, "kernel: stacks", log->machine.kernel_stack_bytes, total);
	put_kind(view, "kernel: page tables", log->machine.pagetables_bytes, total);
	put_kind(view, "huge pages (hugetlb)", host->hugetlb_bytes, total);
	put_kind(view, "free", incident_free_bytes(view->incident), total);
	put_kind(view, "free, for movable memory only (CMA)", log->machine.cma_bytes, total);
	html_table_end(view);
	html_section_end(view);
}

/* --- zones --- */

static const char *room_text(const struct zone_room *room)
{
	if (!room->usable)
		return "not usable for this request";
	if (!room->room)
		return "no room";
	return room->piece ? "room" : "room, but no piece of that size";
}

static bool as_bytes(const struct html_view *view, uint64_t pages, int64_t *ret)
{
	return pages != UNKNOWN_U64 && !__builtin_mul_overflow(pages, view->page_size, ret);
}

/* free - watermark - kept back - set aside */
static void put_left_cell(
	struct html_view *view, const struct incident_zone *zone, const struct zone_room *room)
{
	int64_t free, watermark, kept, aside;

	if (as_bytes(view, zone->free_pages, &free) &&
		as_bytes(view, zone->min_pages, &watermark) &&
		as_bytes(view, room->kept_pages, &kept) &&
		as_bytes(view, room->aside_pages, &aside) &&
		!__builtin_sub_overflow(free, watermark, &free) &&
		!__builtin_sub_overflow(free, kept, &free) &&
		!__builtin_sub_overflow(free, aside, &free))
		html_cell_signed(view, free);
	else
		html_cell_none(view);
}

static void put_zone(struct html_view *view, unsigned int index, bool request)
{
	const struct incident_zone *zone = &view->incident->log.machine.zones[index];
	struct zone_room room = {0};
	bool known = judge_zone_room(view->incident, index, &room);

	html_row(view, known && room.usable && !room.room);
	if (zone->node >= 0)
		html_cell_id(view, (uint64_t)zone->node);
	else
		html_cell_none(view);
	html_cell_text(view, zone->name);
	html_cell_pages(view,
		zone->managed_pages != UNKNOWN_U64 ? zone->managed_pages : zone->present_pages);
	html_cell_pages(view, zone->free_pages);
	html_cell_pages(view, zone->min_pages);
	if (request && known && room.usable) {
		html_cell_pages(view, room.kept_pages);
		html_cell_pages(view, room.aside_pages);
		put_left_cell(view, zone, &room);
		html_cell_literal(view, room_text(&room));
	} else if (request) {
		for (unsigned int i = 0; i < 3; i++)
			html_cell_none(view);
		html_cell_literal(view, known ? room_text(&room) : "not told");
	}
	html_row_end(view);
}

static bool any_room_known(const struct html_view *view, unsigned int count)
{
	struct zone_room room;

	for (unsigned int i = 0; i < count; i++) {
		if (judge_zone_room(view->incident, i, &room))
			return true;
	}
	return false;
}

void html_zones(struct html_view *view)
{
	static const struct html_column columns[] = {
		{"node", true, NULL},
		{"zone", false, NULL},
		{"size", true, "that the kernel manages there"},
		{"free", true, NULL},
		{"watermark", true, "min: ordinary requests may not go below it"},
		{"kept back", true, "lowmem_reserve: for requests that can go nowhere else"},
		{"set aside", true, "for movable memory (CMA) or urgent pieces (highatomic) only"},
		{"left", true, "free, less the three before it"},
		{"for this request", false, NULL},
	};
	const struct incident_log *log = &view->incident->log;
	unsigned int count =
		log->machine.zone_count < INCIDENT_ZONES ? log->machine.zone_count : INCIDENT_ZONES;
	bool request = any_room_known(view, count);

	if (!incident_is_logged(view->incident) || count == 0)
		return;
	html_section(view, "zones", "Where there was room");
	html_raw(&view->out,
		request ? "<p class=\"say\">A request is served from a zone where something is left "
			  "of what is free, once the watermark and all that is not for it are taken "
			  "off.</p>\n"
			: "<p class=\"say\">The log does not tell what was asked for.</p>\n");
	html_table(view, "Zones", columns, request ? COUNT_OF(columns) : 5);
	for (unsigned int i = 0; i < count; i++)
		put_zone(view, i, request);
	html_table_end(view);
	if (log->machine.zones_dropped > 0)
		html_printf(&view->out,
			"<p class=\"say\">%u more zones: there was no room to keep them.</p>\n",
			log->machine.zones_dropped);
	if (log->machine.nodes_left_out)
		html_raw(&view->out, "<p class=\"say\">The kernel shows only the nodes that the "
				     "request may use.</p>\n");
	html_section_end(view);
}
