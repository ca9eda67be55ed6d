/* SPDX-License-Identifier: MIT */
/*
 * modules.h - the executables and libraries that processes have mapped, and where.
 *
 * A file is known by device and inode, so one that several processes map is read once, and the
 * copies of a library that containers bring are several; by size and time as well, for a number is
 * used again and a file written anew. For the tool.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "trace/writer.h"

/* A line of /proc/PID/maps. */
struct gt_mapping {
	uint64_t start, end, offset;
	bool is_code;
	uint64_t inode; /* 0: ask the process */
	char *path;     /* as the process sees it; "[vdso]" and the like have none of a file */
};

struct gt_mappings {
	struct gt_mapping *list;
	size_t count, room;
};

/* All lines of the file; what is no line of /proc/PID/maps is passed over. */
void gt_mappings_parse(struct gt_mappings *m, FILE *file);
/* 0 or -errno: the process may be gone, or nobody's business. */
int gt_mappings_read(struct gt_mappings *m, uint32_t pid);
void gt_mappings_fini(struct gt_mappings *m);
/* The file behind a mapping, whatever it is called by now and in whatever container; or -errno. */
int gt_mapping_open(const struct gt_mapping *m, uint32_t pid);

struct gt_segment {
	uint64_t offset, address, size;
	bool is_code;
};

struct gt_unwind_table;

struct gt_image {
	dev_t dev;
	ino_t ino;
	char *name; /* its path as the process had it that mapped it first */
	char *path; /* gt_image_path's */
	uint8_t build_id[64];
	size_t build_id_size;
	uint64_t file_size;
	int64_t mtime_ns;
	uint64_t low, high; /* ELF addresses of all that is loaded */
	struct gt_segment segments[16];
	size_t segment_count;
	struct gt_segment cfi;          /* .eh_frame, by the section table; size 0: none is named */
	struct gt_segment cfi_index;    /* .eh_frame_hdr, by the program headers; likewise */
	int fd;                         /* kept for the unwinder; -1: none */
	struct gt_unwind_table *unwind; /* unwind.c's, made when first needed */
};

struct gt_map_history;

/* The images seen so far. */
struct gt_images {
	struct gt_image **list;
	size_t count, room;
	bool keep_open;                 /* for the unwinder */
	struct gt_map_history *history; /* for processes that are gone; NULL: there is none */
};

void gt_images_fini(struct gt_images *images);
/* The image of a mapping; NULL when it cannot be read or is none. */
struct gt_image *gt_images_get(struct gt_images *images, const struct gt_mapping *m, uint32_t pid);
/*
 * A path that leads to the image from here, as long as there is one: where only its processes see
 * it, through one of them, which is this one if an earlier one has ended.
 */
const char *gt_image_path(struct gt_image *image, uint32_t pid);
/* Address minus ELF address, for the mapping of code in the image's file. */
uint64_t gt_image_bias(const struct gt_image *image, const struct gt_mapping *m);

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
