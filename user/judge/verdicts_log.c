// SPDX-License-Identifier: Apache-2.0
/*
 * Verdicts that rest on the kernel's own account in a log: which zones had room for the request,
 * and which processes and uses of memory hold what. Source of the arithmetic: mm/page_alloc.c
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

/* Of all memory: with more of it free it was not the machine that ran out. */
#define FREE_SHARE 16
#define FAMILY_MIN 3
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
	bool dma; /* and that */
};

static struct request request_of(const struct incident *incident)
{
	const struct incident_log *log = &incident->log;
	struct request ret = {.class = class_of_request(incident->gfp_mask),
		.movable = incident->gfp_mask & GFP_ZONE_MOVABLE,
		.order = log->has_order && incident->order > 0 ? (unsigned int)incident->order : 0};

	for (unsigned int i = 0; i < log->zone_count; i++) {
		ret.highmem |= class_of(&log->zones[i]) == ZONE_HIGHMEM;
		ret.dma |= class_of(&log->zones[i]) == ZONE_DMA;
	}
	return ret;
}

static bool may_use(const struct incident_zone *zone, const struct request *request)
{
	return class_of(zone) <= request->class;
}

/* lowmem_reserve[] has a place for each class of zones that the kernel was built with. Only where
 * there is HighMem are those above Normal worth a difference. */
static uint64_t kept_back(const struct incident_zone *zone, const struct request *request)
{
	unsigned int at;

	if (!zone->reserve_count)
		return 0;
	switch (request->class) {
	case ZONE_DMA:
		return 0;
	case ZONE_DMA32:
		at = request->dma ? 1 : 0;
		break;
	case ZONE_NORMAL:
		at = request->highmem ? (request->dma ? 1 : 0) : zone->reserve_count - 1;
		break;
	default:
		at = zone->reserve_count - 1;
		break;
	}
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

bool judge_zone_room(const struct incident *incident, unsigned int index, struct zone_room *ret)
{
	const struct incident_log *log = &incident->log;
	const struct incident_zone *zone = &log->zones[index];
	struct request request;

	if (!log->has_gfp || index >= log->zone_count || zone->free_pages == UNKNOWN_U64 ||
		zone->min_pages == UNKNOWN_U64)
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
	uint64_t cma_pages; /* free where it may go, but for movable memory only */
	bool room, piece; /* some zone has room; one of those has a piece of the size asked for */
};

static void look(const struct incident_log *log, const struct request *request, struct zones *ret)
{
	memset(ret, 0, sizeof(*ret));
	for (unsigned int i = 0; i < log->zone_count; i++) {
		const struct incident_zone *zone = &log->zones[i];

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
}

/* --- claims about the machine --- */

static void evidence_of_zones(const struct scene *scene, struct verdict *verdict,
	const struct request *request, bool usable)
{
	const struct incident_log *log = &scene->incident->log;
	unsigned int told = 0;

	/* The highest ones first: those are the largest. */
	for (unsigned int i = log->zone_count; i-- > 0 && told < 3;) {
		const struct incident_zone *zone = &log->zones[i];
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

static bool zones_tell(const struct incident *incident)
{
	return incident->log.zone_count && incident->log.has_gfp;
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

	if (!is_of_machine(scene) || !zones_tell(incident))
		return false;
	look(&incident->log, &request, &zones);
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

	if (!zones_tell(incident))
		return host->free_bytes != UNKNOWN_U64 &&
				       host->free_bytes < host->total_bytes / FREE_SHARE
			       ? CONFIDENCE_LIKELY
			       : 0;
	look(&incident->log, &request, &zones);
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
	char swap[64] = "";

	if (!is_of_machine(scene))
		return false;
	verdict->confidence = host_is_exhausted(scene);
	if (!verdict->confidence)
		return false;
	if (!memory->swap_total_bytes)
		strcpy(swap, ", no swap");
	else if (memory->swap_total_bytes != UNKNOWN_U64)
		snprintf(swap, sizeof(swap), ", %s of swap", size_text(memory->swap_total_bytes));
	verdict_claim(verdict,
		"The machine itself was out of memory (%s of RAM%s); no cgroup's limit was hit.",
		size_text(memory->total_bytes), swap);
	verdict_evidence(verdict, "RAM %s, free %s at the kill", size_text(memory->total_bytes),
		size_text(memory->free_bytes));
	if (known_bytes(memory->swap_total_bytes))
		verdict_evidence(verdict, "swap %s, free %s at the kill",
			size_text(memory->swap_total_bytes), size_text(memory->swap_free_bytes));
	if (zones_tell(scene->incident))
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
	shared = known_bytes(scene->limit ? scene->incident->stat.shmem_bytes : log->shmem_bytes);
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
	uint64_t part, const char *claim)
{
	uint64_t total = scene->incident->host.total_bytes;

	if (!is_of_machine(scene) || !is_most(part, total))
		return false;
	verdict->confidence = confidence;
	verdict_claim(
		verdict, "%s of the %s of RAM are %s", size_text(part), size_text(total), claim);
	verdict_evidence(
		verdict, "%s of %s %s", size_text(part), size_text(total), when_text(scene));
	return true;
}

bool rule_log_tmpfs(const struct scene *scene, struct verdict *verdict)
{
	return of_ram(scene, verdict, CONFIDENCE_LIKELY, scene->incident->log.shmem_bytes,
		"tmpfs files or shared memory: a file in a tmpfs stays when processes are killed.");
}

bool rule_log_kernel_memory(const struct scene *scene, struct verdict *verdict)
{
	const struct incident_log *log = &scene->incident->log;

	return of_ram(scene, verdict, CONFIDENCE_LIKELY,
		log->slab_bytes + known_bytes(log->kernel_stack_bytes) +
			known_bytes(log->pagetables_bytes),
		"kernel memory, which no process's RSS shows.");
}

bool rule_hugetlb(const struct scene *scene, struct verdict *verdict)
{
	return of_ram(scene, verdict, CONFIDENCE_CERTAIN, scene->incident->host.hugetlb_bytes,
		"set aside for huge pages, which no process's RSS shows.");
}

bool rule_log_dirty(const struct scene *scene, struct verdict *verdict)
{
	return of_ram(scene, verdict, CONFIDENCE_LIKELY, scene->incident->log.dirty_bytes,
		"file pages that wait to be written.");
}

/* Everything that Mem-Info has a name for. */
static uint64_t named_bytes(const struct incident *incident)
{
	const struct incident_log *log = &incident->log;

	return log->anon_bytes + log->file_bytes + known_bytes(log->unevictable_bytes) +
	       known_bytes(log->slab_bytes) + known_bytes(log->kernel_stack_bytes) +
	       known_bytes(log->pagetables_bytes) + known_bytes(incident->host.hugetlb_bytes) +
	       known_bytes(incident->host.free_bytes);
}

bool rule_log_unexplained(const struct scene *scene, struct verdict *verdict)
{
	return of_ram(scene, verdict, CONFIDENCE_POSSIBLE,
		less_bytes(scene->incident->host.total_bytes, named_bytes(scene->incident)),
		"in nothing that the kernel's account has a name for.");
}
