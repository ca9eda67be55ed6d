/* SPDX-License-Identifier: MIT */
/*
 * pool_history.h - a recording's device memory as segments and blocks, for PyTorch's snapshots.
 *
 * Memory in which blocks of a pool were allocated is a segment. Any other allocation is a segment
 * with one block. Each process and each of its devices has a history of its own; the recording is
 * read once to find them, and once more for each.
 */
#pragma once

#include "base/containers.h"
#include "export/export.h"
#include "ledger/ledger.h"

/* What an allocation turned out to be. */
enum gt_pool_role {
	GT_POOL_PLAIN,   /* a segment with one block */
	GT_POOL_SEGMENT, /* blocks were allocated in it */
	GT_POOL_BLOCK,
	GT_POOL_BEHIND, /* physical memory behind a mapping that is a segment */
	GT_POOL_NOTHING,
};

struct gt_pool_device {
	uint16_t process, place;
	uint32_t number; /* of the device in the snapshot */
};

/* Alive at the end. */
struct gt_pool_rest {
	uint64_t address, size;
	uint32_t stack, device; /* an index of `devices` */
	enum gt_pool_role role;
};

struct gt_pool_history {
	const struct gt_export *export;
	struct gt_pool_device *devices;
	size_t device_count, device_room;
	uint8_t *roles; /* of each birth, in order */
	size_t role_room;
	struct gt_pool_rest *rest; /* by device and address, segments before their blocks */
	size_t rest_count, rest_room;
	struct gt_ranges *ranges; /* by process: address -> birth */
	size_t range_count;
	struct gt_pool_birth *births; /* by slot: what lives there */
	size_t slot_room;
	/* of the reading that is going on */
	uint64_t births_read, own_used;
};

/* Reads the recording. */
void gt_pool_history_init(struct gt_pool_history *h, const struct gt_export *e);
void gt_pool_history_fini(struct gt_pool_history *h);

/* Something that happened on a device. */
enum gt_pool_event_type { GT_POOL_BORN, GT_POOL_ENDED, GT_POOL_SHORTAGE };

struct gt_pool_event {
	enum gt_pool_event_type type;
	enum gt_pool_role role;
	uint64_t address, size, time_ns;
	uint32_t stack;
};

/* Calls `each` on all events of a device, in order of time. */
void gt_pool_history_each(struct gt_pool_history *h, size_t device,
			  void (*each)(void *context, const struct gt_pool_event *event),
			  void *context);
