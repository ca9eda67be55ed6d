/* SPDX-License-Identifier: MIT */
/*
 * make_places.c - writes a recording whose stacks are given in words, on standard input.
 *
 * Usage: make_places NAME.gt PROGRAM COMMAND DIRECTORY. Lines of fields, with tabs between them:
 *	leak BYTES TIME_MS	a buffer that is never released; its stack follows
 *	frame MODULE OFFSET FUNCTION FILE LINE INLINED	the innermost first; "" and 0: unknown
 * Python's frames have the module "Python" and are written as the recorder writes them. All others
 * are addresses; their names go into the recording's legend, as of programs that are gone. Those of
 * the module "[JIT code]" lie in no file.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../golden/recording_maker.h"
#include "trace/legend.h"

enum { FRAMES_MAX = 256, NAMES_MAX = 64, FIELDS = 7, LIBRARIES_MAX = 64 };

#define JIT   "[JIT code]"
#define BASE  0x10000000000ull
#define SHIFT 30 /* a module may be 1 GiB */

static const uint8_t build_id[] = { 0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef };

struct maker {
	struct trace trace;
	char *modules[LIBRARIES_MAX];
	uint32_t module_count, defined;
	struct gt_legend *legend;
	/* the stack being read */
	uint64_t frames[FRAMES_MAX];
	size_t frame_count;
	/* the names of its latest address: what is inlined there */
	struct gt_legend_name names[NAMES_MAX];
	size_t name_count;
	const char *names_module;
	uint64_t names_offset;
	/* the buffer whose stack it is */
	uint64_t bytes, time_ms, handle;
};

static void define_modules(struct gt_writer *w, void *context)
{
	struct maker *m = context;

	for (; m->defined < m->module_count; m->defined++) {
		uint64_t start = BASE + ((uint64_t)m->defined << SHIFT);

		gt_writer_module(w, m->defined,
				 &(struct gt_module){ .start = start,
						      .size = 1ull << SHIFT,
						      .bias = start,
						      .path = m->modules[m->defined],
						      .build_id = build_id,
						      .build_id_size = sizeof build_id });
	}
}

static uint32_t module_number(struct maker *m, const char *path)
{
	for (uint32_t i = 0; i < m->module_count; i++)
		if (!strcmp(m->modules[i], path))
			return i;
	if (m->module_count == LIBRARIES_MAX)
		die("too many modules");
	m->modules[m->module_count] = gt_strdup(path);
	return m->module_count++;
}

static void save_names(struct maker *m)
{
	bool is_in_file = m->names_module && strcmp(m->names_module, JIT) != 0;

	if (m->name_count && (m->names[0].function || m->names[0].file))
		gt_legend_add(m->legend, m->names_module, build_id,
			      is_in_file ? sizeof build_id : 0, m->names_offset, m->names,
			      m->name_count);
	m->name_count = 0;
}

static void end_stack(struct maker *m)
{
	uint32_t stack;

	if (!m->bytes)
		return;
	save_names(m);
	stack = gt_writer_stack(m->trace.writer, m->frames, m->frame_count);
	m->handle += 16;
	gt_lane_event(m->trace.lane, &(struct gt_event){ .function = GT_FN_clCreateBuffer,
							 .time_ns = START + m->time_ms * MS,
							 .handle = m->handle,
							 .size = m->bytes,
							 .stack = stack });
	m->bytes = 0;
	m->frame_count = 0;
}

static void add_frame(struct maker *m, char **field)
{
	const char *function = *field[3] ? gt_strdup(field[3]) : NULL;
	const char *file = *field[4] ? gt_strdup(field[4]) : NULL;
	uint32_t line = (uint32_t)strtoul(field[5], NULL, 10), module;
	uint64_t offset = strtoull(field[2], NULL, 16), start = 0;
	bool inlined = *field[6] == '1';

	if (m->frame_count == FRAMES_MAX || m->name_count == NAMES_MAX)
		die("too many frames");
	if (!strcmp(field[1], "Python")) {
		m->frames[m->frame_count++] = gt_writer_text_frame(
			m->trace.writer, &(struct gt_text_frame){ .function = function,
								  .file = file,
								  .line = line,
								  .module = field[1] });
		return;
	}
	if (strcmp(field[1], JIT) != 0) {
		module = module_number(m, field[1]);
		start = BASE + ((uint64_t)module << SHIFT);
		m->names_module = m->modules[module];
	} else {
		m->names_module = JIT;
	}
	if (!m->name_count)
		m->frames[m->frame_count++] = start + offset + 1;
	m->names_offset = offset;
	m->names[m->name_count++] = (struct gt_legend_name){ function, file, line, inlined };
	if (!inlined)
		save_names(m);
}

static void take_line(struct maker *m, char *line)
{
	char *field[FIELDS] = { line };
	size_t count = 1;

	line[strcspn(line, "\n")] = '\0';
	for (; count < FIELDS && (field[count] = strchr(field[count - 1], '\t')); count++)
		*field[count]++ = '\0';
	if (!strcmp(line, "leak") && count == 3) {
		end_stack(m);
		m->bytes = strtoull(field[1], NULL, 10);
		m->time_ms = strtoull(field[2], NULL, 10);
		m->trace.end_ns = START + (m->time_ms + 100) * MS;
	} else if (!strcmp(line, "frame") && count == FIELDS) {
		add_frame(m, field);
	} else {
		die(line);
	}
}

int main(int argc, char **argv)
{
	static struct maker m = { .trace = { .start_ns = START } };
	struct gt_info *info;
	struct gt_error error;
	char path[4096], *line = NULL;
	size_t room = 0;

	if (argc != 5)
		die("usage: make_places NAME.gt PROGRAM COMMAND DIRECTORY");
	m.legend = gt_legend_new();
	m.handle = 0x1000;
	folder(argv[1]);
	info = begin_info(argv[3]);
	gt_info_set(info, "directory", argv[4]);
	gt_info_set(info, "exit_status", "0");
	m.trace.define = define_modules;
	m.trace.define_context = &m;
	begin(&m.trace, argv[1], 900, 1, argv[2], argv[3], strlen(argv[3]));
	while (getline(&line, &room, stdin) > 0)
		take_line(&m, line);
	end_stack(&m);
	end(&m.trace);
	gt_info_setf(info, "duration_ns", "%llu", (unsigned long long)(m.trace.end_ns - START));
	end_info(info, argv[1]);
	snprintf(path, sizeof path, "%s/legend", argv[1]);
	return gt_legend_write(m.legend, path, &error) ? 1 : 0;
}
