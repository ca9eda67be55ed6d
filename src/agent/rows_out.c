/* SPDX-License-Identifier: MIT */
/* rows_out.c - the agent's rows on their way out: spool, server, folder. */
#include "agent/rows_out.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/row_text.h"
#include "agent/rows_folder.h"
#include "agent/rows_sender.h"
#include "agent/spool.h"
#include "base/containers.h"
#include "base/process.h"

/* Then all are sent again, which does no harm. */
enum { STACKS_REMEMBERED = 1 << 16, POLL_MS = 10, CLOCK_STEP_S = 60 };

/* What is collected for one of the server's tables. */
struct batch {
	char *text;
	size_t size;
	FILE *out;
	uint64_t rows;
};

enum table { TABLE_ROWS, TABLE_STACKS, TABLE_COUNT };
static const char *const tables[TABLE_COUNT] = { "rows", "stacks" };

struct gt_rows_out {
	struct gt_row_origin origin;
	char *host;
	struct gt_rows_folder *folder;
	struct batch batches[TABLE_COUNT];
	struct gt_map sent_stacks;
	struct gt_spool *spool; /* NULL: no server */
	struct gt_sender *sender;
	uint64_t dropped_rows; /* by the folder */
};

static int open_server(struct gt_rows_out *out, const struct gt_rows_options *options,
		       struct gt_error *error)
{
	int e;

	if (!options->spool)
		return gt_error_set(error, -EINVAL,
				    "--clickhouse needs a folder to keep rows in "
				    "while the server is away: --spool DIR");
	e = gt_spool_open(&out->spool, options->spool,
			  options->spool_bytes ? options->spool_bytes : GT_SPOOL_BYTES, error);
	if (!e)
		e = gt_sender_open(&out->sender, options->clickhouse, options->spool, out->host,
				   error);
	return e;
}

int gt_rows_out_open(struct gt_rows_out **opened, const struct gt_rows_options *options,
		     struct gt_error *error)
{
	struct gt_rows_out *out = gt_alloc(sizeof *out);
	char name[256] = "";
	int e = 0;

	gethostname(name, sizeof name - 1);
	out->host = gt_strdup(options->host ? options->host : name);
	out->origin.host = out->host;
	if (options->folder)
		e = gt_rows_folder_open(&out->folder, options->folder, options->folder_days,
					options->folder_bytes, error);
	if (!e && options->clickhouse)
		e = open_server(out, options, error);
	if (e)
		gt_rows_out_close(out, 0);
	else
		*opened = out;
	return e;
}

/* Until all is sent, an attempt fails, or it takes too long. */
static void wait_for_sender(struct gt_rows_out *out, unsigned wait_ms)
{
	uint64_t until = gt_now_ns() + (uint64_t)wait_ms * 1000000;

	while (gt_now_ns() < until) {
		struct gt_rows_state state = gt_rows_out_state(out);

		if (!state.waiting_batches || state.is_failing)
			return;
		usleep(POLL_MS * 1000);
	}
}

void gt_rows_out_close(struct gt_rows_out *out, unsigned wait_ms)
{
	if (out->sender) {
		wait_for_sender(out, wait_ms);
		gt_sender_close(out->sender);
	}
	if (out->spool)
		gt_spool_close(out->spool);
	if (out->folder)
		gt_rows_folder_close(out->folder);
	gt_map_fini(&out->sent_stacks);
	free(out->host);
	free(out);
}

void gt_rows_out_begin(struct gt_rows_out *out, uint64_t real_s, uint64_t now_ns)
{
	/* rows of one time have one key: of two batches, either could be the one that is left */
	if (real_s <= out->origin.real_s && out->origin.real_s - real_s < CLOCK_STEP_S)
		real_s = out->origin.real_s + 1;
	out->origin.real_s = real_s;
	out->origin.now_ns = now_ns;
	for (int i = 0; i < TABLE_COUNT; i++) {
		struct batch *b = &out->batches[i];

		*b = (struct batch){ 0 };
		b->out = gt_memstream(&b->text, &b->size);
	}
}

void gt_rows_out_row(void *context, const struct gt_agent_row *row)
{
	struct gt_rows_out *out = context;
	struct batch *b = &out->batches[TABLE_ROWS];

	if (row->process->end_ns)
		return;
	gt_row_text_put(b->out, &out->origin, row);
	b->rows++;
}

void gt_rows_out_stack(void *context, const struct gt_agent_stack *stack)
{
	struct gt_rows_out *out = context;
	struct batch *b = &out->batches[TABLE_STACKS];

	if (!stack->id || gt_map_find(&out->sent_stacks, stack->id))
		return;
	if (out->sent_stacks.count >= STACKS_REMEMBERED) {
		gt_map_fini(&out->sent_stacks);
		out->sent_stacks = (struct gt_map){ 0 };
	}
	*gt_map_at(&out->sent_stacks, stack->id) = out;
	gt_stack_text_put(b->out, stack);
	b->rows++;
}

static void hand_over(struct gt_rows_out *out, enum table table)
{
	struct batch *b = &out->batches[table];

	if (out->folder &&
	    gt_rows_folder_add(out->folder, tables[table], out->origin.real_s,
			       table == TABLE_ROWS ? gt_row_text_head : gt_stack_text_head, b->text,
			       b->size))
		out->dropped_rows += b->rows;
	/* it counts what it drops */
	if (out->spool)
		gt_spool_put(out->spool, tables[table], out->origin.real_s, b->rows, b->text,
			     b->size);
}

void gt_rows_out_end(struct gt_rows_out *out)
{
	if (!out->batches[TABLE_ROWS].rows) {
		gt_row_text_idle(out->batches[TABLE_ROWS].out, &out->origin);
		out->batches[TABLE_ROWS].rows++;
	}
	/* the stacks first: rows refer to them */
	for (int i = TABLE_COUNT; i--;) {
		struct batch *b = &out->batches[i];

		gt_memstream_close(b->out);
		if (b->rows)
			hand_over(out, (enum table)i);
		free(b->text);
		*b = (struct batch){ 0 };
	}
	if (out->sender)
		gt_sender_wake(out->sender);
}

struct gt_rows_state gt_rows_out_state(struct gt_rows_out *out)
{
	struct gt_rows_state state = { .dropped_rows = out->dropped_rows };

	if (out->spool) {
		struct gt_spool_state spool = gt_spool_state(out->spool);
		struct gt_sender_state sender = gt_sender_state(out->sender);

		state.sent_rows = sender.sent_rows;
		state.sent_batches = sender.sent_batches;
		state.failures = sender.failures;
		state.is_failing = sender.is_failing;
		memcpy(state.error, sender.error, sizeof state.error);
		state.waiting_batches = spool.batches;
		state.waiting_bytes = spool.bytes;
		state.dropped_rows += spool.dropped_rows;
	}
	return state;
}
