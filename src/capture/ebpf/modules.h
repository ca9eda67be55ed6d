/* SPDX-License-Identifier: MIT */
/* modules.h - what a traced process has mapped where, told to its trace as it becomes known. */
#pragma once

#include "capture/ebpf/image.h"

struct gt_mapped {
	uint64_t start, size, bias;
	struct gt_image *image;
	uint32_t number; /* in the trace */
	bool told, gone;
};

/* Memory that was mapped when we looked, neighbours of one sort as one. */
struct gt_area {
	uint64_t start, end;
	bool is_code;
};

enum gt_ground { GT_GROUND_UNKNOWN, GT_GROUND_DATA, GT_GROUND_CODE };

struct gt_modules {
	struct gt_mapped *list;
	size_t count, room;
	uint32_t next_number;
	bool is_stale;         /* something was mapped since we looked */
	struct gt_area *areas; /* by address; code that is in no file is there, too */
	size_t area_count, area_room;
	bool is_gone; /* there was nothing to look at any more */
};

void gt_modules_fini(struct gt_modules *m);
/* Looks what is mapped now. True when something is no longer where it was. */
bool gt_modules_look(struct gt_modules *m, struct gt_images *images, uint32_t pid);
/* As the parent has it, for a child that may be gone before anybody looks. */
void gt_modules_inherit(struct gt_modules *m, const struct gt_modules *parent);
const struct gt_mapped *gt_modules_find(const struct gt_modules *m, uint64_t address);
/* What lies at an address. Unknown where nothing was mapped when we looked, but could be. */
enum gt_ground gt_modules_ground(const struct gt_modules *m, uint64_t address);
/* For gt_writer_options.modules: what the process's trace has not been told yet. */
void gt_modules_tell(struct gt_modules *m, struct gt_writer *w, uint32_t pid);
