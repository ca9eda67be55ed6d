/* SPDX-License-Identifier: MIT */
/* dwarf_name.c - names of functions, mangled ones first, else pieced together from scopes. */
#include "symbol/dwarf_name.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dwarf.h>

#include "base/mem.h"
#include "symbol/demangle.h"
#include "symbol/pool.h"

/* References in a damaged file can lead round in circles. */
#define MAX_REFERENCES 16

bool gt_unit_has_scopes(Dwarf_Die *unit)
{
	switch (dwarf_srclang(unit)) {
	case DW_LANG_C_plus_plus:
	case DW_LANG_C_plus_plus_03:
	case DW_LANG_C_plus_plus_11:
	case DW_LANG_C_plus_plus_14:
	case 0x2a: /* C++17, not yet in every dwarf.h */
	case 0x2b: /* C++20 */
	case 0x3a: /* C++23 */
	case DW_LANG_Rust: return true;
	default: return false;
	}
}

static bool follow(Dwarf_Die *die, unsigned int attribute)
{
	Dwarf_Attribute reference;
	Dwarf_Die target;

	if (!dwarf_attr(die, attribute, &reference) || !dwarf_formref_die(&reference, &target))
		return false;
	*die = target;
	return true;
}

static const char *linkage_name(Dwarf_Die *function)
{
	Dwarf_Attribute attribute;

	if (dwarf_attr_integrate(function, DW_AT_linkage_name, &attribute) ||
	    dwarf_attr_integrate(function, DW_AT_MIPS_linkage_name, &attribute))
		return dwarf_formstring(&attribute);
	return NULL;
}

static const char *scope_name(Dwarf_Die *scope)
{
	const char *name = dwarf_diename(scope);

	switch (dwarf_tag(scope)) {
	case DW_TAG_namespace:
	case DW_TAG_module: return name ? name : "(anonymous namespace)";
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_enumeration_type: return name ? name : "(anonymous class)";
	case DW_TAG_subprogram: return name;
	default: return NULL;
	}
}

/* "outer::inner::name", from the innermost scope to the unit's own entry. */
static const char *scoped_name(struct gt_symbol_pool *pool, Dwarf_Die *function, const char *name)
{
	Dwarf_Die declaration = *function, *scopes = NULL;
	char *text = NULL;
	size_t size;
	FILE *out;
	int count;

	for (int i = 0; i < MAX_REFERENCES; i++)
		if (!follow(&declaration, DW_AT_specification))
			break;
	count = dwarf_getscopes_die(&declaration, &scopes);
	out = gt_memstream(&text, &size);
	for (int i = count - 1; i > 0; i--) {
		const char *scope = scope_name(&scopes[i]);

		if (scope)
			fprintf(out, "%s::", scope);
	}
	fputs(name, out);
	gt_memstream_close(out);
	name = gt_symbol_pool_string(pool, text);
	free(text);
	if (count > 0)
		free(scopes);
	return name;
}

static const char *make_name(struct gt_symbol_pool *pool, Dwarf_Die *function, bool scoped)
{
	const char *name = linkage_name(function);
	char *readable;

	if (name) {
		readable = gt_name_demangle(name);
		name = gt_symbol_pool_string(pool, readable);
		free(readable);
		return name;
	}
	name = dwarf_diename(function);
	if (!name || !scoped)
		return name;
	return scoped_name(pool, function, name);
}

const char *gt_function_name(struct gt_symbol_pool *pool, struct gt_symbol_map *seen,
			     Dwarf_Die *function, bool scoped)
{
	static const char nameless[] = "";
	Dwarf_Die origin = *function;
	const char *name;

	/* all inlined copies share the entry they were made from */
	for (int i = 0; i < MAX_REFERENCES; i++)
		if (!follow(&origin, DW_AT_abstract_origin))
			break;
	name = gt_symbol_map_get(seen, (uintptr_t)origin.addr);
	if (!name) {
		name = make_name(pool, &origin, scoped);
		gt_symbol_map_put(seen, (uintptr_t)origin.addr, (void *)(name ? name : nameless));
	}
	return name && name[0] ? name : NULL;
}
