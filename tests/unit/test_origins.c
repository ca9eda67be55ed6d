/* SPDX-License-Identifier: MIT */
/* test_origins.c - size, owner and place of creations: their bytes, also in traces of version 1. */
#include "test_writer.h"

#include "trace/origin.h"

enum { TID = 9 };

/* In a trace that defines them in this order, their numbers count from 1. */
static const uint16_t functions[] = { GT_FN_clCreateContext,      GT_FN_clCreateBuffer,
				      GT_FN_clCreateCommandQueue, GT_FN_clCreateImage,
				      GT_FN_clReleaseMemObject,   GT_FN_clRetainMemObject,
				      GT_FN_clReleaseContext };
enum { FUNCTIONS = sizeof functions / sizeof *functions };

static bool creates(const struct gt_event *e)
{
	return gt_functions[e->function].effect == GT_CREATE;
}

/* Creations with any owner; every eighth call fails. */
static struct gt_event next_event(uint64_t *seed, uint64_t time_ns)
{
	static const uint64_t owners[] = { 0, 0xc0, 0xc0, 0x7f1200345000, UINT64_MAX };
	static const uint64_t sizes[] = { 0, 0, 64, 1 << 30, UINT64_MAX };
	uint64_t dice = random_word(seed);
	struct gt_event e = { .time_ns = time_ns,
			      .tid = TID,
			      .handle = 0x7f0000000000 + (dice >> 8) % 64 * 16,
			      .function = functions[dice % FUNCTIONS],
			      .failed = dice >> 20 & 7 ? 0 : 1 };

	if (creates(&e)) {
		e.owner = owners[(dice >> 24) % 5];
		e.size = sizes[(dice >> 32) % 5];
		e.place = (uint16_t)((dice >> 40) % 8 ? (dice >> 43) % 2 : dice >> 48);
	}
	if (e.failed)
		e.result = -5;
	return e;
}

/* As in version 1: each creation has size, owner and place; owners differ from the lane's last. */
static uint8_t *put_version_1(uint8_t *at, const struct gt_event *e, struct gt_event *before)
{
	uint64_t number = 1;

	while (functions[number - 1] != e->function)
		number++;
	at = gt_put_varint(at, GT_TAG_EVENT + 2 * number + e->failed);
	at = gt_put_varint(at, gt_delta(before->time_ns, e->time_ns));
	at = gt_put_varint(at, gt_delta(before->handle, e->handle));
	if (creates(e)) {
		at = gt_put_varint(at, e->size);
		at = gt_put_varint(at, gt_delta(before->owner, e->owner));
		at = gt_put_varint(at, e->place);
		before->owner = e->owner;
	}
	if (e->failed)
		at = gt_put_varint(at, gt_zigzag(e->result));
	before->time_ns = e->time_ns;
	before->handle = e->handle;
	return gt_put_varint(at, 0);
}

static void a_trace_of_version_1_is_read(void **state)
{
	const char *path = fresh_path("trace");
	struct gt_writer *w = open_writer(path);
	struct gt_lane *lane = gt_lane_acquire(w, TID, "main");
	struct gt_event before;
	struct events all = { 0 };
	struct image image;
	struct gt_block_header *b;
	uint64_t seed = 3;
	uint8_t *at, *end;

	for (int i = 0; i < FUNCTIONS; i++)
		gt_lane_event(lane, &(struct gt_event){ .function = functions[i] });
	end_writer(w);
	image = load_image(path);
	header_of(&image)->version = 1;
	b = block_of(&image, 1, 0);
	b->owner = 0xc0;
	before = (struct gt_event){ .time_ns = b->time_ns, .handle = b->handle, .owner = b->owner };
	at = (uint8_t *)(b + 1);
	end = (uint8_t *)b + b->size - sizeof(struct gt_trace_arguments) - GT_EVENT_MAX;
	while (at < end) {
		struct gt_event e = next_event(&seed, 1000 + all.count);

		at = put_version_1(at, &e, &before);
		add_event(&all, &e);
	}
	b->used = (uint32_t)(at - (uint8_t *)(b + 1));
	save_image(path, &image);
	assert_trace_holds(path, &all);
	free(image.data);
	free(all.list);
}

static void a_trace_holds_any_size_owner_and_place(void **state)
{
	const char *path = fresh_path("trace");
	struct gt_writer *w = open_writer(path);
	struct gt_lane *lane = gt_lane_acquire(w, TID, "main");
	struct events all = { 0 };
	uint64_t seed = 4;

	while (all.count < 50000) {
		struct gt_event e = next_event(&seed, 1000 + all.count);

		gt_lane_event(lane, &e);
		add_event(&all, &e);
	}
	end_writer(w);
	assert_trace_holds(path, &all);
	free(all.list);
}

/* More functions than origins, in turn, each with an owner and a place of its own. */
static void functions_that_share_an_origin_keep_their_owners_apart(void **state)
{
	const char *path = fresh_path("trace");
	struct gt_writer *w = open_writer(path);
	struct gt_lane *lane = gt_lane_acquire(w, TID, "main");
	struct events all = { 0 };
	unsigned creators = 0;

	for (int round = 0; round < 20; round++) {
		creators = 0;
		for (uint16_t fn = 1; fn < GT_FN_COUNT && creators < 3 * GT_ORIGINS; fn++) {
			struct gt_event e = { .time_ns = 1000 + all.count,
					      .tid = TID,
					      .function = fn,
					      .owner = 0x555500000000 + fn * 4096u,
					      .place = fn };

			if (!creates(&e))
				continue;
			creators++;
			gt_lane_event(lane, &e);
			add_event(&all, &e);
		}
	}
	assert_int_equal(creators, 3 * GT_ORIGINS);
	end_writer(w);
	assert_trace_holds(path, &all);
	free(all.list);
}

static void owners_are_right_after_a_missing_block(void **state)
{
	const char *path = fresh_path("trace");
	struct gt_writer *w = open_writer(path);
	struct gt_lane *lane = gt_lane_acquire(w, TID, "main");
	struct events all = { 0 }, got;
	struct image image;
	char damage[256];
	uint64_t seed = 5;

	while (all.count < 20000) {
		struct gt_event e = next_event(&seed, 1000 + all.count);

		gt_lane_event(lane, &e);
		add_event(&all, &e);
	}
	end_writer(w);
	image = load_image(path);
	memset(block_of(&image, 1, 1), 0, sizeof(struct gt_block_header));
	save_image(path, &image);
	got = read_events(path, damage);
	assert_non_null(strstr(damage, "gone"));
	assert_in_range(got.count, 10000, all.count - 1);
	for (size_t i = 0; i < got.count; i++)
		assert_same_event(&got.list[i], &all.list[got.list[i].time_ns - 1000]);
	free(image.data);
	free(got.list);
	free(all.list);
}

static void unknown_flags_of_a_creation_are_damage(void **state)
{
	const char *path = fresh_path("trace"), *changed = fresh_path("trace");
	struct gt_writer *w = open_writer(path);

	gt_lane_event(gt_lane_acquire(w, TID, "main"),
		      &(struct gt_event){ .time_ns = 1000, .function = GT_FN_clCreateBuffer });
	end_writer(w);
	for (unsigned flags = 0; flags <= 0xff; flags++) {
		struct image image = load_image(path);
		uint8_t record[] = { GT_TAG_EVENT + 2, 0, 0, (uint8_t)flags, 0, 0, 0, 0 };
		size_t size = 5 + !!(flags & GT_HAS_SIZE) + !!(flags & GT_HAS_OWNER) +
			      !!(flags & GT_HAS_PLACE);
		struct events got;
		char damage[256];

		append(block_of(&image, 1, 0), record, size);
		save_image(changed, &image);
		got = read_events(changed, damage);
		assert_int_equal(got.count, flags <= GT_HAS_ALL ? 2 : 1);
		assert_int_equal(!damage[0], flags <= GT_HAS_ALL);
		free(got.list);
		free(image.data);
	}
}

/* As a program of Level Zero makes them: each function's creations have an owner of their own. */
static void owners_that_alternate_take_few_bytes(void **state)
{
	enum { CYCLES = 20000, CYCLE = 8 };
	static const struct {
		uint16_t function;
		uint64_t handle, owner, size;
	} calls[CYCLE] = {
		{ GT_FN_zeContextCreate, 0x55550000a000, 0x7f0012340000, 0 },
		{ GT_FN_zeCommandListCreate, 0x55550000a100, 0x55550000a000, 0 },
		{ GT_FN_zeEventCreate, 0x55550000a200, 0x555500003000, 0 },
		{ GT_FN_zeMemAllocDevice, 0x55550000b000, 0x55550000a000, 4096 },
		{ GT_FN_zeMemFree, 0x55550000b000, 0, 0 },
		{ GT_FN_zeEventDestroy, 0x55550000a200, 0, 0 },
		{ GT_FN_zeCommandListDestroy, 0x55550000a100, 0, 0 },
		{ GT_FN_zeContextDestroy, 0x55550000a000, 0, 0 },
	};
	const char *path = fresh_path("trace");
	struct gt_writer *w = open_writer(path);
	struct gt_lane *lane = gt_lane_acquire(w, TID, "main");
	uint64_t time_ns = 5000000000;
	struct stat st;

	for (int i = 0; i < CYCLES * CYCLE; i++) {
		bool is_creation = i % CYCLE < CYCLE / 2;

		gt_lane_event(lane, &(struct gt_event){ .time_ns = time_ns += 2000,
							.handle = calls[i % CYCLE].handle,
							.size = calls[i % CYCLE].size,
							.owner = calls[i % CYCLE].owner,
							.place = is_creation,
							.function = calls[i % CYCLE].function });
	}
	end_writer(w);
	assert_int_equal(stat(path, &st), 0);
	assert_in_range(st.st_size, CYCLES * CYCLE, 7 * CYCLES * CYCLE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_trace_of_version_1_is_read),
		cmocka_unit_test(a_trace_holds_any_size_owner_and_place),
		cmocka_unit_test(functions_that_share_an_origin_keep_their_owners_apart),
		cmocka_unit_test(owners_are_right_after_a_missing_block),
		cmocka_unit_test(unknown_flags_of_a_creation_are_damage),
		cmocka_unit_test(owners_that_alternate_take_few_bytes),
	};

	return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
