/* test_recording.c - the traces of a folder become one stream with numbers of its own. */
#include <inttypes.h>

#include "test_writer.h"

#include "base/clock.h"
#include "trace/recording.h"

/* A process of a recording: where its libraries lie, and its open trace. */
struct process {
	uint64_t base;       /* address randomisation */
	uint8_t build_id;    /* of the library */
	bool told;
	struct gt_writer *writer;
	struct gt_lane *lane;
	uint32_t pid;
};

static void tell_modules(struct gt_writer *w, void *context)
{
	struct process *p = context;
	struct gt_module program = { .start = p->base,
				     .size = 0x1000,
				     .bias = p->base,
				     .path = "/bin/p",
				     .build_id = (const uint8_t *)"pppp",
				     .build_id_size = 4 };
	struct gt_module library = { .start = p->base + 0x5000,
				     .size = 0x1000,
				     .bias = p->base + 0x5000,
				     .path = "/lib/l.so",
				     .build_id = &p->build_id,
				     .build_id_size = 1 };

	if (p->told)
		return;
	p->told = true;
	/* in another order in every other process: numbers must not matter */
	gt_writer_module(w, 0, p->pid % 2 ? &program : &library);
	gt_writer_module(w, 1, p->pid % 2 ? &library : &program);
}

static const char *fresh_folder(void)
{
	const char *path = fresh_path("recording.gt");

	assert_int_equal(mkdir(path, 0700), 0);
	return path;
}

static void start_process(struct process *p, const char *folder, uint32_t pid)
{
	struct gt_writer_options options = {
		.pid = pid, .ppid = 1, .modules = tell_modules, .context = p
	};
	char path[256];

	*p = (struct process){ .pid = pid, .base = 0x7f0000000000 + pid * 0x100000, .build_id = 1 };
	snprintf(path, sizeof path, "%s/%u.trace", folder, pid);
	assert_int_equal(gt_writer_open(&p->writer, path, &options), 0);
	p->lane = gt_lane_acquire(p->writer, pid, "main");
}

/* A stack through the program and its library, `depth` telling stacks apart. */
static uint32_t stack_of(struct process *p, uint64_t depth)
{
	uint64_t frames[] = { p->base + 0x5000 + depth, p->base + 0x10, 0x42 };

	return gt_writer_stack(p->writer, frames, 3);
}

static void add(struct process *p, struct events *all, uint64_t time_ns, uint64_t handle)
{
	struct gt_event e = { .time_ns = time_ns,
			      .handle = handle,
			      .tid = p->pid,
			      .stack = stack_of(p, 1),
			      .function = GT_FN_clCreateUserEvent };

	gt_lane_event(p->lane, &e);
	if (all)
		add_event(all, &e);
}

static struct gt_recording *open_recording(const char *path, uint32_t pid)
{
	struct gt_recording_options options = { .pid = pid };
	struct gt_recording *r;
	struct gt_error error = { "" };

	if (gt_recording_open(&r, path, pid ? &options : NULL, &error))
		fail_msg("%s", error.text);
	return r;
}

static void refuse(const char *path, uint32_t pid, int code, const char *reason)
{
	struct gt_recording_options options = { .pid = pid };
	struct gt_recording *r;
	struct gt_error error = { "" };
	int e = gt_recording_open(&r, path, &options, &error);

	if (!e)
		gt_recording_close(r);
	assert_int_equal(e, code);
	assert_non_null(strstr(error.text, reason));
	assert_non_null(strstr(error.text, path));
}

/* Three processes whose events alternate; the last one starts when the others have begun. */
static const char *write_three(struct events *all)
{
	const char *folder = fresh_folder();
	struct process p[3];
	uint64_t now;

	*all = (struct events){ 0 };
	start_process(&p[0], folder, 11);
	start_process(&p[1], folder, 12);
	now = gt_now_ns();
	for (uint64_t i = 0; i < 100; i++)
		add(&p[i % 2], all, now + i, i);
	while (gt_now_ns() < now + 200)
		continue;
	start_process(&p[2], folder, 13);
	now = gt_now_ns();
	for (uint64_t i = 0; i < 99; i++)
		add(&p[i % 3], all, now + i, i);
	for (size_t i = 0; i < 3; i++)
		end_writer(p[i].writer);
	return folder;
}

static void processes_are_merged_by_time(void **state)
{
	struct events all;
	const char *folder = write_three(&all);
	struct gt_recording *r = open_recording(folder, 0);
	struct gt_event e;
	uint32_t process;
	size_t count = 0;

	assert_int_equal(gt_recording_process_count(r), 3);
	assert_string_equal(gt_recording_path(r), folder);
	for (; gt_recording_next(r, &e, &process) > 0; count++) {
		assert_true(count < all.count);
		assert_int_equal(e.time_ns, all.list[count].time_ns);
		assert_int_equal(e.handle, all.list[count].handle);
		assert_int_equal(gt_recording_process(r, process)->pid, all.list[count].tid);
	}
	assert_int_equal(count, all.count);
	assert_int_equal(gt_recording_next(r, &e, &process), 0);
	assert_int_equal(gt_recording_start_ns(r), gt_recording_process(r, 0)->start_ns);
	gt_recording_close(r);
	free(all.list);
}

static void rewinding_gives_the_same_events_again(void **state)
{
	struct events all, first = { 0 };
	struct gt_recording *r = open_recording(write_three(&all), 0);
	struct gt_event e;
	uint32_t process;

	while (gt_recording_next(r, &e, &process) > 0)
		add_event(&first, &e);
	/* after the end, and then in the middle */
	for (int round = 0; round < 3; round++) {
		size_t stop = round == 1 ? 50 : first.count, count = 0;

		gt_recording_rewind(r);
		for (; count < stop && gt_recording_next(r, &e, &process) > 0; count++)
			assert_same_event(&e, &first.list[count]);
		assert_int_equal(count, stop);
	}
	assert_int_equal(gt_recording_next(r, &e, &process), 0);
	gt_recording_close(r);
	free(first.list);
	free(all.list);
}

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

static void only_the_wanted_process_is_read(void **state)
{
	struct events all;
	const char *folder = write_three(&all);
	struct gt_recording *r = open_recording(folder, 12);
	struct gt_event e;
	uint32_t process;
	size_t count = 0;

	assert_int_equal(gt_recording_process_count(r), 1);
	for (; gt_recording_next(r, &e, &process) > 0; count++)
		assert_int_equal(e.tid, 12);
	assert_int_equal(count, 83);
	gt_recording_close(r);
	refuse(folder, 99, -ESRCH, "no process 99");
	free(all.list);
}

static void a_folder_without_traces_is_no_recording(void **state)
{
	const char *folder = fresh_folder();
	struct image text = { (uint8_t *)"gputrack: 1.0\n", 14 };
	struct gt_recording *r;
	struct gt_event e;
	uint32_t process;
	char path[256];

	refuse(folder, 0, -EINVAL, "has no traces");
	/* unless it says that it is one, in which nothing was tracked */
	snprintf(path, sizeof path, "%s/info", folder);
	save_image(path, &text);
	r = open_recording(folder, 0);
	assert_string_equal(gt_recording_info(r, "gputrack"), "1.0");
	assert_string_equal(gt_recording_info(r, "none"), "");
	assert_int_equal(gt_recording_process_count(r), 0);
	assert_int_equal(gt_recording_next(r, &e, &process), 0);
	assert_int_equal(gt_recording_start_ns(r), 0);
	gt_recording_close(r);
}

static void what_is_not_there_or_no_trace_is_refused(void **state)
{
	struct image text = { (uint8_t *)"hello", 5 };
	const char *path = fresh_path("none");

	refuse(path, 0, -ENOENT, "cannot open");
	save_image(path, &text);
	refuse(path, 0, -EINVAL, "too short");
}

static void a_single_trace_is_a_recording_too(void **state)
{
	const char *folder = fresh_folder();
	struct process p;
	struct gt_recording *r;
	struct gt_event e;
	uint32_t process;
	char path[256];

	start_process(&p, folder, 31);
	add(&p, NULL, gt_now_ns(), 5);
	end_writer(p.writer);
	snprintf(path, sizeof path, "%s/31.trace", folder);
	r = open_recording(path, 0);
	assert_int_equal(gt_recording_process_count(r), 1);
	assert_int_equal(gt_recording_next(r, &e, &process), 1);
	assert_int_equal(e.handle, 5);
	gt_recording_close(r);
	gt_recording_close(open_recording(path, 31));
	refuse(path, 99, -ESRCH, "no process 99");
}

static void processes_tell_what_they_are(void **state)
{
	const char *folder = fresh_folder();
	struct process p;
	struct gt_recording *r;
	const struct gt_process *got;
	struct gt_event e;
	uint32_t process;

	start_process(&p, folder, 41);
	gt_writer_info(p.writer, "program", "/bin/p", 6);
	gt_writer_info(p.writer, "command", "p\0-x\0a b\0", 9);
	gt_writer_info(p.writer, "csv", "/tmp/t_pid41.csv", 16);
	gt_writer_lose(p.writer, 6);
	add(&p, NULL, gt_now_ns(), 5);
	end_writer(p.writer);
	r = open_recording(folder, 0);
	while (gt_recording_next(r, &e, &process) > 0)
		continue;
	got = gt_recording_process(r, 0);
	assert_int_equal(got->pid, 41);
	assert_int_equal(got->ppid, 1);
	assert_string_equal(got->file, "41.trace");
	assert_string_equal(got->program, "/bin/p");
	assert_string_equal(got->command, "p -x a b");
	assert_string_equal(got->csv, "/tmp/t_pid41.csv");
	assert_string_equal(got->rank, "");
	assert_int_equal(got->state, GT_TRACE_ENDED);
	assert_int_equal(got->lost, 6);
	assert_int_equal(got->last_ns, e.time_ns);
	assert_null(got->damage);
	gt_recording_close(r);
}

struct ends {
	unsigned count;
	uint32_t process;
	uint64_t time_ns;
};

static void note_end(void *context, uint32_t process, uint64_t time_ns)
{
	*(struct ends *)context =
		(struct ends){ ((struct ends *)context)->count + 1, process, time_ns };
}

static void the_end_of_a_process_is_told_before_others_go_on(void **state)
{
	const char *folder = fresh_folder();
	struct process p[2];
	struct gt_recording *r;
	struct ends ends = { 0 };
	struct gt_event e;
	uint32_t process;

	start_process(&p[0], folder, 61);
	start_process(&p[1], folder, 62);
	add(&p[0], NULL, gt_now_ns(), 1);
	add(&p[1], NULL, gt_now_ns(), 2);
	end_writer(p[0].writer);
	add(&p[1], NULL, gt_now_ns() + 1, 3);
	end_writer(p[1].writer);
	r = open_recording(folder, 0);
	gt_recording_on_end(r, note_end, &ends);
	for (int round = 0; round < 2; round++) {
		ends.count = 0;
		while (gt_recording_next(r, &e, &process) > 0)
			assert_int_equal(ends.count, e.handle == 3);
		/* the last one's end is everybody's end */
		assert_int_equal(ends.count, 1);
		assert_int_equal(gt_recording_process(r, ends.process)->pid, 61);
		assert_int_equal(ends.time_ns, gt_recording_process(r, ends.process)->end_ns);
		gt_recording_rewind(r);
	}
	gt_recording_close(r);
}

static void places_of_one_name_have_one_number(void **state)
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

/* A recording may name any number of them: who counts by place needs as much room. */
static void every_place_is_below_their_count(void **state)
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

static void a_damaged_trace_does_not_hide_the_others(void **state)
{
	struct events all;
	const char *folder = write_three(&all);
	struct image junk = { (uint8_t *)"junk", 4 };
	struct gt_recording *r;
	struct gt_event e;
	uint32_t process;
	char path[256];
	size_t count = 0;

	snprintf(path, sizeof path, "%s/77.trace", folder);
	save_image(path, &junk);
	snprintf(path, sizeof path, "%s/12.trace", folder);
	assert_int_equal(truncate(path, 4096), 0);
	r = open_recording(folder, 0);
	assert_int_equal(gt_recording_process_count(r), 4);
	for (; gt_recording_next(r, &e, &process) > 0; count++)
		assert_int_not_equal(e.tid, 12);
	assert_int_equal(count, all.count - 83);
	for (size_t i = 0; i < 4; i++) {
		const struct gt_process *p = gt_recording_process(r, i);

		assert_true((p->pid == 12 || p->pid == 77) == !!p->damage);
	}
	gt_recording_close(r);
	free(all.list);
}

static void a_frame_known_by_its_text_is_the_same_in_all_processes(void **state)
{
	const struct gt_text_frame python = { .function = "train", .file = "/src/train.py",
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
		gt_lane_event(p.lane, &(struct gt_event){
			.function = GT_FN_clCreateUserEvent, .time_ns = gt_now_ns(),
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

static void an_address_as_high_as_a_text_frame_s_stays_an_address(void **state)
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

static void samples_come_in_their_turn_and_are_no_process(void **state)
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
	assert_int_equal(gt_writer_open(&beside, path,
					&(struct gt_writer_options){ .start_ns = now }), 0);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(processes_are_merged_by_time),
		cmocka_unit_test(rewinding_gives_the_same_events_again),
		cmocka_unit_test(the_same_code_in_two_processes_is_the_same_stack),
		cmocka_unit_test(another_build_of_a_library_is_another_stack),
		cmocka_unit_test(only_the_wanted_process_is_read),
		cmocka_unit_test(a_folder_without_traces_is_no_recording),
		cmocka_unit_test(what_is_not_there_or_no_trace_is_refused),
		cmocka_unit_test(a_single_trace_is_a_recording_too),
		cmocka_unit_test(processes_tell_what_they_are),
		cmocka_unit_test(the_end_of_a_process_is_told_before_others_go_on),
		cmocka_unit_test(places_of_one_name_have_one_number),
		cmocka_unit_test(every_place_is_below_their_count),
		cmocka_unit_test(a_frame_known_by_its_text_is_the_same_in_all_processes),
		cmocka_unit_test(an_address_as_high_as_a_text_frame_s_stays_an_address),
		cmocka_unit_test(samples_come_in_their_turn_and_are_no_process),
		cmocka_unit_test(a_damaged_trace_does_not_hide_the_others),
	};

	return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
