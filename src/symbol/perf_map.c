/* SPDX-License-Identifier: MIT */
/* perf_map.c - names of code that was compiled while the program ran. */
#include "symbol/perf_map.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/containers.h"
#include "base/mem.h"
#include "base/text.h"

/* Whoever runs the program writes the file, so nothing in it is believed to be small. */
enum { NAME_SIZE_MAX = 4096, LINE_COST = 64 };

struct gt_perf_map {
	struct gt_ranges code; /* each piece with the number of its name */
	struct gt_intern *names;
	struct gt_intern *texts;
};

/* Never a link: in /tmp it may lead to a file of somebody else. */
static FILE *open_map(const char *path, uid_t owner, int64_t since_ns)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY);
	FILE *in = NULL;
	struct stat st;

	if (fd < 0)
		return NULL;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_uid == owner &&
	    st.st_size <= GT_PERF_MAPS_ROOM &&
	    st.st_mtim.tv_sec * INT64_C(1000000000) + st.st_mtim.tv_nsec >= since_ns)
		in = fdopen(fd, "r");
	if (!in)
		close(fd);
	return in;
}

/* "7f3a10c0 1a0 name of the function"; hexadecimal, with or without 0x. */
static void add_line(struct gt_perf_map *map, char *line)
{
	char *at;
	uint64_t start = strtoull(line, &at, 16), size;

	if (at == line || !isblank((unsigned char)*at))
		return;
	line = at;
	size = strtoull(line, &at, 16);
	if (at == line || !isblank((unsigned char)*at) || !size || start + size < start)
		return;
	while (isblank((unsigned char)*at))
		at++;
	at[strcspn(at, "\r\n")] = '\0';
	at[strnlen(at, NAME_SIZE_MAX)] = '\0';
	if (*at)
		gt_ranges_put(&map->code, start, size, gt_intern(map->names, at, strlen(at) + 1));
}

struct gt_perf_map *gt_perf_map_parse(FILE *in, size_t *room)
{
	struct gt_perf_map *map = gt_alloc(sizeof *map);
	char line[NAME_SIZE_MAX + 64];
	bool goes_on = false;

	map->names = gt_intern_new();
	map->texts = gt_intern_new();
	/* the file may grow while it is read, without an end of its line */
	while (*room && fgets(line, sizeof line, in)) {
		bool is_cut = !strchr(line, '\n');
		size_t cost = is_cut ? sizeof line : strlen(line) + LINE_COST;

		if (!goes_on)
			add_line(map, line);
		goes_on = is_cut;
		*room -= cost < *room ? cost : *room;
	}
	return map;
}

struct gt_perf_map *gt_perf_map_read(const char *path, uid_t owner, int64_t since_ns, size_t *room)
{
	FILE *in = open_map(path, owner, since_ns);
	struct gt_perf_map *map = in ? gt_perf_map_parse(in, room) : NULL;

	if (in)
		fclose(in);
	return map;
}

void gt_perf_map_free(struct gt_perf_map *map)
{
	if (!map)
		return;
	gt_ranges_fini(&map->code);
	gt_intern_free(map->names);
	gt_intern_free(map->texts);
	free(map);
}

/* The number behind the colon at `colon`, if nothing else follows; 0: there is none. */
static uint32_t number_at(const char *colon)
{
	size_t digits = strspn(colon + 1, "0123456789");
	unsigned long number = strtoul(colon + 1, NULL, 10);

	return digits && digits < 10 && !colon[1 + digits] ? (uint32_t)number : 0;
}

/* Takes ":12" or ":12:5" from the end of a path; the line, or 0. */
static uint32_t take_line(char *path)
{
	char *colon = strrchr(path, ':');
	uint32_t line = colon ? number_at(colon) : 0, before;

	if (!line)
		return 0;
	*colon = '\0';
	colon = strrchr(path, ':');
	before = colon ? number_at(colon) : 0;
	if (!before)
		return line;
	*colon = '\0';
	return before;
}

/* V8's "JS:*step /app/main.js:12:5": the kind of code, how well it is compiled, name and place. */
static bool read_v8(char *text, struct gt_perf_name *name)
{
	static const char *const kinds[] = {
		"JS:",      "LazyCompile:", "Function:", "Script:",          "Eval:",
		"Builtin:", "Handler:",     "Stub:",     "BytecodeHandler:", "RegExp:"
	};
	char *place;

	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		if (!gt_text_begins(text, kinds[i]))
			continue;
		text += strlen(kinds[i]);
		text += *text && strchr("*~^+", *text);
		place = strrchr(text, ' ');
		if (place) {
			*place++ = '\0';
			name->line = take_line(place);
			place += gt_text_begins(place, "file://") ? strlen("file://") : 0;
			name->file = *place ? place : NULL;
		}
		name->function = *text ? text : "(anonymous)";
		return true;
	}
	return false;
}

/* CPython's "py::step:/app/main.py". */
static bool read_python(char *text, struct gt_perf_name *name)
{
	char *colon;

	if (!gt_text_begins(text, "py::"))
		return false;
	text += strlen("py::");
	colon = strchr(text, ':');
	if (!colon || colon == text)
		return false;
	*colon = '\0';
	name->function = text;
	name->file = colon[1] ? colon + 1 : NULL;
	return true;
}

bool gt_perf_map_find(const struct gt_perf_map *map, uint64_t address, struct gt_perf_name *name)
{
	const char *text;
	uint32_t number;
	size_t size;
	char *copy;

	if (!gt_ranges_find(&map->code, address, &number))
		return false;
	text = gt_intern_get(map->names, number, &size);
	copy = gt_strdup(text);
	*name = (struct gt_perf_name){ .function = text };
	if (read_v8(copy, name) || read_python(copy, name)) {
		name->function = gt_intern_string(map->texts, name->function);
		if (name->file)
			name->file = gt_intern_string(map->texts, name->file);
	}
	free(copy);
	return true;
}
