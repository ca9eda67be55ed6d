/* SPDX-License-Identifier: MIT */
/* paging.h - pages of unified memory that moved between host and devices, or were missed. */
#pragma once

#include "base/bytes.h"
#include "event/event.h"

/* The numbers are part of the format. */
enum gt_paging_effect {
	GT_PAGING_TO_DEVICE,
	GT_PAGING_TO_HOST,
	GT_PAGING_BETWEEN_DEVICES,
	GT_PAGING_CPU_FAULT, /* the host touched pages that were elsewhere */
	GT_PAGING_GPU_FAULT,
	GT_PAGING_EFFECTS
};

/* Why they moved, in CUPTI's numbers. */
enum gt_paging_cause {
	GT_PAGING_UNKNOWN,
	GT_PAGING_REQUESTED,     /* by cudaMemPrefetchAsync */
	GT_PAGING_FAULT,         /* somebody touched them who did not have them */
	GT_PAGING_SPECULATION,   /* the driver moved the neighbours of touched pages along */
	GT_PAGING_EVICTION,      /* the device had no room left */
	GT_PAGING_ACCESS_COUNTS, /* they were often used from afar */
	GT_PAGING_CAUSES
};

struct gt_paging {
	uint64_t time_ns;
	uint64_t address;
	uint64_t amount; /* bytes that moved, or the number of faults */
	enum gt_paging_effect effect;
	enum gt_paging_cause cause; /* of a move */
};

/* The fields of a record, as differences from a time and an address; returns the end. */
uint8_t *gt_paging_put(uint8_t *at, const struct gt_paging *paging, uint64_t time_ns,
		       uint64_t address);
/* Reads them into an event without a function; false if the record is damaged. */
bool gt_paging_get(struct gt_event *event, struct gt_bytes *record, uint64_t time_ns,
		   uint64_t address);
/* The handle of such an event: a sample's is the number of its series. */
#define GT_PAGING_HANDLE UINT64_MAX
/* True for such an event. */
static inline bool gt_paging_is(const struct gt_event *event)
{
	return event->function == GT_FN_NONE && event->handle == GT_PAGING_HANDLE;
}
/* What it says; false if only a later version knows it. */
bool gt_paging_of(struct gt_paging *paging, const struct gt_event *event);
