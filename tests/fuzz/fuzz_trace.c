/* SPDX-License-Identifier: MIT */
/* fuzz_trace.c - reads any bytes as a trace, alone and as a recording, and replays them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "ledger/ledger.h"
#include "trace/reader.h"
#include "trace/recording.h"

/* Receives bytes that are read only for a sanitizer to see. */
static volatile uint8_t sink;

static void touch(const void *data, size_t size)
{
	const uint8_t *at = data;
	uint8_t sum = 0;

	for (size_t i = 0; i < size; i++)
		sum ^= at[i];
	sink = sum;
}

static void walk_definitions(const struct gt_definitions *d)
{
	struct gt_trace_frame frames[GT_STACK_FRAMES_MAX];

	for (size_t i = 0; i < d->module_count; i++) {
		touch(d->modules[i].path, strlen(d->modules[i].path) + 1);
		FUZZ_CHECK(d->modules[i].build_id_size <= sizeof d->modules[i].build_id);
	}
	for (uint32_t i = 1; i <= d->stack_count; i++) {
		size_t count = gt_definitions_stack(d, i, frames);

		for (size_t k = 0; k < count; k++)
			FUZZ_CHECK(frames[k].module == GT_NO_MODULE ||
				   (frames[k].module == GT_TEXT_MODULE && frames[k].address &&
				    frames[k].address <= d->text_frame_count) ||
				   frames[k].module < d->module_count);
	}
	for (size_t i = 0; i < d->place_count; i++)
		touch(d->places[i].name, strlen(d->places[i].name) + 1);
	for (size_t i = 0; i < d->text_count; i++) {
		touch(d->texts[i].key, strlen(d->texts[i].key) + 1);
		touch(d->texts[i].value, d->texts[i].size + 1);
		FUZZ_CHECK(!d->texts[i].value[d->texts[i].size]);
	}
	for (size_t i = 0; i < d->function_count; i++) {
		FUZZ_CHECK(d->functions[i] < GT_FN_COUNT);
		FUZZ_CHECK(d->effects[i] < GT_EFFECT_COUNT);
	}
}

static void check_event(const struct gt_event *e, size_t stack_count)
{
	FUZZ_CHECK(e->function != GT_FN_NONE && e->function < GT_FN_COUNT);
	FUZZ_CHECK(e->stack <= stack_count);
	FUZZ_CHECK(e->failed <= 1 && e->unfinished <= 1);
}

/* Number of events; 0 also if the input is not a trace. */
static uint64_t read_trace(const char *path)
{
	struct gt_trace_header header;
	struct gt_reader *r;
	struct gt_error error;
	struct gt_event e;
	uint64_t events = 0;

	if (gt_reader_open(&r, path, &error)) {
		FUZZ_CHECK(error.text[0]);
		return 0;
	}
	walk_definitions(gt_reader_definitions(r));
	while (gt_reader_next(r, &e) > 0) {
		if (gt_event_is_touch(&e)) {
			FUZZ_CHECK(e.owner == GT_WORK_LOST ||
				   e.owner <= gt_reader_definitions(r)->work_count);
			FUZZ_CHECK((e.result & ~GT_TOUCH_MARK) <= GT_ACCESSES);
			continue;
		}
		if (e.function == GT_FN_NONE) {
			FUZZ_CHECK(
				gt_paging_is(&e) ||
				(e.handle && e.handle <= gt_reader_definitions(r)->series_count));
			continue;
		}
		check_event(&e, gt_reader_definitions(r)->stack_count);
		events++;
	}
	/* what has no process has no events */
	if (gt_trace_header_read(&header, path, &error) || !header.pid)
		events = 0;
	FUZZ_CHECK(gt_reader_next(r, &e) == 0);
	if (gt_reader_damage(r))
		touch(gt_reader_damage(r), strlen(gt_reader_damage(r)));
	gt_reader_close(r);
	return events;
}

static void walk_recording(const struct gt_recording *r)
{
	const struct gt_trace_frame *frames;

	for (uint32_t i = 0; i < gt_recording_stack_count(r); i++) {
		size_t count = gt_recording_stack(r, i, &frames);

		for (size_t f = 0; f < count; f++)
			FUZZ_CHECK(frames[f].module == GT_NO_MODULE ||
				   frames[f].module == GT_TEXT_MODULE ||
				   frames[f].module < gt_recording_module_count(r));
	}
	for (uint32_t i = 0; i < gt_recording_module_count(r); i++)
		touch(gt_recording_module(r, i)->path, strlen(gt_recording_module(r, i)->path));
	for (size_t i = 0; i < gt_recording_process_count(r); i++) {
		const struct gt_process *p = gt_recording_process(r, i);

		touch(p->program, strlen(p->program));
		touch(p->command, strlen(p->command));
	}
}

static struct gt_recording *sampled;

static void take_sample(void *context, uint32_t process, const struct gt_sample *s)
{
	++*(uint64_t *)context;
	FUZZ_CHECK(process == GT_NO_PROCESS || process < gt_recording_process_count(sampled));
	FUZZ_CHECK(s->series < gt_recording_series_count(sampled));
}

static uint64_t replay(struct gt_recording *r)
{
	struct gt_ledger *l = gt_ledger_new();
	struct gt_tally sum;
	struct gt_event e;
	uint32_t process;
	uint64_t events = 0, samples = 0;

	sampled = r;
	gt_recording_on_sample(r, take_sample, &samples);
	for (; gt_recording_next(r, &e, &process) > 0; events++) {
		check_event(&e, gt_recording_stack_count(r));
		FUZZ_CHECK(process < gt_recording_process_count(r));
		touch(gt_recording_place(r, e.place), 1);
		gt_ledger_apply(l, &e, process);
	}
	gt_ledger_process_end(l, 0);
	gt_ledger_finish(l);
	sum = gt_ledger_total(l);
	FUZZ_CHECK(sum.live + l->lasting.count == l->live.count);
	FUZZ_CHECK(sum.created - sum.ended == l->live.count);
	FUZZ_CHECK(l->events == events);
	gt_ledger_free(l);
	return events;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *path = fuzz_file(data, size);
	uint64_t events = read_trace(path);
	struct gt_recording *r;
	struct gt_error error;

	if (gt_recording_open(&r, path, NULL, &error)) {
		FUZZ_CHECK(error.text[0] && !events);
		return 0;
	}
	FUZZ_CHECK(replay(r) == events);
	walk_recording(r);
	gt_recording_rewind(r);
	FUZZ_CHECK(replay(r) == events);
	gt_recording_close(r);
	return 0;
}
