/* SPDX-License-Identifier: MIT */
/*
 * rows_out.h - the agent's rows on their way out: into a ClickHouse server, by way of a spool, and
 * into a folder of TSV files.
 *
 *	gt_rows_out_begin(out, real_s, now_ns);
 *	gt_agent_totals_each_row(totals, gt_rows_out_row, out);
 *	gt_agent_totals_each_stack(totals, gt_rows_out_stack, out);
 *	gt_rows_out_end(out);
 *
 * The caller never waits for the server: a process sends what is in the spool, the oldest first,
 * and tries again after a pause that doubles with each failure.
 */
#pragma once

#include "agent/row.h"
#include "base/mem.h"

struct gt_rows_out;

#define GT_SPOOL_BYTES (256ull << 20)

struct gt_rows_options {
	const char *host;       /* NULL: that of this machine */
	const char *clickhouse; /* URL of the server; NULL: none */
	const char *spool;      /* folder; needed with a server */
	uint64_t spool_bytes;   /* at most; 0: GT_SPOOL_BYTES */
	const char *folder;     /* of TSV files; NULL: none */
	uint64_t folder_days;   /* files older than that are removed; 0: none */
	uint64_t folder_bytes;  /* of all files together, at most; 0: any number */
};

/* 0, or -errno and the mistake. Connects to nothing yet. */
int gt_rows_out_open(struct gt_rows_out **out, const struct gt_rows_options *options,
		     struct gt_error *error);
/* Sends what is in the spool for `wait_ms` at most; the rest stays there for the next time. */
void gt_rows_out_close(struct gt_rows_out *out, unsigned wait_ms);

void gt_rows_out_begin(struct gt_rows_out *out, uint64_t real_s, uint64_t now_ns);
/* Visitors of gt_agent_totals. Processes that have ended have no rows: their last one stands. */
void gt_rows_out_row(void *out, const struct gt_agent_row *row);
/* A stack that was handed over before is left out. */
void gt_rows_out_stack(void *out, const struct gt_agent_stack *stack);
void gt_rows_out_end(struct gt_rows_out *out);

struct gt_rows_state {
	uint64_t sent_rows, sent_batches;
	uint64_t waiting_batches, waiting_bytes;
	uint64_t dropped_rows; /* the spool or the disk was full */
	uint64_t failures;     /* attempts */
	bool is_failing;       /* the last attempt failed: */
	char error[512];       /* the latest failure; "" until there is one */
};

struct gt_rows_state gt_rows_out_state(struct gt_rows_out *out);
