/* SPDX-License-Identifier: MIT */
/* test_recording_numbers.c - ids of stacks, places, frames and series across a recording. */
#include "test_recording.h"

static void the_same_code_in_two_processes_is_the_same_stack(void **state)
{
	struct events all;
	struct gt_recording *r = open_recording(write_three(&all), 0);
	const struct gt_trace_frame *frames;
	struct gt_event e;
	uint32_t process, stack = 0;

	while (gt_recording_next(r, &e, &process) > 0) {
		assert_true(e.stack);
		assert_true(!stack || e.stack == stack);
		stack = e.stack;
	}
	/* number 0 is no stack */
	assert_int_equal(gt_recording_stack_count(r), 2);
	assert_int_equal(gt_recording_module_count(r), 2);
	assert_int_equal(gt_recording_stack(r, 0, &frames), 0);
	assert_int_equal(gt_recording_stack(r, stack, &frames), 3);
	assert_string_equal(gt_recording_module(r, frames[0].module)->path, "/lib/l.so");
	assert_int_equal(frames[0].address, 1);
	assert_string_equal(gt_recording_module(r, frames[1].module)->path, "/bin/p");
	assert_int_equal(frames[1].address, 0x10);
	assert_int_equal(frames[2].module, GT_NO_MODULE);
	assert_int_equal(frames[2].address, 0x42);
	gt_recording_close(r);
	free(all.list);
}

static void another_build_of_a_library_is_another_stack(void **state)
{
	const char *folder = fresh_folder();
	struct process p[2];
	struct gt_recording *r;
	struct gt_event e;
	uint32_t process, stacks[2] = { 0 };

	for (uint32_t i = 0; i < 2; i++) {
		start_process(&p[i], folder, 21 + i);
		p[i].build_id = (uint8_t)i;
		add(&p[i], NULL, gt_now_ns(), 1);
		end_writer(p[i].writer);
	}
	r = open_recording(folder, 0);
	while (gt_recording_next(r, &e, &process) > 0)
		stacks[process] = e.stack;
	assert_true(stacks[0] && stacks[1] && stacks[0] != stacks[1]);
	assert_int_equal(gt_recording_module_count(r), 3);
	gt_recording_close(r);
}

static void places_with_the_same_name_share_one_id(void **state)
{
	const char *folder = fresh_folder();
	static const char *const names[2][2] = { { "POCL", "NEO" }, { "NEO", "POCL" } };
	struct process p[2];
	struct gt_recording *r;
	struct gt_event e;
	uint32_t process;

	for (uint32_t i = 0; i < 2; i++) {
		start_process(&p[i], folder, 51 + i);
		for (uint16_t place = 0; place < 4; place++) {
			e = (struct gt_event){ .time_ns = gt_now_ns(),
					       .handle = place,
					       .place = place,
					       .function = GT_FN_clCreateUserEvent };
			if (place == 1 || place == 2)
				gt_writer_place(p[i].writer, place, GT_OPENCL, names[i][place - 1]);
			gt_lane_event(p[i].lane, &e);
		}
		end_writer(p[i].writer);
	}
	r = open_recording(folder, 0);
	while (gt_recording_next(r, &e, &process) > 0) {
		bool known = e.handle == 1 || e.handle == 2;

		assert_string_equal(gt_recording_place(r, e.place),
				    known ? names[process][e.handle - 1] : "");
		assert_true(known == !!e.place);
	}
	gt_recording_close(r);
}

/* A recording may name any number of places, and tables by place need room for all. */
static void every_place_id_is_below_the_count(void **state)
{
	const char *folder = fresh_folder();
	struct process p;
	struct gt_recording *r;
	struct gt_event e = { .time_ns = gt_now_ns(), .function = GT_FN_clCreateUserEvent };
	uint32_t process;
	char name[32];

	start_process(&p, folder, 51);
	for (uint32_t place = 1; place <= UINT16_MAX; place += 500) {
		snprintf(name, sizeof name, "device %" PRIu32, place);
		gt_writer_place(p.writer, (uint16_t)place, GT_OPENCL, name);
		e.handle = e.place = (uint16_t)place;
		gt_lane_event(p.lane, &e);
	}
	end_writer(p.writer);
	r = open_recording(folder, 0);
	while (gt_recording_next(r, &e, &process) > 0) {
		snprintf(name, sizeof name, "device %" PRIu64, e.handle);
		assert_string_equal(gt_recording_place(r, e.place), name);
		assert_in_range(e.place, 1, gt_recording_place_count(r) - 1);
	}
	assert_int_equal(gt_recording_place_count(r), 1 + UINT16_MAX / 500 + 1);
	gt_recording_close(r);
}

static void a_text_frame_is_the_same_in_all_processes(void **state)
{
	const struct gt_text_frame python = { .function = "train",
					      .file = "/src/train.py",
					      .line = 88 };
	const char *folder = fresh_folder();
	const struct gt_trace_frame *frames;
	const struct gt_text_frame *text;
	struct gt_event e, first = { 0 };
	uint32_t process;
	struct gt_recording *r;

	for (uint32_t pid = 11; pid < 13; pid++) {
		struct process p;
		uint64_t stack[3];

		start_process(&p, folder, pid);
		if (pid == 12) /* numbers must not matter */
			gt_writer_text_frame(p.writer, &(struct gt_text_frame){ .module = "x" });
		stack[0] = gt_writer_text_frame(p.writer, &python);
		stack[1] = p.base + 0x10;
		stack[2] = gt_writer_text_frame(p.writer, &(struct gt_text_frame){ .line = 89 });
		assert_int_equal(stack[0], gt_writer_text_frame(p.writer, &python));
		assert_int_not_equal(stack[0], stack[2]);
		gt_lane_event(p.lane,
			      &(struct gt_event){ .function = GT_FN_clCreateUserEvent,
						  .time_ns = gt_now_ns(),
						  .stack = gt_writer_stack(p.writer, stack, 3) });
		end_writer(p.writer);
	}
	r = open_recording(folder, 0);
	assert_int_equal(gt_recording_next(r, &first, &process), 1);
	assert_int_equal(gt_recording_next(r, &e, &process), 1);
	assert_int_equal(first.stack, e.stack);
	assert_int_equal(gt_recording_stack(r, e.stack, &frames), 3);
	assert_int_equal(frames[0].module, GT_TEXT_MODULE);
	text = gt_recording_text_frame(r, frames[0].address);
	assert_string_equal(text->function, "train");
	assert_string_equal(text->file, "/src/train.py");
	assert_string_equal(text->module, "");
	assert_int_equal(text->line, 88);
	assert_int_equal(gt_recording_text_frame(r, frames[2].address)->line, 89);
	assert_true(frames[1].module < gt_recording_module_count(r));
	gt_recording_close(r);
}

static void an_address_as_high_as_a_text_frame_stays_an_address(void **state)
{
	const char *folder = fresh_folder();
	uint64_t stack[] = { 0xffffffffff600000, GT_TEXT_FRAMES + 5 };
	const struct gt_trace_frame *frames;
	struct gt_recording *r;
	struct process p;
	struct gt_event e;
	uint32_t process;

	start_process(&p, folder, 11);
	gt_lane_event(p.lane, &(struct gt_event){ .function = GT_FN_clCreateUserEvent,
						  .time_ns = gt_now_ns(),
						  .stack = gt_writer_stack(p.writer, stack, 2) });
	end_writer(p.writer);
	r = open_recording(folder, 0);
	assert_int_equal(gt_recording_next(r, &e, &process), 1);
	assert_int_equal(gt_recording_stack(r, e.stack, &frames), 2);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(frames[i].module, GT_NO_MODULE);
		assert_int_equal(frames[i].address, stack[i]);
	}
	gt_recording_close(r);
}

struct heard {
	struct gt_sample samples[8];
	uint32_t processes[8];
	size_t count;
};

static void hear(void *context, uint32_t process, const struct gt_sample *sample)
{
	struct heard *h = context;

	assert_in_range(h->count, 0, 7);
	h->processes[h->count] = process;
	h->samples[h->count++] = *sample;
}

static void samples_are_ordered_by_time_and_are_not_a_process(void **state)
{
	const struct gt_series used = { "device memory used", "bytes", "GPU 0" };
	const char *folder = fresh_folder();
	struct gt_writer *beside;
	struct heard heard = { 0 };
	struct gt_recording *r;
	struct gt_lane *lane;
	struct process p;
	struct gt_event e;
	uint32_t process;
	uint64_t now;
	uint16_t series;
	char path[256];

	start_process(&p, folder, 11);
	now = gt_now_ns();
	series = gt_writer_series(p.writer, &(struct gt_series){ .name = "resident" });
	gt_lane_sample(p.lane, series, now + 3, -7);
	add(&p, NULL, now + 4, 1);
	end_writer(p.writer);
	snprintf(path, sizeof path, "%s/" GT_SYSTEM_TRACE, folder);
	assert_int_equal(
		gt_writer_open(&beside, path, &(struct gt_writer_options){ .start_ns = now }), 0);
	lane = gt_lane_acquire(beside, 0, "");
	series = gt_writer_series(beside, &used);
	assert_int_equal(series, gt_writer_series(beside, &used));
	gt_lane_sample(lane, series, now + 2, 1 << 30);
	gt_lane_sample(lane, series, now + 5, INT64_MAX);
	end_writer(beside);

	r = open_recording(folder, 0);
	gt_recording_on_sample(r, hear, &heard);
	assert_int_equal(gt_recording_process_count(r), 1);
	assert_int_equal(gt_recording_next(r, &e, &process), 1);
	assert_int_equal(e.time_ns, now + 4);
	assert_int_equal(heard.count, 2);
	assert_int_equal(gt_recording_next(r, &e, &process), 0);
	assert_int_equal(heard.count, 3);
	assert_int_equal(heard.processes[0], GT_NO_PROCESS);
	assert_int_equal(heard.processes[1], 0);
	assert_int_equal(heard.samples[0].value, 1 << 30);
	assert_int_equal(heard.samples[1].value, -7);
	assert_int_equal(heard.samples[2].value, INT64_MAX);
	assert_int_equal(heard.samples[0].series, heard.samples[2].series);
	assert_string_equal(gt_recording_series(r, heard.samples[0].series)->subject, "GPU 0");
	assert_string_equal(gt_recording_series(r, heard.samples[1].series)->name, "resident");
	assert_int_equal(gt_recording_series_count(r), 2);
	gt_recording_close(r);
	r = open_recording(folder, 11);
	gt_recording_on_sample(r, hear, &heard);
	while (gt_recording_next(r, &e, &process) > 0)
		;
	assert_int_equal(heard.count, 6);
	gt_recording_close(r);
}

struct paged {
	struct gt_paging paging[8];
	size_t count;
};

static void take_paging(void *context, uint32_t process, const struct gt_paging *paging)
{
	struct paged *p = context;

	assert_in_range(p->count, 0, 7);
	assert_int_equal(process, 0);
	p->paging[p->count++] = *paging;
}

static void paging_is_read_as_written_among_the_events(void **state)
{
	const char *folder = fresh_folder();
	uint64_t now = gt_now_ns();
	const struct gt_paging written[] = {
		{ now + 1, 0x7f0000000000, 1 << 21, GT_PAGING_TO_DEVICE, GT_PAGING_FAULT },
		{ now + 3, UINT64_MAX, UINT64_MAX, GT_PAGING_BETWEEN_DEVICES, GT_PAGING_EVICTION },
		{ now + 5, 0, 0, GT_PAGING_GPU_FAULT, GT_PAGING_UNKNOWN },
		{ now + 6, 8, 9, (enum gt_paging_effect)77, GT_PAGING_UNKNOWN },
		{ now + 7, 8, 9, GT_PAGING_TO_HOST, (enum gt_paging_cause)1000 },
	};
	struct paged paged = { 0 };
	struct gt_recording *r;
	struct process p;
	struct gt_event e;
	uint32_t process;

	start_process(&p, folder, 11);
	/* a sample of the first series must not look like it */
	gt_lane_sample(p.lane, gt_writer_series(p.writer, &(struct gt_series){ .name = "used" }),
		       now, 0);
	gt_lane_paging(p.lane, &written[0]);
	add(&p, NULL, now + 2, 1);
	for (size_t i = 1; i < 5; i++)
		gt_lane_paging(p.lane, &written[i]);
	end_writer(p.writer);

	r = open_recording(folder, 0);
	gt_recording_on_paging(r, take_paging, &paged);
	assert_int_equal(gt_recording_next(r, &e, &process), 1);
	assert_int_equal(e.time_ns, now + 2);
	assert_int_equal(paged.count, 1);
	assert_int_equal(gt_recording_next(r, &e, &process), 0);
	/* one of them has an effect that this version does not know, another such a cause */
	assert_int_equal(paged.count, 4);
	for (size_t i = 0; i < 3; i++)
		assert_memory_equal(&paged.paging[i], &written[i], sizeof written[i]);
	assert_int_equal(paged.paging[3].effect, GT_PAGING_TO_HOST);
	assert_int_equal(paged.paging[3].cause, GT_PAGING_UNKNOWN);
	gt_recording_close(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_same_code_in_two_processes_is_the_same_stack),
		cmocka_unit_test(another_build_of_a_library_is_another_stack),
		cmocka_unit_test(places_with_the_same_name_share_one_id),
		cmocka_unit_test(every_place_id_is_below_the_count),
		cmocka_unit_test(a_text_frame_is_the_same_in_all_processes),
		cmocka_unit_test(an_address_as_high_as_a_text_frame_stays_an_address),
		cmocka_unit_test(samples_are_ordered_by_time_and_are_not_a_process),
		cmocka_unit_test(paging_is_read_as_written_among_the_events),
	};

	return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
