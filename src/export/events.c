/* SPDX-License-Identifier: MIT */
/*
 * events.c - all events of a recording as rows or as JSON, one after the other.
 *
 * A row is a few numbers and much text, and its text is that of many others: what depends on the
 * function, the place, the phase or the stack is rendered once and copied into each row. Rows of
 * JSON have the number of a stack; its frames, which are many times longer than the row, come once,
 * after the events.
 */
#include <stdlib.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/sink.h"
#include "base/text.h"
#include "export/export.h"
#include "export/stack_texts.h"
#include "replay/place.h"
#include "replay/replay.h"
#include "replay/stack.h"

struct events {
	const struct gt_recording *recording;
	const struct form *form;
	FILE *out;
	struct gt_sink sink; /* of a table … */
	struct gt_json json; /* … or else this */
	uint64_t start_ns;
	struct gt_rendered functions[GT_FN_COUNT];
	struct gt_rendered *places;
	size_t place_count;
	struct gt_rendered phase; /* of the latest event that had one: they come in runs */
	uint32_t phase_number;    /* 0: none yet */
	struct gt_stack_texts stacks;
	uint32_t *numbers; /* by stack, of JSON: in order of appearance, from 1; 0: none yet */
	size_t number_room;
	uint32_t *numbered; /* the stacks that have a number */
	size_t numbered_count, numbered_room;
};

struct form {
	char separator;       /* of a table's columns */
	const char *line_end; /* of a table */
	/* A value of the recording's own words; `key` is for JSON. */
	void (*text)(FILE *out, const char *key, const char *text);
	/* The columns from `function` to `kind`. */
	void (*function)(FILE *out, const struct form *form, uint16_t function);
	gt_stack_render_fn *stack; /* the columns `stack` and `where`; of JSON, `where` alone */
	void (*begin)(struct events *e);
	void (*row)(struct events *e, const struct gt_event *event, uint32_t process);
	void (*end)(struct events *e);
};

static const char *outcome(const struct gt_event *event)
{
	return event->unfinished ? "unfinished" : event->failed ? "failed" : "done";
}

static bool creates(const struct gt_event *event)
{
	return gt_functions[event->function].effect == GT_CREATE;
}

static int64_t relative_ns(const struct events *e, uint64_t time_ns)
{
	return (int64_t)(time_ns - e->start_ns);
}

static uint32_t pid_of(const struct events *e, uint32_t process)
{
	return gt_recording_process(e->recording, process)->pid;
}

/* What rows have in common. */

static const struct gt_rendered *function_of(struct events *e, uint16_t function)
{
	struct gt_rendered *r = &e->functions[function];

	if (!r->bytes) {
		FILE *out = gt_memstream(&r->bytes, &r->size);

		e->form->function(out, e->form, function);
		gt_memstream_close(out);
	}
	return r;
}

static const struct gt_rendered *place_of(struct events *e, uint16_t place)
{
	struct gt_rendered *r;

	GT_REACH(e->places, e->place_count, place);
	r = &e->places[place];
	if (!r->bytes) {
		FILE *out = gt_memstream(&r->bytes, &r->size);

		e->form->text(out, "place", gt_recording_place(e->recording, place));
		gt_memstream_close(out);
	}
	return r;
}

/* `phase` is not 0. */
static const struct gt_rendered *phase_of(struct events *e, uint32_t phase)
{
	if (phase != e->phase_number) {
		char *text = gt_recording_phase_text(e->recording, phase);
		FILE *out;

		free(e->phase.bytes);
		out = gt_memstream(&e->phase.bytes, &e->phase.size);
		e->form->text(out, "phase", text);
		gt_memstream_close(out);
		free(text);
		e->phase_number = phase;
	}
	return &e->phase;
}

/* Tables. */

static void table_begin(struct events *e)
{
	static const char *const columns[] = {
		"time_ns", "pid",    "tid",   "function", "effect",   "api",
		"kind",    "handle", "bytes", "owner",    "place",    "outcome",
		"result",  "stack",  "where", "phase",    "start_ns", "duration_ns",
	};

	gt_sink_init(&e->sink, e->out);
	for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
		if (i)
			gt_sink_char(&e->sink, e->form->separator);
		gt_sink_text(&e->sink, columns[i]);
	}
	gt_sink_text(&e->sink, e->form->line_end);
}

static void table_end(struct events *e)
{
	gt_sink_fini(&e->sink);
}

/* gputrack's own words need no quotes. */
static void table_function(FILE *out, const struct form *form, uint16_t function)
{
	const struct gt_function *fn = &gt_functions[function];
	const char between = form->separator;

	fprintf(out, "%s%c%s%c%s%c%s", gt_function_names[function], between,
		gt_effect_names[fn->effect], between, gt_api_keys[fn->api], between,
		gt_kinds[fn->kind].name);
}

static void copy(struct gt_sink *s, const struct gt_rendered *text)
{
	gt_sink_put(s, text->bytes, text->size);
}

/* Columns of unknown values are empty. */
static void table_row(struct events *e, const struct gt_event *event, uint32_t process)
{
	struct gt_sink *s = &e->sink;
	const char between = e->form->separator;

	gt_sink_int(s, relative_ns(e, event->time_ns));
	gt_sink_char(s, between);
	gt_sink_uint(s, pid_of(e, process));
	gt_sink_char(s, between);
	gt_sink_uint(s, event->tid);
	gt_sink_char(s, between);
	copy(s, function_of(e, event->function));
	gt_sink_char(s, between);
	gt_sink_hex(s, event->handle);
	gt_sink_char(s, between);
	if (creates(event))
		gt_sink_uint(s, event->size);
	gt_sink_char(s, between);
	if (event->owner && creates(event))
		gt_sink_hex(s, event->owner);
	gt_sink_char(s, between);
	copy(s, place_of(e, event->place));
	gt_sink_char(s, between);
	gt_sink_text(s, outcome(event));
	gt_sink_char(s, between);
	if (gt_event_has_result(event))
		gt_sink_int(s, event->result);
	gt_sink_char(s, between);
	copy(s, gt_stack_texts_get(&e->stacks, process, event->stack));
	gt_sink_char(s, between);
	if (event->phase)
		copy(s, phase_of(e, event->phase));
	gt_sink_char(s, between);
	if (event->duration_ns)
		gt_sink_int(s, relative_ns(e, event->start_ns));
	gt_sink_char(s, between);
	if (event->duration_ns)
		gt_sink_uint(s, event->duration_ns);
	gt_sink_text(s, e->form->line_end);
}

/* TSV. */

static void tsv_text(FILE *out, const char *key, const char *text)
{
	(void)key;
	gt_tsv_put(out, text);
}

static void tsv_stack(FILE *out, struct gt_frames *frames, uint32_t stack)
{
	char *place = stack ? gt_place_text(frames, stack, true) : gt_strdup("");

	gt_stack_tsv(out, frames, stack);
	putc('\t', out);
	gt_tsv_put(out, place);
	free(place);
}

/* CSV. */

static void csv_text(FILE *out, const char *key, const char *text)
{
	(void)key;
	gt_csv_put_safe(out, text);
}

static void csv_stack(FILE *out, struct gt_frames *frames, uint32_t stack)
{
	char *place = stack ? gt_place_text(frames, stack, true) : gt_strdup("");
	char *words = NULL;
	size_t size;
	FILE *made = gt_memstream(&words, &size);

	gt_stack_tsv(made, frames, stack);
	gt_memstream_close(made);
	gt_csv_put_safe(out, words);
	putc(',', out);
	gt_csv_put_safe(out, place);
	free(words);
	free(place);
}

/* JSON. */

/* One object a line, so that tools that read lines can, within one valid document. */
static void json_begin(struct events *e)
{
	gt_json_begin(&e->json, e->out);
	gt_json_uint(&e->json, "schema", 2);
	gt_json_array(&e->json, "events");
}

static void json_end(struct events *e)
{
	struct gt_json *j = &e->json;

	gt_json_end(j);
	gt_json_array(j, "stacks");
	for (size_t i = 0; i < e->numbered_count && !ferror(e->out); i++) {
		gt_json_line(j, NULL);
		gt_json_uint(j, "stack", i + 1);
		gt_stack_json(j, "frames", e->stacks.frames, e->numbered[i]);
		gt_json_end(j);
	}
	gt_json_finish(j);
}

/* `stack` is not 0. */
static uint32_t number_of(struct events *e, uint32_t stack)
{
	GT_REACH(e->numbers, e->number_room, stack);
	if (!e->numbers[stack]) {
		GT_GROW(e->numbered, e->numbered_count, e->numbered_room);
		e->numbered[e->numbered_count++] = stack;
		e->numbers[stack] = (uint32_t)e->numbered_count;
	}
	return e->numbers[stack];
}

static void json_text(FILE *out, const char *key, const char *text)
{
	struct gt_json j;

	gt_json_begin_members(&j, out);
	gt_json_text(&j, key, text);
	gt_json_finish(&j);
}

static void json_function(FILE *out, const struct form *form, uint16_t function)
{
	const struct gt_function *fn = &gt_functions[function];
	struct gt_json j;

	(void)form;
	gt_json_begin_members(&j, out);
	gt_json_text(&j, "function", gt_function_names[function]);
	gt_json_text(&j, "effect", gt_effect_names[fn->effect]);
	gt_json_text(&j, "api", gt_api_keys[fn->api]);
	gt_json_text(&j, "kind", gt_kinds[fn->kind].name);
	gt_json_finish(&j);
}

static void json_where(FILE *out, struct gt_frames *frames, uint32_t stack)
{
	char *place = stack ? gt_place_text(frames, stack, true) : NULL;
	struct gt_json j;

	gt_json_begin_members(&j, out);
	if (place)
		gt_json_text(&j, "where", place);
	gt_json_finish(&j);
	free(place);
}

static void add(struct gt_json *j, const struct gt_rendered *members)
{
	gt_json_members(j, members->bytes, members->size);
}

static void json_row(struct events *e, const struct gt_event *event, uint32_t process)
{
	struct gt_json *j = &e->json;

	gt_json_line(j, NULL);
	gt_json_int(j, "time_ns", relative_ns(e, event->time_ns));
	gt_json_uint(j, "pid", pid_of(e, process));
	gt_json_uint(j, "tid", event->tid);
	add(j, function_of(e, event->function));
	gt_json_hex(j, "handle", event->handle);
	if (creates(event)) {
		gt_json_uint(j, "bytes", event->size);
		if (event->owner)
			gt_json_hex(j, "owner", event->owner);
		add(j, place_of(e, event->place));
	}
	gt_json_text(j, "outcome", outcome(event));
	if (gt_event_has_result(event))
		gt_json_int(j, "result", event->result);
	else
		gt_json_null(j, "result");
	if (event->stack)
		gt_json_uint(j, "stack", number_of(e, event->stack));
	else
		gt_json_null(j, "stack");
	add(j, gt_stack_texts_get(&e->stacks, process, event->stack));
	if (event->phase)
		add(j, phase_of(e, event->phase));
	if (event->duration_ns) {
		gt_json_int(j, "start_ns", relative_ns(e, event->start_ns));
		gt_json_uint(j, "duration_ns", event->duration_ns);
	}
	gt_json_end(j);
}

static bool write_row(void *context, const struct gt_event *event, uint32_t process)
{
	struct events *e = context;

	e->form->row(e, event, process);
	return !ferror(e->out);
}

static void write_all(const struct gt_export *export, const struct form *form)
{
	struct events e = { .recording = export->recording,
			    .form = form,
			    .out = export->out,
			    .start_ns = gt_recording_start_ns(export->recording),
			    .stacks = { .frames = export->frames, .render = form->stack } };

	form->begin(&e);
	gt_replay_events(export->recording, write_row, &e, export->tick);
	form->end(&e);
	for (size_t i = 0; i < GT_FN_COUNT; i++)
		free(e.functions[i].bytes);
	for (size_t i = 0; i < e.place_count; i++)
		free(e.places[i].bytes);
	free(e.places);
	free(e.phase.bytes);
	gt_stack_texts_fini(&e.stacks);
	free(e.numbers);
	free(e.numbered);
}

void gt_export_tsv(const struct gt_export *e)
{
	write_all(e, &(struct form){ .separator = '\t',
				     .line_end = "\n",
				     .text = tsv_text,
				     .function = table_function,
				     .stack = tsv_stack,
				     .begin = table_begin,
				     .row = table_row,
				     .end = table_end });
}

void gt_export_csv(const struct gt_export *e)
{
	write_all(e, &(struct form){ .separator = ',',
				     .line_end = "\r\n",
				     .text = csv_text,
				     .function = table_function,
				     .stack = csv_stack,
				     .begin = table_begin,
				     .row = table_row,
				     .end = table_end });
}

void gt_export_json(const struct gt_export *e)
{
	write_all(e, &(struct form){ .text = json_text,
				     .function = json_function,
				     .stack = json_where,
				     .begin = json_begin,
				     .row = json_row,
				     .end = json_end });
}
