/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* calls_owner.bpf.h - whose a resource is: an OpenCL object's driver, the current CUDA context. */
#pragma once

/* What an object of OpenCL begins with: a pointer to its driver's functions. 0: unknown. */
static __always_inline uint64_t driver_of(uint64_t object)
{
	uint64_t driver;

	return object && !bpf_probe_read_user(&driver, sizeof driver, (void *)object) ? driver : 0;
}

/* Replaces the platforms in t->tail with their drivers. */
static __always_inline void read_drivers(struct thread *t)
{
	for (int i = 0; i < GT_PROBE_PLATFORMS; i++) {
		if (i >= t->call.array)
			break;
		t->tail[i] = driver_of(t->tail[i]);
	}
}

/* 0: unknown. */
static __always_inline uint64_t current_context(const struct thread *t)
{
	uint32_t count = t->context_count;

	return count && count <= GT_PROBE_CURRENT ?
		       t->contexts[WITHIN(count - 1, GT_PROBE_CURRENT)] :
		       0;
}

/* A call that changes the contexts of its thread has succeeded. */
static __always_inline void change_current(struct thread *t, uint32_t how, uint64_t context)
{
	uint32_t count = t->context_count;

	if (how == GT_CURRENT_END && context != current_context(t))
		return;
	if (how == GT_CURRENT_PUSH || (how == GT_CURRENT_SET && context && !count))
		count++;
	else if (how != GT_CURRENT_SET || !context)
		count -= count > 0;
	if (context && (how == GT_CURRENT_PUSH || how == GT_CURRENT_SET) && count &&
	    count <= GT_PROBE_CURRENT)
		t->contexts[WITHIN(count - 1, GT_PROBE_CURRENT)] = context;
	t->context_count = count;
}
