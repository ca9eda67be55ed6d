/* SPDX-License-Identifier: MIT */
/*
 * places.h - where the resources of traced processes live, by name, with numbers that all of them
 * share.
 */
#pragma once

#include "capture/ebpf/calls.h"
#include "capture/ebpf/inferred.h"

enum { GT_PLACES_MAX = 63, GT_PLACE_NAME = 96 }; /* gt_entry.place has 6 bits */

/* The GPUs of the machine, as its driver lists them. */
struct gt_gpus {
	unsigned count;           /* 0: unknown */
	char name[GT_PLACE_NAME]; /* that all of them have; "": they differ */
};

struct gt_place_entry {
	enum gt_api api;
	char name[GT_PLACE_NAME];
};

/* Zeroed is initialised. */
struct gt_places {
	void (*look)(struct gt_gpus *gpus); /* finds out about them when needed; NULL: nobody can */
	struct gt_gpus gpus;
	bool has_looked;
	struct gt_place_entry list[GT_PLACES_MAX];
	size_t count;
};

/* The number of a place; 0 when there are too many. */
uint16_t gt_places_number(struct gt_places *p, enum gt_api api, const char *name);
/*
 * The same for a CUDA device, by the process's own number of it, as doors name it. For
 * GT_CONTEXTS_ANY it is the machine's only one, or unknown.
 */
uint16_t gt_places_device(struct gt_places *p, int device);
/*
 * OpenCL: the platforms of a process, as its questions reveal them. Objects are known to be of a
 * platform by their driver, if it has no other platform. Zeroed is initialised.
 */
struct gt_platforms {
	struct {
		uint64_t driver;
		uint16_t place; /* 0: nobody has asked for its name */
		uint16_t count; /* platforms that it has */
	} list[GT_PROBE_PLATFORMS];
	size_t count;
	bool is_listed; /* all platforms have been seen */
};

/* Takes a question of which the answer has arrived: GT_PROBE_ASKED + enum gt_probe_asked. */
void gt_platforms_take(struct gt_platforms *f, struct gt_places *p,
		       const struct gt_probe_call *asked, const uint64_t *array);
/* The place of an object of this driver; 0: unknown. */
uint16_t gt_platforms_place(const struct gt_platforms *f, uint64_t driver);

/* NULL for 0. */
const struct gt_place_entry *gt_places_get(const struct gt_places *p, uint16_t place);
