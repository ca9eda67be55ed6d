/* SPDX-License-Identifier: MIT */
/*
 * fleet_load.c - the rows of simulated hosts, in the agent's own words and by its own way to the
 * server.
 *
 *	fleet_load host URL SPOOL HOST START MINUTES PLACES [LEAKS]
 *	fleet_load many URL SPOOL HOSTS START ROUNDS STEP PLACES LEAKS MERGE [PACE [FIRST]]
 *
 * `host` is one host: a batch for each minute from START (seconds since 1970) on, through the spool
 * and the thread that sends it. Prints each minute once it is in the spool, and a line at the end.
 * `many`: ROUNDS times, STEP seconds apart, PLACES rows from each of HOSTS hosts. MERGE hosts share
 * an insert, as ClickHouse's own queue (async_insert) merges them. Prints the rate of each round.
 * With PACE, a round takes so many seconds, its inserts spread over them. FIRST is the round to
 * begin with: rounds before it were sent by a load that was killed.
 * The first LEAKS places grow, the first fastest, each on half as many hosts as the one before.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/clickhouse.h"
#include "agent/row_text.h"
#include "agent/rows_out.h"
#include "agent/spool.h"
#include "base/process.h"

#define MIB (1ull << 20)
enum { HOUR_S = 3600, WAIT_MS = 60000 };

struct load {
	uint64_t start_s; /* of the processes */
	unsigned places, leaks;
};

static bool place_grows(const struct load *load, unsigned host, unsigned place)
{
	return place < load->leaks && host % (1u << (place < 16 ? place : 16)) == 0;
}

/* Bytes that a leaking place gains in an hour: 40 MB a day for the second. */
static double per_hour(unsigned place)
{
	return 80.0 * MIB / 24 / (place + 1);
}

/* Calls `put` for each row of a host at a moment. */
static void each_row(const struct load *load, unsigned host, uint64_t real_s, uint64_t now_ns,
		     void (*put)(void *context, const struct gt_agent_row *row), void *context)
{
	uint64_t age_s = real_s - load->start_s;
	char pod[32], text[128], function[32];
	struct gt_agent_process process = { .pid = 4000 + host % 1000,
					    .start_ns = 1,
					    .start_real_s = load->start_s,
					    .comm = "python3",
					    .command = "python3 serve.py --model large",
					    .user = "serve",
					    .runtime = "containerd",
					    .container = "4f2a6c0e9d1b",
					    .pod = "c7f1",
					    .pod_name = pod };

	snprintf(pod, sizeof pod, "serve-%05u", host);
	for (unsigned i = 0; i < load->places; i++) {
		bool grows = place_grows(load, host, i);
		uint64_t held = (64 + i) * MIB;

		if (grows)
			held += (uint64_t)(per_hour(i) * (double)age_s / HOUR_S);
		snprintf(function, sizeof function, "layer_%u", i);
		snprintf(text, sizeof text, "%s model.py:%u via cuMemAlloc_v2", function, 10 + i);
		put(context, &(struct gt_agent_row){
				     .process = &process,
				     .place = text,
				     .function = function,
				     .file = "/srv/app/model.py",
				     .line = 10 + i,
				     .api = GT_CUDA,
				     .kind = GT_DEVICE_MEMORY,
				     .gpu = "GPU 0",
				     .stack_id = 0x9e3779b97f4a7c15u * (i + 1),
				     .live_bytes = held,
				     .live_objects = held / MIB,
				     .allocated_bytes = held + age_s * MIB,
				     .allocated_objects = held / MIB + age_s,
				     .freed_bytes = age_s * MIB,
				     .freed_objects = age_s,
				     .grows = grows,
				     .growth_per_second = grows ? per_hour(i) / HOUR_S : 0,
				     .growth_since_ns = grows ? now_ns - age_s * 1000000000 : 0 });
	}
}

static void each_stack(const struct load *load,
		       void (*put)(void *context, const struct gt_agent_stack *stack),
		       void *context)
{
	for (unsigned i = 0; i < load->places; i++) {
		char function[32];
		struct gt_frame frames[] = {
			{ .function = "cuMemAlloc_v2", .module = "/usr/lib/libcuda.so.1" },
			{ .function = function, .file = "/srv/app/model.py", .line = 10 + i },
			{ .function = "main", .file = "/srv/app/serve.py", .line = 88 },
		};

		snprintf(function, sizeof function, "layer_%u", i);
		put(context, &(struct gt_agent_stack){ .id = 0x9e3779b97f4a7c15u * (i + 1),
						       .frames = frames,
						       .count = 3 });
	}
}

/* A monotonic clock that is far enough from 0 for any age. */
static uint64_t now_of(uint64_t real_s)
{
	return real_s * 1000000000;
}

static int be_host(char **argument, struct load *load, unsigned minutes)
{
	struct gt_rows_options options = { .clickhouse = argument[0],
					   .spool = argument[1],
					   .host = argument[2] };
	uint64_t start_s = strtoull(argument[3], NULL, 10);
	struct gt_rows_out *out;
	struct gt_rows_state state;
	struct gt_error error;

	if (gt_rows_out_open(&out, &options, &error)) {
		fprintf(stderr, "%s\n", error.text);
		return 1;
	}
	for (unsigned i = 0; i < minutes; i++) {
		uint64_t real_s = start_s + 60 * i;

		gt_rows_out_begin(out, real_s, now_of(real_s));
		each_row(load, 0, real_s, now_of(real_s), gt_rows_out_row, out);
		each_stack(load, gt_rows_out_stack, out);
		gt_rows_out_end(out);
		printf("minute %u\n", i);
		fflush(stdout);
	}
	/* a server that is away is waited for: */
	for (int i = 0; i < WAIT_MS / 10; i++) {
		state = gt_rows_out_state(out);
		if (!state.waiting_batches)
			break;
		usleep(10000);
	}
	printf("sent %" PRIu64 " rows, %" PRIu64 " dropped, %" PRIu64 " failures%s%s\n",
	       state.sent_rows, state.dropped_rows, state.failures, *state.error ? ": " : "",
	       state.error);
	gt_rows_out_close(out, 0);
	return state.waiting_batches ? 1 : 0;
}

struct text {
	FILE *out;
	struct gt_row_origin origin;
	uint64_t rows;
};

static void put_row(void *context, const struct gt_agent_row *row)
{
	struct text *text = context;

	gt_row_text_put(text->out, &text->origin, row);
	text->rows++;
}

static void put_stack(void *context, const struct gt_agent_stack *stack)
{
	struct text *text = context;

	gt_stack_text_put(text->out, stack);
	text->rows++;
}

/* Sends the oldest batch of the spool until the server has it. */
static void send_one(struct gt_spool *spool, struct gt_clickhouse *server, const char *columns)
{
	struct gt_error error;
	struct gt_batch batch;
	size_t size;
	void *bytes;

	while (gt_spool_first(spool, &batch)) {
		bytes = gt_spool_read(spool, &batch, &size);
		if (!bytes ||
		    !gt_clickhouse_insert(server, batch.table,
					  strcmp(batch.table, "rows") ? "stack,frames" : columns,
					  bytes, size, &error))
			gt_spool_remove(spool, &batch);
		else if (fprintf(stderr, "again in a second: %s\n", error.text))
			sleep(1);
		free(bytes);
	}
}

static void put_batch(struct gt_spool *spool, const char *table, struct text *text, char **bytes,
		      size_t *size)
{
	gt_memstream_close(text->out);
	gt_spool_put(spool, table, text->origin.real_s, text->rows, *bytes, *size);
	free(*bytes);
}

/* Waits for the moment at which this part of a round is due. */
static void keep_pace(uint64_t began_ns, double seconds)
{
	double late = (double)(gt_now_ns() - began_ns) / 1e9 - seconds;

	if (late < 0)
		usleep((useconds_t)(-late * 1e6));
}

static int be_many(char **argument, struct load *load, unsigned pace, unsigned first_round)
{
	unsigned hosts = (unsigned)atoi(argument[2]), rounds = (unsigned)atoi(argument[4]);
	uint64_t step = strtoull(argument[5], NULL, 10), rows = 0, began = gt_now_ns();
	unsigned merge = (unsigned)atoi(argument[8]);
	struct gt_clickhouse *server;
	struct gt_spool *spool;
	struct gt_error error;
	struct text text = { 0 };
	char *bytes, *columns, host[32];
	size_t size;

	if (gt_clickhouse_open(&server, argument[0], &error) ||
	    gt_spool_open(&spool, argument[1], 4ull << 30, &error)) {
		fprintf(stderr, "%s\n", error.text);
		return 1;
	}
	text.out = gt_memstream(&bytes, &size);
	each_stack(load, put_stack, &text);
	put_batch(spool, "stacks", &text, &bytes, &size);
	columns = gt_row_column_list();
	for (unsigned round = first_round; round < rounds; round++) {
		uint64_t round_began = gt_now_ns(), round_rows = 0;

		for (unsigned first = 0; first < hosts; first += merge) {
			keep_pace(began, pace * (round - first_round + (double)first / hosts));
			text = (struct text){ .origin = { .host = host } };
			text.origin.real_s = load->start_s + round * step + first / merge % 60;
			text.origin.now_ns = now_of(text.origin.real_s);
			text.out = gt_memstream(&bytes, &size);
			for (unsigned i = first; i < hosts && i < first + merge; i++) {
				snprintf(host, sizeof host, "gpu-%05u", i);
				each_row(load, i, text.origin.real_s, text.origin.now_ns, put_row,
					 &text);
			}
			round_rows += text.rows;
			put_batch(spool, "rows", &text, &bytes, &size);
			send_one(spool, server, columns);
		}
		rows += round_rows;
		printf("round %u: %" PRIu64 " rows, %.0f rows/s\n", round, round_rows,
		       (double)round_rows * 1e9 / (double)(gt_now_ns() - round_began));
		fflush(stdout);
	}
	printf("%" PRIu64 " rows in %.1f s, %.0f rows/s\n", rows,
	       (double)(gt_now_ns() - began) / 1e9,
	       (double)rows * 1e9 / (double)(gt_now_ns() - began));
	free(columns);
	gt_spool_close(spool);
	gt_clickhouse_close(server);
	return 0;
}

int main(int argc, char **argv)
{
	struct load load = { 0 };

	if (argc >= 8 && !strcmp(argv[1], "host")) {
		load.start_s = strtoull(argv[5], NULL, 10) / 86400 * 86400;
		load.places = (unsigned)atoi(argv[7]);
		load.leaks = argc > 8 ? (unsigned)atoi(argv[8]) : 0;
		return be_host(argv + 2, &load, (unsigned)atoi(argv[6]));
	}
	if (argc >= 11 && argc <= 13 && !strcmp(argv[1], "many")) {
		load.start_s = strtoull(argv[5], NULL, 10);
		load.places = (unsigned)atoi(argv[8]);
		load.leaks = (unsigned)atoi(argv[9]);
		return be_many(argv + 2, &load, argc > 11 ? (unsigned)atoi(argv[11]) : 0,
			       argc > 12 ? (unsigned)atoi(argv[12]) : 0);
	}
	fprintf(stderr,
		"usage: fleet_load host URL SPOOL HOST START MINUTES PLACES [LEAKS]\n"
		"       fleet_load many URL SPOOL HOSTS START ROUNDS STEP PLACES LEAKS MERGE "
		"[PACE [FIRST]]\n");
	return 2;
}
