/* SPDX-License-Identifier: MIT */
/* unit.c - DWARF units and functions: names, and an index (.debug_aranges may be missing). */
#include "symbol/unit.h"

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <dwarf.h>

#include "base/containers.h"
#include "base/mem.h"
#include "base/text.h"
#include "symbol/demangle.h"

/* In a damaged file, references can be circular. */
#define MAX_REFERENCES 16

/* True when names in the unit live in namespaces and classes. */
static bool has_scopes(Dwarf_Die *unit)
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
	default: return NULL;
	}
}

static const char *make_name(struct gt_intern *strings, Dwarf_Die *function, bool scoped,
			     int depth);

/*
 * "outer::inner::name", from the unit's own entry to the innermost scope. A function among the
 * scopes brings its own: its class may be declared elsewhere in the unit.
 */
static const char *scoped_name(struct gt_intern *strings, Dwarf_Die *function, const char *name,
			       int depth)
{
	const char *around = NULL;
	Dwarf_Die declaration = *function, *scopes = NULL;
	char *text = NULL;
	size_t size;
	FILE *out;
	int count, first;

	for (int i = 0; i < MAX_REFERENCES; i++)
		if (!follow(&declaration, DW_AT_specification))
			break;
	count = dwarf_getscopes_die(&declaration, &scopes);
	for (first = 1; first < count && !around; first++)
		if (dwarf_tag(&scopes[first]) == DW_TAG_subprogram)
			around = make_name(strings, &scopes[first], true, depth + 1);
	out = gt_memstream(&text, &size);
	if (around)
		fprintf(out, "%s::", around);
	for (int i = first - 1 - (around != NULL); i > 0; i--) {
		const char *scope = scope_name(&scopes[i]);

		if (scope)
			fprintf(out, "%s::", scope);
	}
	fputs(name, out);
	gt_memstream_close(out);
	name = gt_intern_string(strings, text);
	free(text);
	if (count > 0)
		free(scopes);
	return name;
}

const char *gt_name_intern(struct gt_intern *strings, const char *mangled)
{
	char *readable = gt_name_demangle(mangled);
	const char *name = gt_intern_string(strings, readable);

	free(readable);
	return name;
}

static const char *make_name(struct gt_intern *strings, Dwarf_Die *function, bool scoped, int depth)
{
	const char *name = linkage_name(function);

	if (name)
		return gt_name_intern(strings, name);
	name = dwarf_diename(function);
	return name && scoped && depth < MAX_REFERENCES ?
		       scoped_name(strings, function, name, depth) :
		       name;
}

const char *gt_function_name(struct gt_intern *strings, struct gt_map *seen, Dwarf_Die *function,
			     bool scoped)
{
	Dwarf_Die origin = *function;
	const char *name;
	void **known;

	/* all inlined copies share the entry they were made from */
	for (int i = 0; i < MAX_REFERENCES; i++)
		if (!follow(&origin, DW_AT_abstract_origin))
			break;
	known = gt_map_at(seen, (uintptr_t)origin.addr);
	if (!*known) {
		name = make_name(strings, &origin, scoped, 0);
		*known = (void *)(name ? name : "");
	}
	name = *known;
	return *name ? name : NULL;
}

/* Entries nest much less deeply; a damaged file must not exhaust the stack. */
#define MAX_DEPTH 256

/* A file that has more ranges than bytes, and these, repeats them. */
#define SPANS_MORE (64 * 1024)

static void add_ranges(struct gt_units *units, struct gt_spans *spans, Dwarf_Die *die, size_t index)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;

	while (units->spans_left && (at = dwarf_ranges(die, at, &base, &start, &end)) > 0) {
		units->spans_left--;
		/* linkers give dropped functions the address 0 */
		if (start)
			gt_spans_add(spans, &(struct gt_span){
						    .start = start,
						    .end = end,
						    .index = index,
					    });
	}
}

static const char *get_string(Dwarf_Die *die, unsigned int attribute)
{
	Dwarf_Attribute value;

	return dwarf_attr(die, attribute, &value) ? dwarf_formstring(&value) : NULL;
}

static void add_unit(struct gt_units *units, Dwarf_Die *die)
{
	struct gt_unit *unit;

	GT_GROW(units->list, units->count, units->capacity);
	unit = &units->list[units->count];
	*unit = (struct gt_unit){ .die = *die, .code = *die };
	unit->folder = get_string(die, DW_AT_comp_dir);
	/* reproducible builds leave it empty */
	if (unit->folder && !*unit->folder)
		unit->folder = NULL;
	add_ranges(units, &units->spans, die, units->count);
	if (dwarf_hasattr(die, DW_AT_stmt_list))
		units->has_lines = true;
	units->count++;
}

void gt_units_load(struct gt_units *units, Dwarf *dwarf, const char *path)
{
	Dwarf_CU *cu = NULL;
	struct stat status;
	Dwarf_Die die;
	uint8_t type;

	units->path = path;
	units->bytes = stat(path, &status) ? 0 : (uint64_t)status.st_size;
	units->spans_left = SPANS_MORE + units->bytes;
	while (dwarf_get_units(dwarf, cu, &cu, NULL, &type, &die, NULL) == 0)
		if (type == DW_UT_compile || type == DW_UT_skeleton)
			add_unit(units, &die);
	gt_spans_sort(&units->spans);
}

static bool is_regular_or_absent(const char *path, bool *there)
{
	struct stat status;

	if (stat(path, &status) < 0)
		return true;
	*there = true;
	return S_ISREG(status.st_mode);
}

/*
 * True when libdw may open the unit's .dwo file. It looks beside the debug file and where the
 * compiler ran and, from elfutils 0.191 on, into a .dwp file; it would block on a FIFO.
 */
static bool may_open_split(const struct gt_units *units, struct gt_unit *unit)
{
	const char *name = get_string(&unit->die, DW_AT_dwo_name);
	int length = (int)gt_path_folder_size(units->path);
	char path[PATH_MAX];
	bool there = false;

	if (!name)
		name = get_string(&unit->die, DW_AT_GNU_dwo_name);
	if (!name)
		return false;
	snprintf(path, sizeof(path), "%s.dwp", units->path);
	if (!is_regular_or_absent(path, &there))
		return false;
	if (name[0] == '/')
		return is_regular_or_absent(name, &there) && there;
	snprintf(path, sizeof(path), "%.*s%s", length, units->path, name);
	if (!is_regular_or_absent(path, &there))
		return false;
	snprintf(path, sizeof(path), "%s/%s", unit->folder ? unit->folder : ".", name);
	return is_regular_or_absent(path, &there) && there;
}

static void open_split(struct gt_units *units, struct gt_unit *unit)
{
	Dwarf_Die code;
	uint8_t type;

	if (dwarf_cu_info(unit->die.cu, NULL, &type, NULL, NULL, NULL, NULL, NULL) != 0 ||
	    type != DW_UT_skeleton)
		return;
	if (may_open_split(units, unit) &&
	    dwarf_cu_info(unit->die.cu, NULL, NULL, NULL, &code, NULL, NULL, NULL) == 0 &&
	    dwarf_tag(&code) == DW_TAG_compile_unit)
		unit->code = code;
	else
		units->lacks_split = true;
}

/* Advances `die` to its next sibling, if any. In a damaged file siblings can lead back. */
static bool step(Dwarf_Die *die)
{
	const void *before = die->addr;

	return dwarf_siblingof(die, die) == 0 && die->addr > before;
}

static bool has_place(Dwarf_Die *die)
{
	return dwarf_hasattr(die, DW_AT_low_pc) || dwarf_hasattr(die, DW_AT_ranges);
}

/*
 * Entries are stored in the order of the walk. In a damaged file, a sibling may lie among the
 * children of the entry before it: it would be walked twice, and its own children four times.
 */
static bool is_new(Dwarf_Die *die, const void **last)
{
	if ((const char *)die->addr <= (const char *)*last)
		return false;
	*last = die->addr;
	return true;
}

static void add_function(struct gt_units *units, struct gt_unit *unit, Dwarf_Die *die)
{
	if (!has_place(die))
		return;
	GT_GROW(unit->functions, unit->function_count, unit->function_capacity);
	unit->functions[unit->function_count] = *die;
	add_ranges(units, &unit->spans, die, unit->function_count);
	unit->function_count++;
}

/* Collects the functions below `parent`; some languages nest them in scopes and functions. */
static void index_functions(struct gt_units *units, struct gt_unit *unit, Dwarf_Die *parent,
			    int depth, const void **last)
{
	Dwarf_Die die;

	if (depth == MAX_DEPTH || dwarf_child(parent, &die) != 0)
		return;
	do {
		if (!is_new(&die, last))
			continue;
		switch (dwarf_tag(&die)) {
		case DW_TAG_subprogram:
			add_function(units, unit, &die);
			/* fall through */
		case DW_TAG_namespace:
		case DW_TAG_module:
		case DW_TAG_class_type:
		case DW_TAG_structure_type:
		case DW_TAG_union_type:
		case DW_TAG_enumeration_type:
		case DW_TAG_lexical_block: index_functions(units, unit, &die, depth + 1, last);
		}
	} while (step(&die));
}

struct gt_unit *gt_units_find(struct gt_units *units, Dwarf_Addr pc)
{
	const struct gt_span *span = gt_spans_find(&units->spans, pc);
	const void *last = NULL;
	struct gt_unit *unit;

	if (!span)
		return NULL;
	unit = &units->list[span->index];
	if (!unit->indexed) {
		open_split(units, unit);
		unit->scoped = has_scopes(&unit->code);
		index_functions(units, unit, &unit->code, 0, &last);
		gt_spans_sort(&unit->spans);
		unit->indexed = true;
	}
	return unit;
}

/* Appends what was inlined at `pc` below `parent`, outermost first. */
static size_t collect_inlined(Dwarf_Die *parent, Dwarf_Addr pc, Dwarf_Die *chain, size_t room,
			      int depth, const void **last)
{
	Dwarf_Die die;

	if (!room || depth == MAX_DEPTH || dwarf_child(parent, &die) != 0)
		return 0;
	do {
		int tag = dwarf_tag(&die);
		size_t count;

		if (!is_new(&die, last))
			continue;
		if (tag == DW_TAG_inlined_subroutine && dwarf_haspc(&die, pc) > 0) {
			chain[0] = die;
			return 1 + collect_inlined(&die, pc, chain + 1, room - 1, depth + 1, last);
		}
		if (tag != DW_TAG_lexical_block && tag != DW_TAG_try_block &&
		    tag != DW_TAG_catch_block)
			continue;
		if (has_place(&die) && dwarf_haspc(&die, pc) <= 0)
			continue;
		count = collect_inlined(&die, pc, chain, room, depth + 1, last);
		if (count)
			return count;
	} while (step(&die));
	return 0;
}

size_t gt_unit_functions(struct gt_unit *unit, Dwarf_Addr pc, Dwarf_Die *chain, size_t room)
{
	const struct gt_span *span = gt_spans_find(&unit->spans, pc);
	const void *last = NULL;
	size_t count;

	if (!span || !room)
		return 0;
	chain[0] = unit->functions[span->index];
	count = 1 + collect_inlined(&chain[0], pc, chain + 1, room - 1, 0, &last);
	for (size_t i = 0; i < count / 2; i++) {
		Dwarf_Die swap = chain[i];

		chain[i] = chain[count - 1 - i];
		chain[count - 1 - i] = swap;
	}
	return count;
}

void gt_units_fini(struct gt_units *units)
{
	for (size_t i = 0; i < units->count; i++) {
		gt_spans_fini(&units->list[i].spans);
		free(units->list[i].functions);
	}
	gt_spans_fini(&units->spans);
	free(units->list);
	memset(units, 0, sizeof(*units));
}
