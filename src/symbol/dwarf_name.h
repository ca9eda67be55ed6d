/* SPDX-License-Identifier: MIT */
/* dwarf_name.h - what a function in DWARF is called. */
#pragma once

#include <stdbool.h>

#include <elfutils/libdw.h>

struct gt_symbol_map;
struct gt_symbol_pool;

/* Whether names in the unit live in namespaces and classes. */
bool gt_unit_has_scopes(Dwarf_Die *unit);

/*
 * The readable name of a subprogram or inlined subroutine, from the pool; NULL when it has
 * none. `seen` remembers names by entry; `scoped` asks for namespaces and classes in front
 * where the compiler left no mangled name.
 */
const char *gt_function_name(struct gt_symbol_pool *pool, struct gt_symbol_map *seen,
			     Dwarf_Die *function, bool scoped);
