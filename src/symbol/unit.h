/* SPDX-License-Identifier: MIT */
/* unit.h - a module's compilation units: functions, their names, and what was inlined where. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <elfutils/libdw.h>

#include "symbol/span.h"

struct gt_unit {
	Dwarf_Die die;
	Dwarf_Die code;     /* holds the functions: `die` itself or its part in a .dwo file */
	const char *folder; /* where the compiler ran; NULL when unknown */
	bool scoped;        /* a language with namespaces */
	bool indexed;
	Dwarf_Die *functions;
	size_t function_count, function_capacity;
	struct gt_spans spans; /* of the functions */
};

/* Starts zeroed. */
struct gt_units {
	const char *path;
	struct gt_unit *list;
	size_t count, capacity;
	struct gt_spans spans; /* of the units */
	uint64_t spans_left;   /* how many more are accepted, of units and functions together */
	uint64_t bytes;        /* of the file */
	bool has_lines;
	bool lacks_split; /* a .dwo file with functions that were asked for is not there */
};

/* `path` is the file with the debug information; it and `dwarf` must outlive the units. */
void gt_units_load(struct gt_units *units, Dwarf *dwarf, const char *path);
/* The unit with code at `pc`, ready for gt_unit_functions; NULL when there is none. */
struct gt_unit *gt_units_find(struct gt_units *units, Dwarf_Addr pc);
/*
 * The function at `pc` and those inlined into it there, innermost first; beyond `room` the
 * innermost are left out. 0 when no function is known.
 */
size_t gt_unit_functions(struct gt_unit *unit, Dwarf_Addr pc, Dwarf_Die *chain, size_t room);
void gt_units_fini(struct gt_units *units);

struct gt_intern;
struct gt_map;

/* The demangled name, interned. */
const char *gt_name_intern(struct gt_intern *strings, const char *mangled);

/*
 * The demangled name of a subprogram or inlined subroutine, interned; NULL when it has none. `seen`
 * remembers names by entry. `scoped`: without a mangled name, namespaces and classes are prefixed.
 */
const char *gt_function_name(struct gt_intern *strings, struct gt_map *seen, Dwarf_Die *function,
			     bool scoped);
