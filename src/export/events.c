/* SPDX-License-Identifier: MIT */
/* events.c - all events of a recording as rows or as JSON, one after the other. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"
#include "export/export.h"
#include "export/place_texts.h"
#include "replay/replay.h"
#include "replay/stack.h"

enum { TEXTS_KEPT = 1024 };

struct events {
	const struct gt_recording *recording;
	struct gt_frames *frames;
	FILE *out;
	struct gt_json json;
	struct {
		uint32_t stack; /* + 1; 0: free */
		char *text;
	} texts[TEXTS_KEPT]; /* stacks as CSV fields: the same come again and again */
	struct gt_place_texts places;
	uint32_t phase; /* the latest one, and its text; NULL: none yet */
	char *phase_text;
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
	return (int64_t)(time_ns - gt_recording_start_ns(e->recording));
}

/* Empty if unknown. */
static void put_result(FILE *out, const struct gt_event *event)
{
	if (gt_event_has_result(event))
		fprintf(out, "%" PRId32, event->result);
}

/* When its call began and how long it took; "" if unknown. */
static void put_call(const struct events *e, const struct gt_event *event, char separator)
{
	if (event->duration_ns)
		fprintf(e->out, "%" PRId64 "%c%" PRIu64, relative_ns(e, event->start_ns), separator,
			event->duration_ns);
	else
		putc(separator, e->out);
}

/* "" for none. Events come in runs of one phase. */
static const char *phase_text(struct events *e, uint32_t phase)
{
	if (!phase)
		return "";
	if (phase != e->phase) {
		free(e->phase_text);
		e->phase_text = gt_recording_phase_text(e->recording, phase);
		e->phase = phase;
	}
	return e->phase_text;
}

static void tsv_begin(struct events *e)
{
	fputs("time_ns\tpid\ttid\tfunction\teffect\tapi\tkind\thandle\tbytes\towner\tplace\toutcome"
	      "\tresult\tstack\twhere\tphase\tstart_ns\tduration_ns\n",
	      e->out);
}

static void tsv_row(struct events *e, const struct gt_event *event, uint32_t process)
{
	const struct gt_function *fn = &gt_functions[event->function];

	fprintf(e->out, "%" PRId64 "\t%" PRIu32 "\t%" PRIu32 "\t%s\t%s\t%s\t%s\t0x%" PRIx64 "\t",
		relative_ns(e, event->time_ns), gt_recording_process(e->recording, process)->pid,
		event->tid, gt_function_names[event->function], gt_effect_names[fn->effect],
		gt_api_keys[fn->api], gt_kinds[fn->kind].name, event->handle);
	if (creates(event))
		fprintf(e->out, "%" PRIu64, event->size);
	putc('\t', e->out);
	if (event->owner && creates(event))
		fprintf(e->out, "0x%" PRIx64, event->owner);
	putc('\t', e->out);
	gt_tsv_put(e->out, gt_recording_place(e->recording, event->place));
	fprintf(e->out, "\t%s\t", outcome(event));
	put_result(e->out, event);
	putc('\t', e->out);
	gt_stack_tsv(e->out, e->frames, event->stack);
	putc('\t', e->out);
	gt_tsv_put(e->out, gt_place_texts_get(&e->places, process, event->stack));
	putc('\t', e->out);
	gt_tsv_put(e->out, phase_text(e, event->phase));
	putc('\t', e->out);
	put_call(e, event, '\t');
	putc('\n', e->out);
}

/* One object a line, so that tools that read lines can, within one valid document. */
static void json_begin(struct events *e)
{
	gt_json_begin(&e->json, e->out);
	gt_json_uint(&e->json, "schema", 1);
	gt_json_array(&e->json, "events");
}

static void json_row(struct events *e, const struct gt_event *event, uint32_t process)
{
	const struct gt_function *fn = &gt_functions[event->function];
	struct gt_json *j = &e->json;

	gt_json_line(j, NULL);
	gt_json_int(j, "time_ns", relative_ns(e, event->time_ns));
	gt_json_uint(j, "pid", gt_recording_process(e->recording, process)->pid);
	gt_json_uint(j, "tid", event->tid);
	gt_json_text(j, "function", gt_function_names[event->function]);
	gt_json_text(j, "effect", gt_effect_names[fn->effect]);
	gt_json_text(j, "api", gt_api_keys[fn->api]);
	gt_json_text(j, "kind", gt_kinds[fn->kind].name);
	gt_json_hex(j, "handle", event->handle);
	if (creates(event)) {
		gt_json_uint(j, "bytes", event->size);
		if (event->owner)
			gt_json_hex(j, "owner", event->owner);
		gt_json_text(j, "place", gt_recording_place(e->recording, event->place));
	}
	gt_json_text(j, "outcome", outcome(event));
	if (gt_event_has_result(event))
		gt_json_int(j, "result", event->result);
	else
		gt_json_null(j, "result");
	gt_stack_json(j, "stack", e->frames, event->stack);
	if (event->stack)
		gt_json_text(j, "where", gt_place_texts_get(&e->places, process, event->stack));
	if (event->phase)
		gt_json_text(j, "phase", phase_text(e, event->phase));
	if (event->duration_ns) {
		gt_json_int(j, "start_ns", relative_ns(e, event->start_ns));
		gt_json_uint(j, "duration_ns", event->duration_ns);
	}
	gt_json_end(j);
}

static void json_end(struct events *e)
{
	gt_json_finish(&e->json);
}

static void csv_begin(struct events *e)
{
	fputs("time_ns,pid,tid,function,effect,api,kind,handle,bytes,owner,place,outcome,result,"
	      "stack,where,phase,start_ns,duration_ns\r\n",
	      e->out);
}

/* The stack as a field, from where it was made last. */
static const char *csv_stack(struct events *e, uint32_t stack)
{
	char *words = NULL, *field = NULL;
	size_t size, slot = stack % TEXTS_KEPT;
	FILE *out;

	if (e->texts[slot].stack == stack + 1)
		return e->texts[slot].text;
	out = gt_memstream(&words, &size);
	gt_stack_tsv(out, e->frames, stack);
	gt_memstream_close(out);
	out = gt_memstream(&field, &size);
	gt_csv_put_safe(out, words);
	gt_memstream_close(out);
	free(words);
	free(e->texts[slot].text);
	e->texts[slot].text = field;
	e->texts[slot].stack = stack + 1;
	return field;
}

static void csv_end(struct events *e)
{
	for (size_t i = 0; i < TEXTS_KEPT; i++)
		free(e->texts[i].text);
}

/* Numbers and gputrack's own words need no quotes; foreign text does. */
static void csv_row(struct events *e, const struct gt_event *event, uint32_t process)
{
	const struct gt_function *fn = &gt_functions[event->function];

	fprintf(e->out, "%" PRId64 ",%" PRIu32 ",%" PRIu32 ",%s,%s,%s,%s,0x%" PRIx64 ",",
		relative_ns(e, event->time_ns), gt_recording_process(e->recording, process)->pid,
		event->tid, gt_function_names[event->function], gt_effect_names[fn->effect],
		gt_api_keys[fn->api], gt_kinds[fn->kind].name, event->handle);
	if (creates(event))
		fprintf(e->out, "%" PRIu64, event->size);
	putc(',', e->out);
	if (event->owner && creates(event))
		fprintf(e->out, "0x%" PRIx64, event->owner);
	putc(',', e->out);
	gt_csv_put_safe(e->out, gt_recording_place(e->recording, event->place));
	fprintf(e->out, ",%s,", outcome(event));
	put_result(e->out, event);
	putc(',', e->out);
	fputs(csv_stack(e, event->stack), e->out);
	putc(',', e->out);
	gt_csv_put_safe(e->out, gt_place_texts_get(&e->places, process, event->stack));
	putc(',', e->out);
	gt_csv_put_safe(e->out, phase_text(e, event->phase));
	putc(',', e->out);
	put_call(e, event, ',');
	fputs("\r\n", e->out);
}

/* The start, each event and the end in each format. */
struct form {
	void (*begin)(struct events *e);
	void (*row)(struct events *e, const struct gt_event *event, uint32_t process);
	void (*end)(struct events *e);
};

struct writing {
	struct events events;
	const struct form *form;
};

static bool write_row(void *context, const struct gt_event *event, uint32_t process)
{
	struct writing *w = context;

	w->form->row(&w->events, event, process);
	return !ferror(w->events.out);
}

static void write_all(const struct gt_export *e, const struct form *form)
{
	struct writing w = { .events = { .recording = e->recording,
					 .frames = e->frames,
					 .out = e->out,
					 .places = { .frames = e->frames } },
			     .form = form };

	form->begin(&w.events);
	gt_replay_events(e->recording, write_row, &w, e->tick);
	if (form->end)
		form->end(&w.events);
	gt_place_texts_fini(&w.events.places);
	free(w.events.phase_text);
}

void gt_export_tsv(const struct gt_export *e)
{
	write_all(e, &(struct form){ tsv_begin, tsv_row, NULL });
}

void gt_export_json(const struct gt_export *e)
{
	write_all(e, &(struct form){ json_begin, json_row, json_end });
}

void gt_export_csv(const struct gt_export *e)
{
	write_all(e, &(struct form){ csv_begin, csv_row, csv_end });
}
