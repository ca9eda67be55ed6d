/* SPDX-License-Identifier: MIT */
/*
 * places.h - where the resources of traced processes live, by name, with numbers that all of them
 * share.
 */
#pragma once

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
/* NULL for 0. */
const struct gt_place_entry *gt_places_get(const struct gt_places *p, uint16_t place);
