// SPDX-License-Identifier: Apache-2.0
/* Mem-Info: what the kernel prints of the machine's memory with a report. */
#include <string.h>

#include "source/klog_line.h"

static const char *const counter_names[KLOG_COUNTERS_COUNT] = {
	[KLOG_FREE] = "free",
	[KLOG_FREE_CMA] = "free_cma",
	[KLOG_ACTIVE_ANON] = "active_anon",
	[KLOG_INACTIVE_ANON] = "inactive_anon",
	[KLOG_ACTIVE_FILE] = "active_file",
	[KLOG_INACTIVE_FILE] = "inactive_file",
	[KLOG_DIRTY] = "dirty",
	[KLOG_WRITEBACK] = "writeback",
	[KLOG_SHMEM] = "shmem",
	[KLOG_SLAB_RECLAIMABLE] = "slab_reclaimable",
	[KLOG_SLAB_UNRECLAIMABLE] = "slab_unreclaimable",
	[KLOG_PAGETABLES] = "pagetables",
	[KLOG_UNEVICTABLE] = "unevictable",
};

/* "name:123" or "name:123kB"; the blanks that follow are passed over. */
static bool take_pair(struct scan *scan, struct scan *ret_name, uint64_t *ret_value, bool *ret_kb)
{
	struct scan rest = *scan;
	const char *colon;

	scan_blanks(&rest);
	colon = memchr(rest.at, ':', scan_left(&rest));
	if (!colon || colon == rest.at || memchr(rest.at, ' ', (size_t)(colon - rest.at)))
		return false;
	*ret_name = (struct scan) {rest.at, colon};
	rest.at = colon + 1;
	/* "shmem_thp: 0kB" of 5.10 and 6.1 */
	scan_blanks(&rest);
	if (!scan_u64(&rest, ret_value))
		return false;
	*ret_kb = scan_text(&rest, "kB") || scan_text(&rest, "KB");
	if (!scan_done(&rest) && *rest.at != ' ' && *rest.at != '\n')
		return false;
	scan_blanks(&rest);
	*scan = rest;
	return true;
}

static bool parse_counters(struct scan body, struct klog_line *ret)
{
	bool known = false, kb;
	struct scan name;
	uint64_t value;

	for (int i = 0; i < KLOG_COUNTERS_COUNT; i++)
		ret->counters[i] = UNKNOWN_U64;
	while (!scan_done(&body)) {
		if (!take_pair(&body, &name, &value, &kb) || kb)
			return false;
		for (int i = 0; i < KLOG_COUNTERS_COUNT; i++)
			if (scan_equals(&name, counter_names[i])) {
				ret->counters[i] = value;
				known = true;
			}
		known = known || scan_equals(&name, "mapped") ||
			scan_equals(&name, "sec_pagetables") ||
			scan_equals(&name, "kernel_misc_reclaimable");
	}
	ret->kind = KLOG_COUNTERS;
	ret->whole = true;
	return known;
}

/* "Node 0 ", or nothing where the kernel knows no nodes. */
static bool take_node(struct scan *scan, int *ret)
{
	struct scan rest = *scan;
	uint64_t node;

	*ret = -1;
	if (!scan_text(&rest, "Node ") || !scan_u64(&rest, &node) || node > INT16_MAX ||
		!scan_text(&rest, " "))
		return false;
	*ret = (int)node;
	*scan = rest;
	return true;
}

static bool take_zone_name(struct scan *scan, struct scan *ret)
{
	static const char *const names[] = {
		"DMA32", "DMA", "Normal", "HighMem", "Movable", "Device"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		ret->at = scan->at;
		if (scan_text(scan, names[i])) {
			ret->end = scan->at;
			return true;
		}
	}
	return false;
}

static bool parse_zone(struct scan body, struct klog_line *ret)
{
	struct klog_zone *zone = &ret->zone;
	const struct {
		const char *name;
		uint64_t *value;
	} fields[] = {{"free", &zone->free_kb}, {"boost", &zone->boost_kb}, {"min", &zone->min_kb},
		{"low", &zone->low_kb}, {"high", &zone->high_kb}, {"present", &zone->present_kb},
		{"managed", &zone->managed_kb}, {"reserved_highatomic", &zone->highatomic_kb},
		{"free_cma", &zone->cma_kb}};
	struct scan name;
	uint64_t value;
	bool kb;

	take_node(&body, &zone->node);
	if (!take_zone_name(&body, &zone->name) || !scan_text(&body, " ") ||
		!scan_text(&body, "free:"))
		return false;
	body.at -= strlen("free:");
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		*fields[i].value = UNKNOWN_U64;
	while (take_pair(&body, &name, &value, &kb))
		for (size_t i = 0; kb && i < sizeof(fields) / sizeof(fields[0]); i++)
			if (scan_equals(&name, fields[i].name))
				*fields[i].value = value;
	ret->kind = KLOG_ZONE;
	/* Old kernels have "all_unreclaimable? no" at the end. */
	ret->whole = zone->min_kb != UNKNOWN_U64 && zone->present_kb != UNKNOWN_U64 &&
		     (scan_done(&body) || *body.at == 'a');
	return zone->free_kb != UNKNOWN_U64;
}

static bool parse_node(struct scan body, struct klog_line *ret)
{
	struct scan name;
	uint64_t value;
	bool kb;

	if (!take_node(&body, &ret->node.node) || !scan_text(&body, "active_anon:"))
		return false;
	body.at -= strlen("active_anon:");
	ret->node.kernel_stack_kb = UNKNOWN_U64;
	while (take_pair(&body, &name, &value, &kb))
		if (scan_equals(&name, "kernel_stack") && kb)
			ret->node.kernel_stack_kb = value;
	ret->kind = KLOG_NODE;
	ret->whole = scan_done(&body) || *body.at == 'a';
	return true;
}

static bool parse_reserve(struct scan body, struct klog_line *ret)
{
	uint64_t pages;

	if (!scan_text(&body, "lowmem_reserve[]:"))
		return false;
	ret->reserve.count = 0;
	for (;;) {
		scan_blanks(&body);
		if (!scan_u64(&body, &pages))
			break;
		if (ret->reserve.count < KLOG_ZONE_LISTS)
			ret->reserve.pages[ret->reserve.count++] = pages;
	}
	ret->kind = KLOG_RESERVE;
	ret->whole = scan_done(&body);
	return true;
}

static uint8_t buddy_types(struct scan letters)
{
	static const char names[] = "UMEHCI";
	uint8_t ret = 0;

	for (; !scan_done(&letters); letters.at++) {
		const char *found = memchr(names, *letters.at, sizeof(names) - 1);

		if (found)
			ret |= (uint8_t)(KLOG_BUDDY_UNMOVABLE << (found - names));
	}
	return ret;
}

/* "1*4kB (UME) ": false at what is none. */
static bool take_piece(struct scan *scan, struct klog_buddy *buddy)
{
	uint64_t count, kb;
	struct scan letters;

	scan_blanks(scan);
	if (buddy->orders == KLOG_ORDERS || !scan_u64(scan, &count) || !scan_text(scan, "*") ||
		!scan_u64(scan, &kb) || !scan_text(scan, "kB"))
		return false;
	if (!buddy->orders)
		buddy->page_kb = kb;
	buddy->counts[buddy->orders] = count;
	buddy->types[buddy->orders] = KLOG_BUDDY_UNTYPED;
	scan_blanks(scan);
	if (scan_text(scan, "(") && scan_field(scan, ')', &letters))
		buddy->types[buddy->orders] = buddy_types(letters);
	buddy->orders++;
	return true;
}

static bool parse_buddy(struct scan body, struct klog_line *ret)
{
	struct klog_buddy *buddy = &ret->buddy;

	take_node(&body, &buddy->node);
	if (!take_zone_name(&body, &buddy->name) || !scan_text(&body, ": "))
		return false;
	buddy->orders = 0;
	while (take_piece(&body, buddy))
		;
	ret->kind = KLOG_BUDDY;
	ret->whole = scan_text(&body, "= ");
	return buddy->orders > 0;
}

static bool take_assignment(struct scan *scan, const char *name, uint64_t *ret)
{
	scan_blanks(scan);
	return scan_text(scan, name) && scan_text(scan, "=") && scan_u64(scan, ret);
}

static bool parse_hugepages(struct scan body, struct klog_line *ret)
{
	uint64_t surplus;
	int node;

	take_node(&body, &node);
	if (!take_assignment(&body, "hugepages_total", &ret->hugepages.total) ||
		!take_assignment(&body, "hugepages_free", &ret->hugepages.free) ||
		!take_assignment(&body, "hugepages_surp", &surplus) ||
		!take_assignment(&body, "hugepages_size", &ret->hugepages.size_kb))
		return false;
	ret->kind = KLOG_HUGEPAGES;
	ret->whole = scan_text(&body, "kB");
	return ret->whole;
}

static bool parse_count(struct scan body, struct klog_line *ret)
{
	static const struct {
		const char *text;
		enum klog_count which;
	} forms[] = {
		{" pages RAM", KLOG_COUNT_RAM},
		{" pages of RAM", KLOG_COUNT_RAM},
		{" pages HighMem/MovableOnly", KLOG_COUNT_HIGHMEM},
		{" pages HighMem", KLOG_COUNT_HIGHMEM},
		{" pages of HIGHMEM", KLOG_COUNT_HIGHMEM},
		{" pages reserved", KLOG_COUNT_RESERVED},
		{" reserved pages", KLOG_COUNT_RESERVED},
	};
	bool is_free = scan_text(&body, "Free swap");

	ret->kind = KLOG_COUNT;
	ret->whole = true;
	if (is_free || scan_text(&body, "Total swap")) {
		ret->count.which = is_free ? KLOG_COUNT_SWAP_FREE : KLOG_COUNT_SWAP_TOTAL;
		scan_blanks(&body);
		if (!scan_text(&body, "=") && !scan_text(&body, ":"))
			return false;
		scan_blanks(&body);
		return scan_u64(&body, &ret->count.value) && scan_text(&body, "kB") &&
		       scan_done(&body);
	}
	if (!scan_u64(&body, &ret->count.value))
		return false;
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
		if (scan_equals(&body, forms[i].text)) {
			ret->count.which = forms[i].which;
			return true;
		}
	return false;
}

bool klog_memory_parse(struct scan body, struct klog_line *ret)
{
	if (scan_done(&body))
		return false;
	switch (*body.at) {
	case 'M':
		if (scan_equals(&body, "Mem-Info:") || scan_equals(&body, "Mem-info:")) {
			ret->kind = KLOG_MEM_INFO;
			ret->whole = true;
			return true;
		}
		return parse_zone(body, ret) || parse_buddy(body, ret);
	case 'N':
	case 'D':
	case 'H':
		return parse_zone(body, ret) || parse_buddy(body, ret) || parse_node(body, ret) ||
		       parse_hugepages(body, ret);
	case 'l':
		return parse_reserve(body, ret);
	case 'h':
		return parse_hugepages(body, ret);
	case 'F':
	case 'T':
	case '0' ... '9':
		return parse_count(body, ret);
	default:
		return parse_counters(body, ret);
	}
}
