/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * vma.bpf.h: what is mapped at an address, found without the lock of the address space.
 *
 * bpf_find_vma() (5.17 and newer) lets go of that lock by an irq_work of which each CPU has one:
 * where interrupts are off, as while a signal is sent, it fails once the program of anybody else
 * has used it for the same signal. So the tree is walked here. Another thread may change it
 * meanwhile: what is found is believed only if it is of this address space and holds the address,
 * else the mapping is not known.
 *
 * Source: mtree_range_walk() (lib/maple_tree.c, 6.1 and newer); find_vma() (mm/mmap.c, before).
 */
#ifndef OOMSNOOP_VMA_BPF_H
#define OOMSNOOP_VMA_BPF_H

#include "common.bpf.h"

#define MAPLE_NODE_MASK 255ULL /* lib/maple_tree.c: nodes are aligned to 256 bytes */
#define MAPLE_TYPE_SHIFT 3
#define MAPLE_TYPE_MASK 15
#define MAPLE_PIVOTS 15 /* of the nodes that have most */
#define MAPLE_ARANGE_PIVOTS 9
#define MAPLE_DEPTH 12 /* half full nodes of so many levels hold more than max_map_count may be */
#define TREE_DEPTH 48 /* twice the depth of a balanced one */

/* Until 6.0. */
struct mm_struct___rb {
	struct rb_root mm_rb;
} __attribute__((preserve_access_index));

struct vm_area_struct___rb {
	struct rb_node vm_rb;
} __attribute__((preserve_access_index));

static __always_inline bool vma_holds(struct vm_area_struct *vma, u64 address)
{
	return address >= BPF_CORE_READ(vma, vm_start) && address < BPF_CORE_READ(vma, vm_end);
}

__noinline u64 vma_of_tree(u64 node, u64 address)
{
	u32 i;

	if (!bpf_core_field_exists(((struct vm_area_struct___rb *)0)->vm_rb))
		return 0;
	for (i = 0; i < TREE_DEPTH && node; i++) {
		struct rb_node *rb = (void *)node;
		struct vm_area_struct *vma =
			(void *)(node - bpf_core_field_offset(struct vm_area_struct___rb, vm_rb));

		if (vma_holds(vma, address))
			return (u64)vma;
		node = address < BPF_CORE_READ(vma, vm_start) ? (u64)BPF_CORE_READ(rb, rb_left)
							      : (u64)BPF_CORE_READ(rb, rb_right);
	}
	return 0;
}

static __always_inline u32 maple_type(u64 entry)
{
	return entry >> MAPLE_TYPE_SHIFT & MAPLE_TYPE_MASK;
}

/* What a node has for an address: another node, or of a leaf the mapping. */
__noinline u64 maple_slot(u64 entry, u64 address)
{
	u64 node = entry & ~MAPLE_NODE_MASK, pivots[MAPLE_PIVOTS] = {}, last = 0, slot = 0;
	bool is_arange = maple_type(entry) == maple_arange_64;
	u32 count = is_arange ? MAPLE_ARANGE_PIVOTS : MAPLE_PIVOTS, i;

	if (!bpf_core_field_exists(((struct maple_range_64 *)0)->pivot))
		return 0;
	bpf_probe_read_kernel(pivots, sizeof(pivots),
		(void *)(node + (is_arange ? bpf_core_field_offset(struct maple_arange_64, pivot)
					   : bpf_core_field_offset(struct maple_range_64, pivot))));
	for (i = 0; i < MAPLE_PIVOTS && i < count; i++) {
		/* They rise; the one of the last slot may have been left out. */
		if (pivots[i] >= address || (i && pivots[i] <= last))
			break;
		last = pivots[i];
	}
	bpf_probe_read_kernel(&slot, sizeof(slot),
		(void *)(node + i * sizeof(slot) +
			 (is_arange ? bpf_core_field_offset(struct maple_arange_64, slot)
				    : bpf_core_field_offset(struct maple_range_64, slot))));
	return slot;
}

__noinline u64 vma_of_maple(u64 entry, u64 address)
{
	u32 i;

	/* include/linux/xarray.h: xa_is_node(). Below the root they are not marked so. */
	if ((entry & 3) != 2)
		return 0;
	for (i = 0; i < MAPLE_DEPTH && entry; i++) {
		u32 type = maple_type(entry);

		entry = maple_slot(entry, address);
		if (type == maple_leaf_64)
			return entry;
	}
	return 0;
}

/* NULL: nothing is mapped there, or it is not known. */
static __always_inline struct vm_area_struct *vma_at(struct task_struct *task, u64 address)
{
	struct mm_struct *mm = BPF_CORE_READ(task, mm);
	struct mm_struct___rb *older = (void *)mm;
	struct vm_area_struct *vma;

	if (!mm)
		return NULL;
	if (bpf_core_field_exists(older->mm_rb))
		vma = (void *)vma_of_tree((u64)BPF_CORE_READ(older, mm_rb.rb_node), address);
	else
		vma = (void *)vma_of_maple((u64)BPF_CORE_READ(mm, mm_mt.ma_root), address);
	if (!vma || BPF_CORE_READ(vma, vm_mm) != mm || !vma_holds(vma, address))
		return NULL;
	return vma;
}

#endif /* OOMSNOOP_VMA_BPF_H */
