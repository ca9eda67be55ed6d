/* SPDX-License-Identifier: MIT */
/* chrome.c - lifetimes and counters in Chrome's trace format, for Perfetto; written as it reads. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/format.h"
#include "base/json.h"
#include "base/mem.h"
#include "ledger/groups.h"
#include "export/export.h"
#include "export/stack_texts.h"
#include "replay/call_text.h"
#include "replay/ending.h"
#include "replay/group_text.h"
#include "replay/place.h"
#include "replay/process_text.h"
#include "replay/replay.h"

/* Of all processes together. */
enum counter { DEVICE, HOST, OBJECTS, COUNTERS };

static const struct {
	const char *name, *unit;
} counters[] = {
	[DEVICE] = { "device memory", "bytes" },
	[HOST] = { "host memory", "bytes" },
	[OBJECTS] = { "resources alive", "count" },
};

struct chrome {
	const struct gt_export *export;
	const struct gt_ledger *ledger;
	struct gt_json json;
	uint64_t start_ns, last_ns;
	uint64_t now_ns;           /* of what is being applied */
	uint64_t values[COUNTERS]; /* as last written */
	uint64_t *ended_ns;        /* by process; 0: it has not ended */
	size_t ended_size;
	struct gt_stack_texts places; /* as members of "args" */
	/* members that many lines have in common */
	struct gt_rendered births[GT_KIND_COUNT], ends[GT_KIND_COUNT];
	struct gt_rendered apis[GT_API_COUNT], functions[GT_FN_COUNT];
	struct gt_rendered counters[COUNTERS];
	struct {
		uint32_t process, tid;
		uint64_t start_ns, duration_ns;
	} call; /* the latest that was written */
};

/* Members of constant texts, up to two: rendered once, then copied. */
static void put_texts(struct chrome *c, struct gt_rendered *texts, const char *const pairs[2][2])
{
	if (!texts->bytes) {
		FILE *out = gt_memstream(&texts->bytes, &texts->size);
		struct gt_json j;

		gt_json_begin_members(&j, out);
		for (int i = 0; i < 2 && pairs[i][0]; i++)
			gt_json_text(&j, pairs[i][0], pairs[i][1]);
		gt_json_finish(&j);
		gt_memstream_close(out);
	}
	gt_json_members(&c->json, texts->bytes, texts->size);
}

/* Only damaged traces have times before the recording's start. */
static void put_time(struct chrome *c, uint32_t pid, uint64_t time_ns)
{
	gt_json_uint(&c->json, "pid", pid);
	gt_json_us(&c->json, "ts", time_ns > c->start_ns ? time_ns - c->start_ns : 0);
}

static void begin(struct chrome *c, const char *phase, const char *name, uint32_t pid,
		  uint64_t time_ns)
{
	gt_json_line(&c->json, NULL);
	gt_json_text(&c->json, "ph", phase);
	gt_json_text(&c->json, "name", name);
	put_time(c, pid, time_ns);
}

/* The same with a constant name; `head` is that of this phase and name. */
static void begin_known(struct chrome *c, struct gt_rendered *head, const char *phase,
			const char *name, uint32_t pid, uint64_t time_ns)
{
	const char *const pairs[2][2] = { { "ph", phase }, { "name", name } };

	gt_json_line(&c->json, NULL);
	put_texts(c, head, pairs);
	put_time(c, pid, time_ns);
}

static void put_name(struct chrome *c, uint32_t pid, const char *name)
{
	gt_json_line(&c->json, NULL);
	gt_json_text(&c->json, "ph", "M");
	gt_json_text(&c->json, "name", "process_name");
	gt_json_uint(&c->json, "pid", pid);
	gt_json_object(&c->json, "args");
	gt_json_text(&c->json, "name", name);
	gt_json_end(&c->json);
	gt_json_end(&c->json);
}

static void put_api(struct chrome *c, uint16_t function)
{
	const uint8_t api = gt_functions[function].api;
	const char *const pairs[2][2] = { { "cat", gt_api_keys[api] } };

	put_texts(c, &c->apis[api], pairs);
}

static void put_function(struct chrome *c, uint16_t function)
{
	const char *const pairs[2][2] = { { "function", gt_function_names[function] } };

	put_texts(c, &c->functions[function], pairs);
}

/* An end belongs to the begin of the same API, process, family, place and handle. */
static void put_identity(struct chrome *c, const struct gt_entry *entry)
{
	enum gt_kind kind = gt_entry_kind(entry);
	char id[2 * (GT_DIGITS_MAX + 1) + GT_FORMAT_MAX];
	size_t at;

	gt_json_uint(&c->json, "tid", entry->tid);
	put_api(c, entry->function);
	gt_json_object(&c->json, "id2");
	at = gt_digits_decimal(id, gt_kinds[kind].family);
	id[at++] = '-';
	at += gt_digits_decimal(id + at, entry->place);
	id[at++] = '-';
	gt_format_hex(id + at, entry->handle);
	gt_json_text(&c->json, "local", id);
	gt_json_end(&c->json);
}

static uint32_t pid_of(const struct chrome *c, const struct gt_entry *entry)
{
	return gt_recording_process(c->export->recording, entry->process)->pid;
}

static void render_place(FILE *out, struct gt_frames *frames, uint32_t stack)
{
	char *place = stack ? gt_place_text(frames, stack, true) : gt_strdup("");
	struct gt_json j;

	gt_json_begin_members(&j, out);
	if (*place)
		gt_json_text(&j, "by", place);
	gt_json_finish(&j);
	free(place);
}

static void put_birth(struct chrome *c, const struct gt_entry *entry)
{
	const struct gt_rendered *place =
		gt_stack_texts_get(&c->places, entry->process, entry->stack);
	uint32_t phase = gt_ledger_phase(c->ledger, entry);
	enum gt_kind kind = gt_entry_kind(entry);

	begin_known(c, &c->births[kind], "b", gt_kinds[kind].name, pid_of(c, entry), c->now_ns);
	put_identity(c, entry);
	gt_json_object(&c->json, "args");
	put_function(c, entry->function);
	gt_json_uint(&c->json, "bytes", gt_entry_bytes(entry));
	gt_json_hex(&c->json, "handle", entry->handle);
	gt_json_members(&c->json, place->bytes, place->size);
	if (phase) {
		char *text = gt_recording_phase_text(c->export->recording, phase);

		gt_json_text(&c->json, "phase", text);
		free(text);
	}
	gt_json_end(&c->json);
	gt_json_end(&c->json);
}

/* `fate` of what was not released; NULL: it was, or is meant to last. */
static void put_end(struct chrome *c, const struct gt_entry *entry, uint64_t time_ns,
		    const char *fate)
{
	enum gt_kind kind = gt_entry_kind(entry);

	begin_known(c, &c->ends[kind], "e", gt_kinds[kind].name, pid_of(c, entry), time_ns);
	put_identity(c, entry);
	if (fate) {
		gt_json_object(&c->json, "args");
		if (fate == gt_fate_keys[GT_FATE_LEAKED])
			gt_json_bool(&c->json, "leaked", true);
		gt_json_text(&c->json, "fate", fate);
		gt_json_end(&c->json);
	}
	gt_json_end(&c->json);
}

static void put_counter(struct chrome *c, enum counter counter, uint64_t time_ns, uint64_t value)
{
	begin_known(c, &c->counters[counter], "C", counters[counter].name, 0, time_ns);
	gt_json_object(&c->json, "args");
	gt_json_int(&c->json, counters[counter].unit, (int64_t)value);
	gt_json_end(&c->json);
	gt_json_end(&c->json);
}

/* Only the counters that changed. */
static void put_counters(struct chrome *c, uint64_t time_ns)
{
	const struct gt_ledger *l = c->ledger;
	const uint64_t values[COUNTERS] = { [DEVICE] = l->device_bytes,
					    [HOST] = l->host_bytes,
					    [OBJECTS] = l->live.count - l->gone };

	for (int i = 0; i < COUNTERS; i++)
		if (values[i] != c->values[i]) {
			put_counter(c, (enum counter)i, time_ns, values[i]);
			c->values[i] = values[i];
		}
}

static void born(void *context, const struct gt_entry *entry, uint32_t slot)
{
	(void)slot;
	put_birth(context, entry);
}

static void ended(void *context, const struct gt_entry *entry, uint32_t slot, enum gt_ended_by by)
{
	struct chrome *c = context;

	(void)slot;
	if (by != GT_ENDED_BY_PROCESS) {
		put_end(c, entry, c->now_ns, NULL);
		return;
	}
	/* its fate is known when all has been read */
	GT_REACH(c->ended_ns, c->ended_size, entry->process);
	c->ended_ns[entry->process] = c->now_ns;
}

static void before(void *context, const struct gt_ledger *l, uint64_t time_ns)
{
	struct chrome *c = context;

	c->ledger = l;
	c->now_ns = time_ns;
}

static void process_ended(void *context, const struct gt_ledger *l, uint64_t time_ns)
{
	put_counters(context, time_ns);
}

static void take_sample(void *context, uint32_t process, const struct gt_sample *sample)
{
	struct chrome *c = context;
	const struct gt_series *series = gt_recording_series(c->export->recording, sample->series);
	char name[256];

	snprintf(name, sizeof name, *series->subject ? "%s, %s" : "%s", series->name,
		 series->subject);
	begin(c, "C", name,
	      process == GT_NO_PROCESS ? 0 :
					 gt_recording_process(c->export->recording, process)->pid,
	      sample->time_ns);
	gt_json_object(&c->json, "args");
	gt_json_int(&c->json, *series->unit ? series->unit : "value", sample->value);
	gt_json_end(&c->json);
	gt_json_end(&c->json);
}

/* A call as long as it took; once, whatever number of events it had. */
static void put_call(struct chrome *c, const struct gt_event *event, uint32_t process)
{
	const struct gt_view v = { .recording = c->export->recording, .frames = c->export->frames };
	const struct gt_rendered *place = gt_stack_texts_get(&c->places, process, event->stack);
	char name[GT_KIND_TEXT];

	if (c->call.process == process && c->call.tid == event->tid &&
	    c->call.start_ns == event->start_ns && c->call.duration_ns == event->duration_ns)
		return;
	c->call.process = process;
	c->call.tid = event->tid;
	c->call.start_ns = event->start_ns;
	c->call.duration_ns = event->duration_ns;
	begin(c, "X", gt_call_name(name, &v, event->function, event->stack),
	      gt_recording_process(c->export->recording, process)->pid, event->start_ns);
	gt_json_us(&c->json, "dur", event->duration_ns);
	gt_json_uint(&c->json, "tid", event->tid);
	put_api(c, event->function);
	if (place->size || event->failed) {
		gt_json_object(&c->json, "args");
		gt_json_members(&c->json, place->bytes, place->size);
		if (event->failed)
			gt_json_int(&c->json, "result", event->result);
		gt_json_end(&c->json);
	}
	gt_json_end(&c->json);
}

static void take_event(void *context, const struct gt_ledger *l, const struct gt_event *event,
		       uint32_t process)
{
	struct chrome *c = context;

	if (event->duration_ns)
		put_call(c, event, process);
	if (event->time_ns > c->last_ns)
		c->last_ns = event->time_ns;
	put_counters(c, event->time_ns);
}

/* A resource that no call ended lived until its process ended, as far as that is known. */
static uint64_t end_of(const struct chrome *c, const struct gt_entry *entry)
{
	uint64_t end_ns = gt_recording_process(c->export->recording, entry->process)->end_ns;

	if (entry->process < c->ended_size && c->ended_ns[entry->process])
		return c->ended_ns[entry->process];
	return end_ns > c->last_ns ? end_ns : c->last_ns;
}

/* Those whose owner has ended are no leaks, and no longer in the ledger once it is finished. */
static bool end_orphan(void *context, const struct gt_entry *entry)
{
	struct chrome *c = context;

	if (gt_live_is_orphan(&c->ledger->live, entry))
		put_end(c, entry, end_of(c, entry), NULL);
	return true;
}

static void end_orphans(void *context, const struct gt_ledger *l)
{
	struct chrome *c = context;

	c->ledger = l;
	gt_live_each(&l->live, end_orphan, c);
}

static bool end_one(void *context, const struct gt_entry *entry)
{
	struct chrome *c = context;
	struct gt_view v = { .recording = c->export->recording,
			     .ledger = c->ledger,
			     .strict = c->export->strict };

	put_end(c, entry, end_of(c, entry),
		gt_kinds[gt_entry_kind(entry)].habits & GT_LASTING ? NULL :
		gt_ledger_is_held(c->ledger, entry)                ? "held" :
						      gt_fate_keys[gt_fate_of(&v, entry)]);
	return true;
}

static void free_list(struct gt_rendered *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(list[i].bytes);
}

static void free_texts(struct chrome *c)
{
	free_list(c->births, GT_KIND_COUNT);
	free_list(c->ends, GT_KIND_COUNT);
	free_list(c->apis, GT_API_COUNT);
	free_list(c->functions, GT_FN_COUNT);
	free_list(c->counters, COUNTERS);
	gt_stack_texts_fini(&c->places);
}

void gt_export_chrome(const struct gt_export *e)
{
	struct gt_recording *r = e->recording;
	struct chrome c = { .export = e,
			    .places = { .frames = e->frames, .render = render_place } };
	struct gt_live_observer observer = { .born = born, .ended = ended, .context = &c };
	struct gt_ledger *l;

	c.start_ns = c.last_ns = gt_recording_start_ns(r);
	gt_json_begin(&c.json, e->out);
	gt_json_text(&c.json, "displayTimeUnit", "ms");
	gt_json_array(&c.json, "traceEvents");
	put_name(&c, 0, "all processes");
	c.ledger = l = gt_replay_run(r, &(struct gt_replay){ .held = e->held,
							     .observer = &observer,
							     .out = e->out,
							     .before = before,
							     .each = take_event,
							     .ended = process_ended,
							     .sampled = take_sample,
							     .last = end_orphans,
							     .context = &c,
							     .tick = e->tick });
	gt_live_each(&l->live, end_one, &c);
	gt_ledger_free(l);
	free(c.ended_ns);
	free_texts(&c);
	/* what a process is called is known once its trace has been read */
	for (size_t i = 0; i < gt_recording_process_count(r); i++) {
		char *name = gt_process_name(gt_recording_process(r, i));

		put_name(&c, gt_recording_process(r, i)->pid, name);
		free(name);
	}
	gt_json_end(&c.json);
	gt_json_finish(&c.json);
}
