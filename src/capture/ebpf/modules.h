/* SPDX-License-Identifier: MIT */
/*
 * modules.h - the executables and libraries that processes have mapped, and where.
 *
 * A file is identified by device and inode: one that several processes map is read once, and the
 * copies of a library in several containers are told apart. Size and time are compared too, because
 * inode numbers are reused and files overwritten. For the tool.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "capture/ebpf/mappings.h"
#include "capture/ebpf/python_image.h"
#include "trace/writer.h"

struct gt_segment {
	uint64_t offset, address, size;
	bool is_code;
};

struct gt_unwind_table;

struct gt_image {
	uint32_t number; /* in its list, from 1 */
	dev_t dev;
	ino_t ino;
	char *name; /* the path under which the first process mapped it */
	char *path; /* for gt_image_path */
	uint8_t build_id[64];
	size_t build_id_size;
	uint64_t file_size;
	int64_t mtime_ns;
	uint64_t low, high; /* ELF addresses of the loaded segments */
	struct gt_segment segments[16];
	size_t segment_count;
	struct gt_segment dynamic; /* the dynamic section; size 0: none */
	struct gt_python_image python;
	struct gt_segment cfi;          /* .eh_frame; size 0: none */
	struct gt_segment cfi_index;    /* .eh_frame_hdr; size 0: none */
	int fd;                         /* kept open, for names and the unwinder; -1: none */
	struct gt_unwind_table *unwind; /* created by unwind.c when first needed */
};

struct gt_map_history;

/* Any process may map any number of files as code; what lies in further ones has no names. */
enum {
	GT_MODULES_MAX = 4096, /* mappings of code that are looked at in a process */
	GT_IMAGES_MAX = 16384,
	GT_IMAGES_OPEN =
		256, /* files that are kept open: they may be replaced, or their container end */
};

/* The images seen so far. */
struct gt_images {
	struct gt_image **list;
	size_t count, room;
	bool keep_open;                  /* all of them, for the unwinder */
	struct gt_map_history *history;  /* of processes that have ended; NULL: none */
	void (*catch_up)(void *context); /* brings the history up to date; NULL: nothing does */
	void *context;
};

void gt_images_fini(struct gt_images *images);
/* The image of a mapping; NULL when it cannot be read or is not ELF. */
struct gt_image *gt_images_get(struct gt_images *images, const struct gt_mapping *m, uint32_t pid);
/*
 * A path that leads to the image from here, if there is one. For a file that only its processes
 * see, the path goes through /proc of one of them: through `pid` if the one used so far has ended.
 */
const char *gt_image_path(struct gt_image *image, uint32_t pid);
/* True if its path, as recorded, still leads to it. */
bool gt_image_is_reachable(const struct gt_image *image);
/* Address minus ELF address, for the mapping of code in the image's file. */
uint64_t gt_image_bias(const struct gt_image *image, const struct gt_mapping *m);

struct gt_mapped {
	uint64_t start, size, bias;
	struct gt_image *image;
	uint32_t number; /* in the trace */
	bool is_defined; /* in the trace */
	bool gone;
};

/* Memory that was mapped at the last look; adjacent areas of one sort are joined. */
struct gt_area {
	uint64_t start, end;
	bool is_code;
};

enum gt_ground { GT_GROUND_UNKNOWN, GT_GROUND_DATA, GT_GROUND_CODE };

struct gt_modules {
	struct gt_mapped *list;
	size_t count, room;
	uint32_t next_number;
	bool is_stale;         /* something was mapped since the last look */
	struct gt_area *areas; /* by address, including code that is in no file */
	size_t area_count, area_room;
	bool is_gone;   /* the process had ended at the last look */
	uint32_t looks; /* so far */
};

void gt_modules_fini(struct gt_modules *m);
/* Reads what is mapped now. True when a module is no longer where it was. */
bool gt_modules_look(struct gt_modules *m, struct gt_images *images, uint32_t pid);
/* Copies the parent's modules, for a child that may end before the first look. */
void gt_modules_inherit(struct gt_modules *m, const struct gt_modules *parent);
const struct gt_mapped *gt_modules_find(const struct gt_modules *m, uint64_t address);
/* The same; `last` may be where another address of the same stack was found, and is tried first. */
static inline const struct gt_mapped *gt_modules_find_near(const struct gt_modules *m,
							   const struct gt_mapped *last,
							   uint64_t address)
{
	return last && address - last->start < last->size ? last : gt_modules_find(m, address);
}
/* What is at an address. Unknown where nothing was mapped at the last look, but could be now. */
enum gt_ground gt_modules_ground(const struct gt_modules *m, uint64_t address);
/* Forgets modules that are gone; the trace is told, if there is one. */
void gt_modules_forget_gone(struct gt_modules *m, struct gt_writer *w);
/* For gt_writer_options.modules: defines what the process's trace does not define yet. */
void gt_modules_write(struct gt_modules *m, struct gt_writer *w, uint32_t pid);
