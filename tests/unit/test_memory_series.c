/* SPDX-License-Identifier: MIT */
/* test_memory_series.c - the parts of a device's memory over time, held against single moments. */
#include "test_recording.h"

#include "ledger/ledger.h"
#include "replay/memory_series.h"
#include "replay/replay.h"

enum { MIB = 1 << 20, MS = 1000000, SEGMENTS = 12, BLOCKS = 8, STEPS = 900 };

/* A random program with a pool, own memory, code, graphs and samples of NVML. */
struct program {
	struct process process;
	uint64_t seed, now;
	bool segments[SEGMENTS], blocks[SEGMENTS][BLOCKS], own[SEGMENTS];
	uint16_t series;
	bool is_plain; /* no code, no graphs */
};

static uint64_t pick(struct program *p, uint64_t below)
{
	p->seed = p->seed * 6364136223846793005u + 1442695040888963407u;
	return (p->seed >> 33) % below;
}

static void put(struct program *p, uint16_t function, uint64_t handle, uint64_t size,
		uint64_t depth)
{
	gt_lane_event(p->process.lane, &(struct gt_event){ .time_ns = p->now,
							   .handle = handle,
							   .size = size,
							   .place = 1,
							   .function = function,
							   .stack = stack_of(&p->process, depth) });
}

static uint64_t segment_at(uint64_t i)
{
	return 0x10000000 + i * 0x4000000;
}

static void change_segment(struct program *p)
{
	uint64_t i = pick(p, SEGMENTS);

	for (size_t k = 0; p->segments[i] && k < BLOCKS; k++)
		if (p->blocks[i][k])
			return;
	p->segments[i] = !p->segments[i];
	if (p->segments[i])
		put(p, GT_FN_cuMemAlloc_v2, segment_at(i), 20 * MIB, 1);
	else
		put(p, GT_FN_cuMemFree_v2, segment_at(i), 0, 2);
}

static void change_block(struct program *p)
{
	uint64_t i = pick(p, SEGMENTS), k = pick(p, BLOCKS);

	if (!p->segments[i])
		return;
	p->blocks[i][k] = !p->blocks[i][k];
	put(p, p->blocks[i][k] ? GT_FN_torchBlock : GT_FN_torchBlockFreed,
	    segment_at(i) + k * 2 * MIB, p->blocks[i][k] ? 2 * MIB - 512 * k : 0, 3 + k % 2);
}

static void change_own(struct program *p)
{
	uint64_t i = pick(p, SEGMENTS), at = 0x700000000 + i * 0x1000000;

	p->own[i] = !p->own[i];
	put(p, p->own[i] ? GT_FN_cuMemAlloc_v2 : GT_FN_cuMemFree_v2, at,
	    p->own[i] ? 3 * MIB + i : 0, 5);
}

static void step(struct program *p)
{
	uint64_t what = pick(p, 20);

	/* now and then at the same time as the event before, and after a long pause */
	p->now += what % 3 ? pick(p, 3) * MS : what == 3 ? 80 * MS : 0;
	if (what < 4)
		change_segment(p);
	else if (what < 15)
		change_block(p);
	else if (what < 18)
		change_own(p);
	else if (what == 18 && !p->is_plain)
		put(p, pick(p, 2) ? GT_FN_cudaCodeMemory : GT_FN_cudaGraphMemory, p->now,
		    4096 + pick(p, MIB), 6);
	else if (what == 19)
		gt_lane_sample(p->process.lane, p->series, p->now,
			       (int64_t)((400 + pick(p, 200)) * MIB));
}

struct opened {
	struct gt_view view;
	struct gt_memory_series series;
};

static void write_program(const char *folder, uint64_t seed, const char *reported)
{
	struct program *p = gt_alloc(sizeof *p);

	p->seed = seed;
	p->is_plain = !*reported;
	start_process(&p->process, folder, 11);
	p->now = gt_now_ns();
	gt_writer_place(p->process.writer, 1, GT_CUDA, "GPU 0: Model");
	p->series = gt_writer_series(p->process.writer,
				     &(struct gt_series){ .name = reported,
							  .unit = "bytes",
							  .subject = "GPU 0: Model" });
	for (int i = 0; i < STEPS; i++)
		step(p);
	gt_writer_end_at(p->process.writer, p->now + 10 * MS);
	gt_writer_free(p->process.writer);
	free(p);
}

static void open_program(struct opened *o, const char *folder)
{
	struct gt_frames_options options = { .no_symbols = true };

	*o = (struct opened){ .view.recording = open_recording(folder, 0) };
	assert_int_equal(gt_frames_new(&o->view.frames, o->view.recording, &options), 0);
	o->view.ledger = gt_replay_run(o->view.recording, &(struct gt_replay){ .samples = true });
	gt_memory_series_init(&o->series, &o->view);
}

static void close_program(struct opened *o)
{
	gt_memory_series_fini(&o->series);
	gt_ledger_free((struct gt_ledger *)o->view.ledger);
	gt_frames_free(o->view.frames);
	gt_recording_close(o->view.recording);
}

static size_t compare(const struct opened *o, uint64_t seen[GT_PART_COUNT])
{
	const struct gt_device_series *d = gt_memory_series_main(&o->series, &o->view);
	size_t compared = 0;

	assert_non_null(d);
	for (size_t i = 0; i < o->series.column_count; i++) {
		const struct gt_memory_column *c = &d->columns[i];
		struct gt_memory_moment m;

		if (!c->time_ns || (i && c->time_ns == d->columns[i - 1].time_ns))
			continue;
		gt_memory_init(&m, &o->view, c->time_ns);
		for (int part = 0; m.device_count && part < GT_PART_COUNT; part++) {
			assert_int_equal(c->parts[part], m.devices[0].parts[part].bytes);
			seen[part] += c->parts[part];
		}
		if (m.device_count)
			assert_int_equal(c->total, m.devices[0].program);
		compared += m.device_count;
		gt_memory_fini(&m);
	}
	return compared;
}

static void each_column_is_what_a_report_of_its_moment_says(void **state)
{
	static const char *const reported[] = { GT_SERIES_PROGRAM_USED, GT_SERIES_DEVICE_USED,
						"something else" };
	uint64_t seen[GT_PART_COUNT] = { 0 };

	(void)state;
	for (uint64_t i = 0; i < 3; i++) {
		const char *folder = fresh_folder();
		struct opened o;

		write_program(folder, 7 + i, reported[i]);
		open_program(&o, folder);
		assert_int_equal(o.series.device_count, 1);
		assert_int_equal(o.series.devices[0].is_reported, i < 2);
		assert_in_range(compare(&o, seen), 100, GT_MEMORY_COLUMNS);
		close_program(&o);
	}
	/* the test is about all of these */
	for (int part = 0; part < GT_PART_COUNT; part++)
		if (part != GT_PART_LIBRARIES && part != GT_PART_STATICS)
			assert_int_not_equal(seen[part], 0);
}

/* The first context takes 500 MiB, and the GPU is asked again only after memory was allocated. */
static void write_late_answers(const char *folder)
{
	struct program *p = gt_alloc(sizeof *p);

	start_process(&p->process, folder, 11);
	p->now = gt_now_ns();
	gt_writer_place(p->process.writer, 1, GT_CUDA, "GPU 0: Model");
	p->series = gt_writer_series(p->process.writer,
				     &(struct gt_series){ .name = GT_SERIES_PROGRAM_USED,
							  .unit = "bytes",
							  .subject = "GPU 0: Model" });
	/* in the making */
	gt_lane_sample(p->process.lane, p->series, p->now += MS, 20 * MIB);
	p->now += 10 * MS;
	put(p, GT_FN_cuCtxCreate_v4, 0xc0, 0, 1);
	p->now += 150 * MS;
	put(p, GT_FN_cuMemAlloc_v2, 0x10000000, 100 * MIB, 2);
	gt_lane_sample(p->process.lane, p->series, p->now += 50 * MS, 600 * MIB);
	p->now += 100 * MS;
	put(p, GT_FN_cuMemAlloc_v2, 0x20000000, 50 * MIB, 2);
	gt_lane_sample(p->process.lane, p->series, p->now += 50 * MS, 650 * MIB);
	gt_writer_end_at(p->process.writer, p->now + 10 * MS);
	gt_writer_free(p->process.writer);
	free(p);
}

static void the_first_context_is_known_where_the_gpu_answers_late(void **state)
{
	const char *folder = fresh_folder();
	struct gt_memory_moment m;
	struct opened o;

	(void)state;
	write_late_answers(folder);
	open_program(&o, folder);
	gt_memory_init(&m, &o.view, o.view.ledger->last_ns);
	assert_int_equal(m.device_count, 1);
	assert_int_equal(m.devices[0].parts[GT_PART_PLACES].bytes, 150 * MIB);
	assert_int_equal(m.devices[0].parts[GT_PART_CONTEXTS].bytes, 500 * MIB);
	assert_int_equal(m.devices[0].parts[GT_PART_UNKNOWN].bytes, 0);
	gt_memory_fini(&m);
	close_program(&o);
}

static void the_highest_column_is_the_peak(void **state)
{
	const char *folder = fresh_folder();
	const struct gt_device_series *d;
	struct opened o;

	(void)state;
	write_program(folder, 42, "");
	open_program(&o, folder);
	d = &o.series.devices[0];
	assert_int_equal(d->columns[d->highest].total, o.view.ledger->peak_bytes);
	close_program(&o);
}

static void what_an_ended_process_held_is_gone(void **state)
{
	const char *folder = fresh_folder();
	struct process p[2];
	struct opened o;
	const struct gt_memory_column *last;
	uint64_t now;

	(void)state;
	start_process(&p[0], folder, 11);
	start_process(&p[1], folder, 12);
	now = gt_now_ns();
	for (int i = 0; i < 2; i++) {
		gt_lane_event(p[i].lane, &(struct gt_event){ .time_ns = now + i * MS,
							     .function = GT_FN_cuMemAlloc_v2,
							     .handle = 0x1000000,
							     .size = 20 * MIB,
							     .stack = stack_of(&p[i], 1) });
		gt_lane_event(p[i].lane, &(struct gt_event){ .time_ns = now + (2 + i) * MS,
							     .function = GT_FN_torchBlock,
							     .handle = 0x1000000,
							     .size = 3 * MIB,
							     .stack = stack_of(&p[i], 2) });
	}
	gt_writer_end_at(p[0].writer, now + 10 * MS);
	gt_lane_event(p[1].lane, &(struct gt_event){ .time_ns = now + 100 * MS,
						     .function = GT_FN_cuMemAlloc_v2,
						     .handle = 0x9000000,
						     .size = MIB,
						     .stack = stack_of(&p[1], 3) });
	gt_writer_end_at(p[1].writer, now + 200 * MS);
	gt_writer_free(p[0].writer);
	gt_writer_free(p[1].writer);
	open_program(&o, folder);
	assert_int_equal(o.series.devices[0].columns[o.series.devices[0].highest].total, 40 * MIB);
	last = &o.series.devices[0].columns[gt_memory_series_column(&o.series, now + 150 * MS)];
	assert_int_equal(last->parts[GT_PART_PLACES], 4 * MIB);
	assert_int_equal(last->parts[GT_PART_FRAGMENTED], 17 * MIB);
	compare(&o, (uint64_t[GT_PART_COUNT]){ 0 });
	close_program(&o);
}

/* A context, or a process, takes a segment along with the blocks in it. */
static void segments_that_end_with_their_blocks_end_whole(void **state)
{
	for (int by_context = 0; by_context < 2; by_context++) {
		const char *folder = fresh_folder();
		const struct gt_memory_column *last;
		struct process p, other;
		struct opened o;
		uint16_t series;
		uint64_t now;

		start_process(&p, folder, 11);
		start_process(&other, folder, 12);
		now = gt_now_ns();
		gt_writer_place(other.writer, 1, GT_CUDA, "GPU 0: Model");
		gt_writer_place(p.writer, 1, GT_CUDA, "GPU 0: Model");
		series = gt_writer_series(other.writer,
					  &(struct gt_series){ .name = GT_SERIES_DEVICE_USED,
							       .unit = "bytes",
							       .subject = "GPU 0: Model" });
		gt_lane_sample(other.lane, series, now, 500 * MIB);
		gt_lane_event(p.lane, &(struct gt_event){ .time_ns = now + MS,
							  .function = GT_FN_cuCtxCreate_v2,
							  .handle = 0xc0,
							  .place = 1,
							  .stack = stack_of(&p, 1) });
		gt_lane_event(p.lane, &(struct gt_event){ .time_ns = now + 2 * MS,
							  .function = GT_FN_cuMemAlloc_v2,
							  .handle = 0x1000000,
							  .size = 20 * MIB,
							  .owner = 0xc0,
							  .place = 1,
							  .stack = stack_of(&p, 2) });
		gt_lane_event(p.lane, &(struct gt_event){ .time_ns = now + 3 * MS,
							  .function = GT_FN_torchBlock,
							  .handle = 0x1000000,
							  .size = 3 * MIB,
							  .place = 1,
							  .stack = stack_of(&p, 3) });
		gt_lane_sample(other.lane, series, now + 4 * MS, 520 * MIB);
		if (by_context)
			gt_lane_event(p.lane, &(struct gt_event){ .time_ns = now + 5 * MS,
								  .function = GT_FN_cuCtxDestroy_v2,
								  .handle = 0xc0,
								  .stack = stack_of(&p, 4) });
		gt_writer_end_at(p.writer, now + (by_context ? 200 : 5) * MS);
		gt_lane_event(other.lane, &(struct gt_event){ .time_ns = now + 50 * MS,
							      .function = GT_FN_cuMemAlloc_v2,
							      .handle = 0x9000000,
							      .size = MIB,
							      .place = 1,
							      .stack = stack_of(&other, 5) });
		/* one MiB of it is nobody's */
		gt_lane_sample(other.lane, series, now + 60 * MS, 502 * MIB);
		gt_writer_end_at(other.writer, now + 200 * MS);
		gt_writer_free(p.writer);
		gt_writer_free(other.writer);
		open_program(&o, folder);
		last = &o.series.devices[0]
				.columns[gt_memory_series_column(&o.series, now + 100 * MS)];
		assert_int_equal(last->parts[GT_PART_PLACES], MIB);
		assert_int_equal(last->total, 2 * MIB);
		compare(&o, (uint64_t[GT_PART_COUNT]){ 0 });
		close_program(&o);
	}
}

static void without_device_memory_there_is_no_device(void **state)
{
	const char *folder = fresh_folder();
	struct process p;
	struct opened o;

	(void)state;
	start_process(&p, folder, 11);
	add(&p, NULL, gt_now_ns(), 1);
	end_writer(p.writer);
	open_program(&o, folder);
	assert_int_equal(o.series.device_count, 0);
	assert_null(gt_memory_series_main(&o.series, &o.view));
	close_program(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_column_is_what_a_report_of_its_moment_says),
		cmocka_unit_test(the_first_context_is_known_where_the_gpu_answers_late),
		cmocka_unit_test(the_highest_column_is_the_peak),
		cmocka_unit_test(what_an_ended_process_held_is_gone),
		cmocka_unit_test(segments_that_end_with_their_blocks_end_whole),
		cmocka_unit_test(without_device_memory_there_is_no_device),
	};

	return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
