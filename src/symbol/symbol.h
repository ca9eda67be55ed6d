/* SPDX-License-Identifier: MIT */
/* symbol.h - turns module-relative addresses into functions, files and lines. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gt_symbolizer;

struct gt_symbol_options {
	/* May ask the servers in DEBUGINFOD_URLS; without it nothing leaves the machine. */
	bool debuginfod;
	const char *cache; /* folder in which to remember what these servers lack; NULL: none */
	/*
	 * NULL-terminated folders, or NULL. A moved binary or debug file is looked for as
	 * DIR/full/path, DIR/basename and DIR/.build-id/xx/yyyy[.debug] before anywhere else, and
	 * anywhere below DIR by its build id in the end.
	 */
	const char *const *search;
	/* for the symbolizer's own use */
	struct gt_build_ids *build_ids;
	struct gt_debug_servers *servers;
};

/* A module (executable or shared object) as recorded. */
struct gt_symbol_module {
	const char *path;
	const uint8_t *build_id;
	size_t build_id_size; /* 0: none */
	/* Of the file when recorded; 0: unknown. Compared only if there is no build id. */
	uint64_t size_bytes;
	int64_t mtime_ns;
};

enum gt_symbol_state {
	GT_SYMBOL_FULL,    /* lines known */
	GT_SYMBOL_NAMES,   /* symbol table only */
	GT_SYMBOL_NONE,    /* stripped: module and offset */
	GT_SYMBOL_MISSING, /* the file does not exist, or is not a regular file */
	GT_SYMBOL_CHANGED, /* the file is not the recorded one, and is not used for names */
	GT_SYMBOL_BAD,     /* not an ELF program or library, or damaged */
};

/* Strings may hold any bytes; whoever prints them escapes them. */
struct gt_frame {
	const char *function; /* demangled, without parameters; NULL when unknown */
	const char *file;     /* as the compiler saw it, made absolute; NULL when unknown */
	uint32_t line;        /* 0 when unknown */
	const char *module;   /* path as recorded */
	uint64_t offset;      /* ELF virtual address within the module */
	bool inlined;         /* this function was inlined into the next frame */
};

/* `options` is copied and may be NULL. Not safe for use from several threads at once. */
int gt_symbolizer_new(struct gt_symbolizer **out, const struct gt_symbol_options *options);
void gt_symbolizer_free(struct gt_symbolizer *s);

/*
 * The index of a module, equal for equal paths and build ids; or -errno. Opens nothing: the file is
 * searched for when the module is first used.
 */
int gt_symbolizer_module(struct gt_symbolizer *s, const struct gt_symbol_module *module);

/*
 * Frames at `address` (an ELF virtual address), innermost first, including inlined ones; at least
 * one. They live as long as the symbolizer. Callers pass a return address minus one.
 */
size_t gt_symbolizer_resolve(struct gt_symbolizer *s, int module, uint64_t address,
			     const struct gt_frame **frames);

/* How well the module can be resolved; opens it at the first use. */
enum gt_symbol_state gt_symbolizer_state(struct gt_symbolizer *s, int module);

/* The size of the file with its debug information; 0: there is none. */
uint64_t gt_symbolizer_debug_bytes(struct gt_symbolizer *s, int module);

/*
 * True when no part of the debug information that was asked for so far lies in another file (split,
 * shared) that was not found.
 */
bool gt_symbolizer_is_whole(struct gt_symbolizer *s, int module);

/* The module's path as recorded. */
const char *gt_symbolizer_path(const struct gt_symbolizer *s, int module);
