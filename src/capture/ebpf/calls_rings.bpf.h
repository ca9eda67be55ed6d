/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * calls_rings.bpf.h - the rings that calls are sent through: each has a lock, so processors have
 * one of their own, as far as there are enough.
 *
 * All records of one run of a program go to one ring, in order. Between rings they are ordered by
 * their times (rings.h), which are taken before room is reserved.
 */
#pragma once

enum {
	WAKE_NS = 250000,    /* a processor wakes the tool no more often: it costs an interrupt */
	SEARCH_NS = 1000000, /* nor does it look more often for a ring that has room */
};

const volatile uint32_t ring_mask;  /* their number less one */
const volatile uint64_t ring_bytes; /* size of each */
const volatile uint64_t ring_wake;  /* wakes the tool when more bytes than this wait in one */
const volatile bool can_hold;       /* the kernel has the functions below (Linux 6.10) */

struct calls_ring {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, GT_PROBE_RINGS);
	__type(key, uint32_t);
	__array(values, struct calls_ring);
} calls SEC(".maps");

extern void bpf_preempt_disable(void) __ksym __weak;
extern void bpf_preempt_enable(void) __ksym __weak;

/*
 * Keeps the processor while a record of the ring is being written. The tool cannot read past such a
 * record: on a busy machine its thread may get the processor back only after the ring is full.
 */
static __always_inline void hold(void)
{
	if (can_hold)
		bpf_preempt_disable();
}

static __always_inline void let_go(void)
{
	if (can_hold)
		bpf_preempt_enable();
}

static __always_inline uint64_t waiting_in(void *ring)
{
	return bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA);
}

/* Another ring in which fewer bytes than `limit` wait; GT_PROBE_RINGS: there is none. */
__attribute__((noinline)) int find_ring(uint32_t own, uint64_t limit)
{
	for (uint32_t i = 1; i < GT_PROBE_RINGS; i++) {
		uint32_t at = (own + i) & ring_mask;
		void *ring = bpf_map_lookup_elem(&calls, &at);

		if (i > ring_mask || !ring)
			break;
		if (waiting_in(ring) < limit)
			return at;
	}
	return GT_PROBE_RINGS;
}

/*
 * Moves to a ring with room, unless one was searched for in vain a moment ago. One thread alone may
 * fill all of them, while the tool gets no processor.
 */
static __always_inline bool change_ring(struct thread *t, uint64_t limit, uint64_t *searched_ns)
{
	uint32_t found;

	if (!ring_mask || t->call.ended_ns - *searched_ns < SEARCH_NS)
		return false;
	found = find_ring(t->ring, limit);
	if (found >= GT_PROBE_RINGS) {
		*searched_ns = t->call.ended_ns;
		return false;
	}
	t->ring = found;
	return true;
}

/* Chooses the ring for the records of the call that t->call is about. */
static __always_inline void choose_ring(struct thread *t)
{
	void *ring;

	t->ring = bpf_get_smp_processor_id() & ring_mask;
	if (!ring_mask)
		return;
	ring = bpf_map_lookup_elem(&calls, &t->ring);
	if (ring && waiting_in(ring) > ring_bytes - ring_bytes / 8)
		change_ring(t, ring_bytes - ring_bytes / 4, &own_slot()->all_full_ns);
}

/* Whether a record that is sent now wakes the tool. */
static __always_inline uint64_t wake_flag(const struct thread *t, void *ring)
{
	struct gt_probe_slot *slot;

	if (waiting_in(ring) <= ring_wake)
		return BPF_RB_NO_WAKEUP;
	slot = own_slot();
	if (t->call.ended_ns - slot->woken_ns < WAKE_NS)
		return BPF_RB_NO_WAKEUP;
	slot->woken_ns = t->call.ended_ns;
	return BPF_RB_FORCE_WAKEUP;
}

/* Wakes the tool at once, but not more often than a thousand times a second. */
static __always_inline uint64_t wake_for_copy(const struct thread *t, void *ring)
{
	struct gt_probe_slot *slot = own_slot();

	if (t->call.ended_ns - slot->copied_ns < 1000000)
		return wake_flag(t, ring);
	slot->copied_ns = t->call.ended_ns;
	return BPF_RB_FORCE_WAKEUP;
}

/* Sends a record; false if there is no room for it. */
static __always_inline bool output(void *ring, const void *record, uint64_t size, uint64_t flags)
{
	long e;

	hold();
	e = bpf_ringbuf_output(ring, (void *)record, size, flags);
	let_go();
	return !e;
}
