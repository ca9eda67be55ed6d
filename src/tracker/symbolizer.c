/* SPDX-License-Identifier: MIT */
/* symbolizer.c - function, file and line of addresses in this process, from the gputrack tool. */
#include "tracker/symbolizer.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/guest_file.h"
#include "guest/loaded_modules.h"
#include "tracker/tool_child.h"

struct address {
	size_t first, count; /* symbols */
};

struct gt_symbol_set {
	struct address *addresses;
	struct gt_symbol *symbols;
	size_t symbol_count, symbol_room;
};

/* What the dynamic linker knows: module and offset, and often a name. */
static struct gt_symbol plain_symbol(uint64_t address)
{
	struct gt_symbol s = { .offset = address };
	struct link_map *map = NULL;
	char path[PATH_MAX];
	Dl_info info;

	if (!dladdr1((void *)(uintptr_t)(address - 1), &info, (void **)&map, RTLD_DL_LINKMAP))
		return s;
	s.offset = address - (map ? map->l_addr : (uintptr_t)info.dli_fbase);
	/* the program's name may be relative to a directory that is no longer the current one */
	if (map && !map->l_name[0]) {
		gt_modules_program(path);
		s.module = strdup(path);
	} else {
		s.module = info.dli_fname ? realpath(info.dli_fname, NULL) : NULL;
	}
	s.function = info.dli_sname ? strdup(info.dli_sname) : NULL;
	return s;
}

static void free_symbol(struct gt_symbol *s)
{
	free(s->function);
	free(s->file);
	free(s->module);
}

static bool add_symbol(struct gt_symbol_set *set, struct gt_symbol symbol)
{
	if (set->symbol_count == set->symbol_room) {
		size_t room = set->symbol_room ? set->symbol_room * 2 : 64;
		struct gt_symbol *more = realloc(set->symbols, room * sizeof *more);

		if (!more)
			return false;
		set->symbols = more;
		set->symbol_room = room;
	}
	set->symbols[set->symbol_count++] = symbol;
	return true;
}

static char *copy_field(const char *text)
{
	return *text ? strdup(text) : NULL;
}

/* One answer: lines "function TAB file TAB line TAB inlined", ended by an empty line. */
static bool read_answer(struct gt_symbol_set *set, FILE *from, const struct gt_symbol *plain)
{
	size_t before = set->symbol_count;
	char *line = NULL;
	size_t room = 0;
	bool ended = false;

	while (!ended && getline(&line, &room, from) > 0) {
		char *at = line, *function, *file, *number;
		struct gt_symbol s = { .offset = plain->offset };

		line[strcspn(line, "\n")] = '\0';
		ended = !*line;
		function = strsep(&at, "\t");
		file = strsep(&at, "\t");
		number = strsep(&at, "\t");
		if (ended || !number)
			continue;
		s.function = copy_field(function);
		s.file = copy_field(file);
		s.line = (unsigned)strtoul(number, NULL, 10);
		s.inlined = at && *at == '1';
		s.module = plain->module ? strdup(plain->module) : NULL;
		if (!add_symbol(set, s)) {
			free_symbol(&s);
			break;
		}
	}
	free(line);
	/* the module's file may be gone while the process still knows the name */
	if (set->symbol_count == before + 1 && !set->symbols[before].function && plain->function)
		set->symbols[before].function = strdup(plain->function);
	return set->symbol_count > before;
}

/* False when the tool is gone, whose SIGPIPE must not end the program. */
static bool send_query(FILE *to, const struct gt_symbol *plain)
{
	struct gt_held_signals held;
	bool asked;

	gt_signals_hold(&held);
	asked = fprintf(to, "%llx\t%s\n", (unsigned long long)plain->offset - 1, plain->module) >
			0 &&
		!fflush(to);
	gt_signals_release(&held);
	return asked;
}

struct gt_symbol_set *gt_symbols_resolve(const uint64_t *addresses, size_t count)
{
	struct gt_symbol_set *set = calloc(1, sizeof *set);
	struct gt_tool_child tool;
	bool asking;

	if (!set || !(set->addresses = calloc(count ? count : 1, sizeof *set->addresses))) {
		free(set);
		return NULL;
	}
	asking = gt_tool_start(&tool, &(struct gt_tool_call){ .argv = { "symbolize" } });
	for (size_t i = 0; i < count; i++) {
		struct gt_symbol plain = plain_symbol(addresses[i]);
		bool answered;

		set->addresses[i].first = set->symbol_count;
		/* query and answer take turns, so that neither pipe can fill up */
		asking = asking && (!plain.module || send_query(tool.to, &plain));
		answered = asking && plain.module && read_answer(set, tool.from, &plain);
		asking = asking && (answered || !plain.module);
		if (answered || !add_symbol(set, plain))
			free_symbol(&plain);
		set->addresses[i].count = set->symbol_count - set->addresses[i].first;
	}
	gt_tool_stop(&tool);
	return set;
}

size_t gt_symbols_get(const struct gt_symbol_set *set, size_t index,
		      const struct gt_symbol **symbols)
{
	*symbols = set->symbols + set->addresses[index].first;
	return set->addresses[index].count;
}

void gt_symbols_free(struct gt_symbol_set *set)
{
	if (!set)
		return;
	for (size_t i = 0; i < set->symbol_count; i++)
		free_symbol(&set->symbols[i]);
	free(set->symbols);
	free(set->addresses);
	free(set);
}
