// SPDX-License-Identifier: Apache-2.0
/*
 * Verdicts that rest on the kernel's own account, out of a log or joined to what was traced: which
 * zones had room for the request, and which processes and uses of memory hold what. Source of the
 * arithmetic: mm/page_alloc.c
 * __zone_watermark_ok(), include/linux/gfp.h gfp_zone().
 */
#include <stdio.h>
#include <string.h>

#include "judge/verdict_rules.h"
#include "judge/zones.h"
#include "source/klog_line.h"

#define GFP_ZONE_DMA 0x1u
#define GFP_ZONE_HIGHMEM 0x2u
#define GFP_ZONE_DMA32 0x4u
#define GFP_ZONE_MOVABLE 0x8u

#define FAMILY_MIN 3
#define AT_THE_KILL "at the kill" /* as the kernel printed it, see when_text() */
/* A sum that is so far above the whole counts pages more than once. */
#define TOO_MUCH_SHARE 8

/* In the order in which a request for a higher one may also take a lower one. */
enum zone_class { ZONE_DMA, ZONE_DMA32, ZONE_NORMAL, ZONE_HIGHMEM, ZONE_MOVABLE, ZONE_OTHER };

static enum zone_class class_of(const struct incident_zone *zone)
{
	static const char *const names[] = {"DMA", "DMA32", "Normal", "HighMem", "Movable"};

	for (int i = 0; i < ZONE_OTHER; i++)
		if (!strcmp(zone->name, names[i]))
			return (enum zone_class)i;
	return ZONE_OTHER;
}

static enum zone_class class_of_request(uint32_t gfp_mask)
{
	if (gfp_mask & GFP_ZONE_DMA)
		return ZONE_DMA;
	if (gfp_mask & GFP_ZONE_DMA32)
		return ZONE_DMA32;
	if (!(gfp_mask & GFP_ZONE_HIGHMEM))
		return ZONE_NORMAL;
	return gfp_mask & GFP_ZONE_MOVABLE ? ZONE_MOVABLE : ZONE_HIGHMEM;
}

/* --- has a zone room for the request? --- */

struct request {
	enum zone_class class;
	bool movable;
	unsigned int order;
	bool highmem; /* the machine has such a zone */
	bool dma, dma32; /* and those */
};

static struct request request_of(const struct incident *incident)
{
	const struct incident_log *log = &incident->log;
	struct request ret = {.class = class_of_request(incident->gfp_mask),
		.movable = incident->gfp_mask & GFP_ZONE_MOVABLE,
		.order = incident_order_known(incident) && incident->order > 0
				 ? (unsigned int)incident->order
				 : 0};

	for (unsigned int i = 0; i < log->machine.zone_count; i++) {
		ret.highmem |= class_of(&log->machine.zones[i]) == ZONE_HIGHMEM;
		ret.dma |= class_of(&log->machine.zones[i]) == ZONE_DMA;
		ret.dma32 |= class_of(&log->machine.zones[i]) == ZONE_DMA32;
	}
	/* A kernel without HighMem has no higher zone for it. */
	if (ret.class == ZONE_HIGHMEM && !ret.highmem)
		ret.class = ZONE_NORMAL;
	return ret;
}

static bool may_use(const struct incident_zone *zone, const struct request *request)
{
	return class_of(zone) <= request->class;
}

/* lowmem_reserve[] has a place for each class of zones that the kernel was built with. Where none
 * of the zones tells the place of Normal, the last will do: above Normal only HighMem and Movable
 * are worth a difference. */
static unsigned int place_of_normal(const struct incident_zone *zone, const struct request *request)
{
	if (request->dma32 || request->highmem)
		return request->dma + request->dma32;
	return zone->reserve_count - 1;
}

static uint64_t kept_back(const struct incident_zone *zone, const struct request *request)
{
	unsigned int at = zone->reserve_count - 1;

	if (!zone->reserve_count || request->class == ZONE_DMA)
		return 0;
	if (request->class == ZONE_DMA32)
		at = request->dma;
	else if (request->class == ZONE_NORMAL)
		at = place_of_normal(zone, request);
	return at < zone->reserve_count && at < ZONE_LISTS ? zone->reserve_pages[at] : 0;
}

/* Free pages of no use to this request, whatever the watermark. */
static uint64_t set_aside(const struct incident_zone *zone, const struct request *request)
{
	return known_bytes(zone->highatomic_pages) +
	       (request->movable ? 0 : known_bytes(zone->cma_pages));
}

static bool has_room(const struct incident_zone *zone, const struct request *request)
{
	uint64_t needed = known_bytes(zone->min_pages) + kept_back(zone, request) +
			  set_aside(zone, request) + (1ULL << request->order) - 1;

	return known_bytes(zone->free_pages) > needed;
}

static bool has_piece(const struct incident_zone *zone, const struct request *request)
{
	uint8_t usable = KLOG_BUDDY_UNTYPED | KLOG_BUDDY_UNMOVABLE | KLOG_BUDDY_MOVABLE |
			 KLOG_BUDDY_RECLAIMABLE;

	if (!zone->order_count)
		return true;
	if (request->movable)
		usable |= KLOG_BUDDY_CMA;
	for (unsigned int i = request->order; i < zone->order_count && i < ZONE_ORDERS; i++)
		if (zone->pieces[i] && zone->types[i] & usable)
			return true;
	return false;
}

bool judge_zones_known(const struct incident *incident)
{
	return incident_is_logged(incident) && incident->log.machine.zone_count &&
	       (incident->has_oc || incident->log.has_gfp);
}

bool judge_zone_room(const struct incident *incident, unsigned int index, struct zone_room *ret)
{
	const struct incident_log *log = &incident->log;
	const struct incident_zone *zone = &log->machine.zones[index];
	struct request request;

	if (!judge_zones_known(incident) || index >= log->machine.zone_count ||
		zone->free_pages == UNKNOWN_U64 || zone->min_pages == UNKNOWN_U64)
		return false;
	request = request_of(incident);
	ret->usable = may_use(zone, &request);
	ret->kept_pages = kept_back(zone, &request);
	ret->aside_pages = set_aside(zone, &request);
	ret->room = has_room(zone, &request);
	ret->piece = has_piece(zone, &request);
	return true;
}

struct zones {
	uint64_t here_pages, elsewhere_pages; /* free: where the request may go, and where not */
	uint64_t unshown_pages; /* of elsewhere: in zones that the report leaves out */
	uint64_t cma_pages; /* free where it may go, but for movable memory only */
	bool room, piece; /* some zone has room; one of those has a piece of the size asked for */
};

/* Since 6.1 the report leaves out the zones above the one asked for: what is free in them is in the
 * machine's sum alone. */
static uint64_t unshown_pages(const struct incident_machine *machine, uint64_t shown, uint32_t page)
{
	if (machine->free_bytes == UNKNOWN_U64 || machine->nodes_left_out || machine->zones_dropped)
		return 0;
	return less_bytes(machine->free_bytes / page, shown);
}

static void look(const struct scene *scene, const struct request *request, struct zones *ret)
{
	const struct incident_machine *machine = &scene->incident->log.machine;

	memset(ret, 0, sizeof(*ret));
	for (unsigned int i = 0; i < machine->zone_count; i++) {
		const struct incident_zone *zone = &machine->zones[i];

		if (!may_use(zone, request)) {
			ret->elsewhere_pages += known_bytes(zone->free_pages);
			continue;
		}
		ret->here_pages += known_bytes(zone->free_pages);
		if (!request->movable)
			ret->cma_pages += known_bytes(zone->cma_pages);
		if (!has_room(zone, request))
			continue;
		ret->room = true;
		ret->piece |= has_piece(zone, request);
	}
	ret->unshown_pages = unshown_pages(
		machine, ret->here_pages + ret->elsewhere_pages, scene->host->page_size);
	ret->elsewhere_pages += ret->unshown_pages;
}

/* --- claims about the machine --- */

static void evidence_of_zones(const struct scene *scene, struct verdict *verdict,
	const struct request *request, bool usable)
{
	const struct incident_machine *machine = &scene->incident->log.machine;
	unsigned int told = 0;

	/* The highest ones first: those are the largest. */
	for (unsigned int i = machine->zone_count; i-- > 0 && told < 3;) {
		const struct incident_zone *zone = &machine->zones[i];
		uint64_t back = kept_back(zone, request), aside = set_aside(zone, request);
		char node[24] = "", kept[40] = "", set[40] = "";

		if (may_use(zone, request) != usable)
			continue;
		told++;
		if (zone->node >= 0)
			snprintf(node, sizeof(node), "node %d ", zone->node);
		if (!usable) {
			verdict_evidence(verdict, "not usable for this request: %s%s, free %s",
				node, zone->name,
				size_text(pages_to_bytes(scene, zone->free_pages)));
			continue;
		}
		if (back)
			snprintf(kept, sizeof(kept), ", kept back %s",
				size_text(pages_to_bytes(scene, back)));
		if (aside)
			snprintf(set, sizeof(set), ", set aside %s",
				size_text(pages_to_bytes(scene, aside)));
		verdict_evidence(verdict, "%s%s: free %s, watermark %s%s%s", node, zone->name,
			size_text(pages_to_bytes(scene, zone->free_pages)),
			size_text(pages_to_bytes(scene, zone->min_pages)), kept, set);
	}
}

/* Why there is no room where there seems to be; NULL: there is room, or none at all. */
static const char *why_no_room(const struct zones *zones, uint64_t all_pages)
{
	if (zones->room)
		return zones->piece ? NULL : "there is memory free, but no piece of that size.";
	if (zones->elsewhere_pages > all_pages / FREE_SHARE &&
		zones->elsewhere_pages > zones->here_pages)
		return "the zones that it may use are full, and what is free is in others.";
	if (is_most(zones->cma_pages, zones->here_pages) &&
		zones->cma_pages > all_pages / (4 * FREE_SHARE))
		return "most of what is free is set aside for movable memory (CMA), and this is none.";
	return NULL;
}

static bool is_of_machine(const struct scene *scene)
{
	return scene->ret->scope == SCOPE_GLOBAL && !scene->ret->manual;
}

bool rule_log_zones(const struct scene *scene, struct verdict *verdict)
{
	const struct incident *incident = scene->incident;
	uint64_t all_pages = incident->host.total_bytes / scene->host->page_size;
	struct request request = request_of(incident);
	struct zones zones;
	const char *why;

	if (!is_of_machine(scene) || !judge_zones_known(incident))
		return false;
	look(scene, &request, &zones);
	why = why_no_room(&zones, all_pages);
	if (!why)
		return false;
	verdict->confidence = CONFIDENCE_CERTAIN;
	if (request.order)
		verdict_claim(verdict, "%llu pages in one piece were asked for (order %u): %s",
			1ULL << request.order, request.order, why);
	else
		verdict_claim(verdict, "A page was asked for: %s", why);
	verdict_evidence(verdict, "order %u, free in all zones %s", request.order,
		size_text(pages_to_bytes(scene, zones.here_pages + zones.elsewhere_pages)));
	evidence_of_zones(scene, verdict, &request, true);
	evidence_of_zones(scene, verdict, &request, false);
	if (zones.unshown_pages > all_pages / FREE_SHARE)
		verdict_evidence(verdict,
			"not usable for this request: zones that the kernel's report leaves out, free %s",
			size_text(pages_to_bytes(scene, zones.unshown_pages)));
	return true;
}

/* 0: it was not the machine that ran out. */
static enum confidence host_is_exhausted(const struct scene *scene)
{
	const struct incident *incident = scene->incident;
	const struct host_memory *host = &incident->host;
	uint64_t all_pages = host->total_bytes / scene->host->page_size;
	struct request request = request_of(incident);
	struct zones zones;

	/* Of an import alone: without zones, who traced it knows no more than it does without a
	 * log. */
	if (!judge_zones_known(incident))
		return scene_is_imported(scene) && host->free_bytes != UNKNOWN_U64 &&
				       host->free_bytes < host->total_bytes / FREE_SHARE
			       ? CONFIDENCE_LIKELY
			       : 0;
	look(scene, &request, &zones);
	if (why_no_room(&zones, all_pages))
		return 0;
	if (!zones.room)
		return CONFIDENCE_CERTAIN;
	return zones.here_pages < all_pages / FREE_SHARE ? CONFIDENCE_LIKELY : 0;
}

bool rule_log_host(const struct scene *scene, struct verdict *verdict)
{
	const struct host_memory *memory = &scene->incident->host;
	struct request request = request_of(scene->incident);

	if (!is_of_machine(scene))
		return false;
	verdict->confidence = host_is_exhausted(scene);
	if (!verdict->confidence)
		return false;
	claim_of_host(scene, verdict);
	verdict_evidence(verdict, "RAM %s, free %s at the kill", size_text(memory->total_bytes),
		size_text(incident_free_bytes(scene->incident)));
	if (known_bytes(memory->swap_total_bytes))
		verdict_evidence(verdict, "swap %s, free %s %s",
			size_text(memory->swap_total_bytes), size_text(memory->swap_free_bytes),
			when_text(scene));
	if (judge_zones_known(scene->incident))
		evidence_of_zones(scene, verdict, &request, true);
	return true;
}

/* --- who holds it --- */

/* Of the limit or the machine, with what is in swap; 0: not known. */
static uint64_t whole_bytes(const struct scene *scene)
{
	const struct incident *incident = scene->incident;
	const struct host_memory *host = &incident->host;
	uint64_t swap = 0;

	if (scene->limit) {
		if (scene->limit->usage_pages == UNKNOWN_U64)
			return 0;
		if (scene->limit->swap_usage_pages == UNKNOWN_U64)
			return pages_to_bytes(scene, scene->limit->usage_pages);
		if (incident->log.limit_v1)
			return pages_to_bytes(scene, scene->limit->swap_usage_pages);
		return pages_to_bytes(
			scene, scene->limit->usage_pages + scene->limit->swap_usage_pages);
	}
	if (scene->ret->scope != SCOPE_GLOBAL || host->total_bytes == UNKNOWN_U64)
		return 0;
	if (host->swap_total_bytes != UNKNOWN_U64 && host->swap_free_bytes != UNKNOWN_U64 &&
		host->swap_total_bytes >= host->swap_free_bytes)
		swap = host->swap_total_bytes - host->swap_free_bytes;
	return host->total_bytes + swap;
}

/* What they hold at least: shared memory is in the resident size of each of them, and once in RAM.
 */
static uint64_t family_at_least(const struct scene *scene)
{
	const struct incident_log *log = &scene->incident->log;
	uint64_t sum = pages_to_bytes(scene, log->family_pages), shared;

	if (log->family_from_anon)
		return sum;
	shared = known_bytes(
		scene->limit ? scene->incident->stat.shmem_bytes : log->machine.shmem_bytes);
	if (__builtin_mul_overflow(shared, (uint64_t)log->family_members - 1, &shared))
		return 0;
	return sum > shared ? sum - shared : 0;
}

bool rule_log_family(const struct scene *scene, struct verdict *verdict)
{
	const struct incident_log *log = &scene->incident->log;
	uint64_t whole = whole_bytes(scene), sum = pages_to_bytes(scene, log->family_pages);

	if (!whole || log->family_members < FAMILY_MIN || !is_most(family_at_least(scene), whole) ||
		less_bytes(sum, whole) > whole / TOO_MUCH_SHARE ||
		is_most(pages_to_bytes(scene, log->family_largest_pages), whole) ||
		is_most(log->family_largest_pages, log->family_pages))
		return false;
	verdict->confidence = CONFIDENCE_LIKELY;
	verdict_claim(verdict,
		"%u processes named %s hold %s of the %s in use; no single one of them holds most of it.",
		log->family_members, log->family_comm, sum < whole ? size_text(sum) : "about all",
		size_text(whole));
	verdict_evidence(verdict, "%s of all of them: %s",
		log->family_from_anon ? "anonymous memory and swap" : "resident memory and swap",
		size_text(sum));
	verdict_evidence(verdict, "the largest of them: %s",
		size_text(pages_to_bytes(scene, log->family_largest_pages)));
	verdict_evidence(
		verdict, "told by their name: the log does not show whose children they are");
	return true;
}

/* More than half of the machine's RAM. */
static bool of_ram(const struct scene *scene, struct verdict *verdict, enum confidence confidence,
	uint64_t part, const char *when, const char *claim)
{
	uint64_t total = scene->incident->host.total_bytes;

	if (!is_of_machine(scene) || !is_most(part, total))
		return false;
	verdict->confidence = confidence;
	verdict_claim(
		verdict, "%s of the %s of RAM are %s", size_text(part), size_text(total), claim);
	verdict_evidence(verdict, "%s of %s %s", size_text(part), size_text(total), when);
	return true;
}

bool rule_log_tmpfs(const struct scene *scene, struct verdict *verdict)
{
	return of_ram(scene, verdict, CONFIDENCE_LIKELY, scene->incident->log.machine.shmem_bytes,
		AT_THE_KILL,
		"tmpfs files or shared memory: a file in a tmpfs stays when processes are killed.");
}

bool rule_log_kernel_memory(const struct scene *scene, struct verdict *verdict)
{
	const struct incident_log *log = &scene->incident->log;

	return of_ram(scene, verdict, CONFIDENCE_LIKELY,
		log->machine.slab_bytes + known_bytes(log->machine.kernel_stack_bytes) +
			known_bytes(log->machine.pagetables_bytes),
		AT_THE_KILL, "kernel memory, which no process's RSS shows.");
}

bool rule_hugetlb(const struct scene *scene, struct verdict *verdict)
{
	return of_ram(scene, verdict, CONFIDENCE_CERTAIN, scene->incident->host.hugetlb_bytes,
		when_text(scene), "set aside for huge pages, which no process's RSS shows.");
}

bool rule_log_dirty(const struct scene *scene, struct verdict *verdict)
{
	return of_ram(scene, verdict, CONFIDENCE_LIKELY, scene->incident->log.machine.dirty_bytes,
		AT_THE_KILL, "file pages that wait to be written.");
}

/* Everything that Mem-Info has a name for. */
static uint64_t named_bytes(const struct incident *incident)
{
	const struct incident_log *log = &incident->log;

	return log->machine.anon_bytes + log->machine.file_bytes +
	       known_bytes(log->machine.unevictable_bytes) + known_bytes(log->machine.slab_bytes) +
	       known_bytes(log->machine.kernel_stack_bytes) +
	       known_bytes(log->machine.pagetables_bytes) +
	       known_bytes(incident->host.hugetlb_bytes) +
	       known_bytes(incident_free_bytes(incident));
}

bool rule_log_unexplained(const struct scene *scene, struct verdict *verdict)
{
	return of_ram(scene, verdict, CONFIDENCE_POSSIBLE,
		less_bytes(scene->incident->host.total_bytes, named_bytes(scene->incident)),
		AT_THE_KILL, "in nothing that the kernel's account has a name for.");
}
