/* SPDX-License-Identifier: MIT */
/* dwarf_frames.c - frames at an address of one ELF module, read with libdwfl. */
#include "symbol/dwarf_frames.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <dwarf.h>
#include <elfutils/libdwelf.h>
#include <elfutils/libdwfl.h>

#include "base/containers.h"
#include "base/mem.h"
#include "base/text.h"
#include "symbol/elf_file.h"
#include "symbol/locate.h"
#include "symbol/unit.h"

struct gt_dwarf {
	const struct gt_symbol_module *module;
	const struct gt_symbol_options *options;
	struct gt_intern *strings;
	Dwfl *session;
	Dwfl_Module *file;
	struct gt_elf_symbols symbols;
	bool has_symbols;           /* they are loaded */
	struct gt_map symbol_names; /* demangled, by the address of the mangled name */
	struct gt_map entry_names;  /* demangled, by debugging entry */
	Dwarf_Addr bias;            /* of the debug information */
	struct gt_units units;
	bool lacks_alternate; /* dwz moved a part of it to a file that is not there */
};

/* Finds the file to which dwz moved the debug information that several files share. */
static int find_alternate(struct gt_symbol_file *found, const struct gt_dwarf *d,
			  struct gt_debug_wanted *wanted)
{
	Dwarf_Addr bias;
	Dwarf *dwarf = dwfl_module_getdwarf(d->file, &bias);
	const void *id = NULL;
	ssize_t size = dwarf ? dwelf_dwarf_gnu_debugaltlink(dwarf, &wanted->link, &id) : 0;

	if (size <= 0)
		return -ENOENT;
	wanted->build_id = id;
	wanted->build_id_size = size;
	return gt_alternate_locate(found, wanted, d->options);
}

/*
 * Our own search, because libdwfl's would open anything it finds and asks the servers in
 * DEBUGINFOD_URLS whether the user allowed it or not.
 */
static int find_debuginfo(Dwfl_Module *file, void **userdata, const char *name, Dwarf_Addr base,
			  const char *main_path, const char *link, GElf_Word checksum,
			  char **debug_path)
{
	struct gt_dwarf *d = *userdata;
	struct gt_debug_wanted wanted = {
		.link = link,
		.checksum = checksum,
		.main_path = main_path ? main_path : d->module->path,
		.recorded_path = d->module->path,
	};
	struct gt_symbol_file found;
	const unsigned char *id;
	GElf_Addr address;
	GElf_Word ignored;
	Elf *elf = dwfl_module_getelf(file, &address);
	bool is_alternate = elf && link != dwelf_elf_gnu_debuglink(elf, &ignored);
	int size, rc;

	(void)name, (void)base;
	/* libdwfl also calls us with a link from .gnu_debugaltlink */
	if (is_alternate) {
		rc = find_alternate(&found, d, &wanted);
		d->lacks_alternate = rc != 0;
	} else {
		size = dwfl_module_build_id(file, &id, &address);
		if (size > 0) {
			wanted.build_id = id;
			wanted.build_id_size = size;
		}
		rc = gt_debug_locate(&found, &wanted, d->options);
	}
	if (!rc) {
		*debug_path = strdup(found.path);
		return found.fd;
	}
	/* tells libdwfl that there is none, rather than that it could not be read */
	errno = 0;
	return -1;
}

static int find_nothing(Dwfl_Module *file, void **userdata, const char *name, Dwarf_Addr base,
			char **path, Elf **elf)
{
	(void)file, (void)userdata, (void)name, (void)base, (void)path, (void)elf;
	return -1;
}

static int report(struct gt_dwarf *d, struct gt_symbol_file *file)
{
	static const Dwfl_Callbacks callbacks = {
		.find_elf = find_nothing,
		.find_debuginfo = find_debuginfo,
		.section_address = dwfl_offline_section_address,
	};
	void **userdata;

	d->session = dwfl_begin(&callbacks);
	if (!d->session)
		goto close_file;
	dwfl_report_begin(d->session);
	/* loaded at 0: we look up ELF virtual addresses */
	d->file = dwfl_report_elf(d->session, d->module->path, file->path, file->fd, 0, true);
	if (!d->file)
		goto close_file;
	/* an object file has no addresses, and cannot have been running */
	if (dwfl_report_end(d->session, NULL, NULL) != 0 || dwfl_module_relocations(d->file) > 1)
		return -ENOEXEC;
	dwfl_module_info(d->file, &userdata, NULL, NULL, NULL, NULL, NULL, NULL);
	*userdata = d;
	return 0;

close_file:
	close(file->fd);
	return -ENOEXEC;
}

static void load_symbols(struct gt_dwarf *d)
{
	if (!d->has_symbols)
		gt_elf_symbols_load(&d->symbols, d->file);
	d->has_symbols = true;
}

int gt_dwarf_open(struct gt_dwarf **out, const struct gt_symbol_module *module,
		  const struct gt_symbol_options *options, struct gt_intern *strings)
{
	struct gt_symbol_file file;
	const char *debug_path = NULL;
	struct gt_dwarf *d;
	Dwarf *dwarf;
	int rc;

	rc = gt_module_locate(&file, module, options);
	if (rc)
		return rc;
	d = gt_alloc(sizeof(*d));
	*d = (struct gt_dwarf){ .module = module, .options = options, .strings = strings };
	rc = report(d, &file);
	if (rc) {
		gt_dwarf_close(d);
		return rc;
	}
	dwarf = dwfl_module_getdwarf(d->file, &d->bias);
	if (dwarf) {
		dwfl_module_info(d->file, NULL, NULL, NULL, NULL, NULL, NULL, &debug_path);
		gt_units_load(&d->units, dwarf,
			      gt_intern_string(strings, debug_path ? debug_path : file.path));
	}
	/* large, and seldom needed where there are lines */
	if (!d->units.has_lines)
		load_symbols(d);
	*out = d;
	return 0;
}

void gt_dwarf_close(struct gt_dwarf *d)
{
	if (!d)
		return;
	gt_units_fini(&d->units);
	gt_elf_symbols_fini(&d->symbols);
	gt_map_fini(&d->symbol_names);
	gt_map_fini(&d->entry_names);
	dwfl_end(d->session);
	free(d);
}

enum gt_symbol_state gt_dwarf_state(const struct gt_dwarf *d)
{
	if (d->units.has_lines)
		return GT_SYMBOL_FULL;
	return d->symbols.count || d->units.count ? GT_SYMBOL_NAMES : GT_SYMBOL_NONE;
}

uint64_t gt_dwarf_bytes(const struct gt_dwarf *d)
{
	return d->units.bytes;
}

bool gt_dwarf_is_whole(const struct gt_dwarf *d)
{
	return !d->lacks_alternate && !d->units.lacks_split;
}

static const char *symbol_name(struct gt_dwarf *d, uint64_t address)
{
	const char *mangled;
	void **name;

	load_symbols(d);
	mangled = gt_elf_symbols_find(&d->symbols, address);
	name = mangled ? gt_map_at(&d->symbol_names, (uintptr_t)mangled) : NULL;

	if (name && !*name)
		*name = (void *)gt_name_intern(d->strings, mangled);
	return name ? *name : NULL;
}

/* The file's path, absolute and without the "../" of a build folder. */
static const char *tidy(struct gt_dwarf *d, const struct gt_unit *unit, const char *file)
{
	char path[2 * PATH_MAX];

	if (!file || !file[0])
		return NULL;
	if ((file[0] == '/' || !unit->folder) && !strstr(file, "./"))
		return file;
	if (file[0] == '/' || !unit->folder)
		snprintf(path, sizeof(path), "%s", file);
	else
		snprintf(path, sizeof(path), "%s/%s", unit->folder, file);
	gt_path_normalize(path);
	return gt_intern_string(d->strings, path);
}

/* The source line of the instruction itself. */
static void set_line(struct gt_frame *frame, struct gt_dwarf *d, struct gt_unit *unit,
		     Dwarf_Addr pc)
{
	Dwarf_Line *line = dwarf_getsrc_die(&unit->die, pc);
	int number;

	if (!line)
		return;
	frame->file = tidy(d, unit, dwarf_linesrc(line, NULL, NULL));
	if (frame->file && dwarf_lineno(line, &number) == 0 && number > 0)
		frame->line = number;
}

static bool get_number(Dwarf_Word *number, Dwarf_Die *die, unsigned int attribute)
{
	Dwarf_Attribute value;

	return dwarf_attr(die, attribute, &value) && dwarf_formudata(&value, number) == 0;
}

/* The source line of the call that inlining replaced with `callee`. */
static void set_call(struct gt_frame *frame, struct gt_dwarf *d, struct gt_unit *unit,
		     Dwarf_Die *callee)
{
	Dwarf_Word file, line;
	Dwarf_Files *files;
	size_t count;

	if (get_number(&file, callee, DW_AT_call_file) &&
	    dwarf_getsrcfiles(&unit->code, &files, &count) == 0 && file < count)
		frame->file = tidy(d, unit, dwarf_filesrc(files, file, NULL, NULL));
	if (frame->file && get_number(&line, callee, DW_AT_call_line) && line <= UINT32_MAX)
		frame->line = line;
}

size_t gt_dwarf_frames(struct gt_dwarf *d, uint64_t address, struct gt_frame *frames)
{
	Dwarf_Die chain[GT_DWARF_MAX_FRAMES];
	Dwarf_Addr pc = address - d->bias;
	struct gt_unit *unit = gt_units_find(&d->units, pc);
	size_t count = unit ? gt_unit_functions(unit, pc, chain, GT_DWARF_MAX_FRAMES) : 0;

	frames[0] = (struct gt_frame){ .function = NULL };
	if (unit)
		set_line(&frames[0], d, unit, pc);
	if (!count) {
		frames[0].function = symbol_name(d, address);
		return frames[0].function || frames[0].file;
	}
	for (size_t i = 0; i < count; i++) {
		frames[i].function =
			gt_function_name(d->strings, &d->entry_names, &chain[i], unit->scoped);
		frames[i].inlined = i + 1 < count;
		if (!frames[i].inlined)
			break;
		frames[i + 1] = (struct gt_frame){ .function = NULL };
		set_call(&frames[i + 1], d, unit, &chain[i]);
	}
	if (!frames[count - 1].function)
		frames[count - 1].function = symbol_name(d, address);
	return count;
}
