/* SPDX-License-Identifier: MIT */
/* ring_size.c - how big the ring between the kernel and the tool is made, and what it bears. */
#include "cli/attach/ring_size.h"

#include <stdio.h>
#include <unistd.h>

/*
 * What matters is for how long the tool may be kept from emptying the ring: on a busy machine some
 * tenths of a second. 4 MiB are some 10,000 calls.
 */
enum {
	EACH = 4 << 20, /* processor */
	LEAST = 16 << 20,
	MOST = 64 << 20,
	COPIES = 8,      /* times as much */
	OF_MEMORY = 64,  /* at most this part of what is available */
	SMALL = 1 << 20, /* but this much */
	FRAMES = 24,     /* of an ordinary stack */
};

size_t gt_ring_size_for(const struct gt_ring_needs *needs)
{
	uint64_t wanted = (uint64_t)EACH * needs->processors;
	size_t size = LEAST;

	while (size < wanted && size < MOST)
		size *= 2;
	if (needs->has_copies)
		size *= COPIES;
	while (needs->available_bytes && size > SMALL && size > needs->available_bytes / OF_MEMORY)
		size /= 2;
	return size;
}

static uint64_t available_bytes(void)
{
	FILE *file = fopen("/proc/meminfo", "re");
	unsigned long long kb = 0;
	char line[128];

	while (file && fgets(line, sizeof line, file))
		if (sscanf(line, "MemAvailable: %llu kB", &kb) == 1)
			break;
	if (file)
		fclose(file);
	return kb << 10;
}

static bool has_copies(const struct gt_probes_options *how)
{
	return how->unwinding == GT_UNWIND_DWARF && how->frames;
}

size_t gt_ring_size(uint64_t wanted, const struct gt_probes_options *how)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	size_t size = 4096;

	if (!wanted)
		return gt_ring_size_for(&(struct gt_ring_needs){
			.processors = processors > 0 ? (unsigned)processors : 1,
			.available_bytes = available_bytes(),
			.has_copies = has_copies(how) });
	while (size < wanted && size < GT_RING_MAX)
		size *= 2;
	return size;
}

uint64_t gt_ring_calls(const struct gt_probes_options *how)
{
	size_t stack = has_copies(how) ?
			       how->stack_bytes + sizeof(struct gt_probe_stack) +
				       GT_PROBE_ARRAY * sizeof(uint64_t) :
			       (how->frames < FRAMES ? how->frames : FRAMES) * sizeof(uint64_t);

	return how->ring_bytes / (sizeof(struct gt_probe_call) + stack);
}
