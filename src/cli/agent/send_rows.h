/* SPDX-License-Identifier: MIT */
/* send_rows.h - the rows of `gputrack agent`: where they go, and when. */
#pragma once

#include "agent/rows_out.h"
#include "agent/totals.h"
#include "cli/options.h"

struct gt_rows_settings {
	const char *clickhouse, *spool, *folder, *host;
	double interval_s;
};

/* Rows for a `struct gt_rows_settings` at this offset. */
#define GT_ROWS_OPTIONS(base)                                                                      \
	{ .name = "clickhouse",                                                                    \
	  .argument = "URL",                                                                       \
	  .type = GT_OPTION_TEXT,                                                                  \
	  .at = (base) + offsetof(struct gt_rows_settings, clickhouse),                            \
	  .help = "send a row for each call site every minute to this ClickHouse server: "         \
		  "http[s]://[USER:PASSWORD@]HOST[:PORT][/DATABASE]; a password belongs into "     \
		  "the configuration file" },                                                      \
		{ .name = "spool",                                                                 \
		  .argument = "DIR[,SIZE]",                                                        \
		  .type = GT_OPTION_TEXT,                                                          \
		  .at = (base) + offsetof(struct gt_rows_settings, spool),                         \
		  .help = "keep rows there until the server has them, the last SIZE bytes of "     \
			  "them (default: spool in the folder of --state, 256M)" },                \
		{ .name = "rows",                                                                  \
		  .argument = "DIR[,SIZE]",                                                        \
		  .type = GT_OPTION_TEXT,                                                          \
		  .at = (base) + offsetof(struct gt_rows_settings, folder),                        \
		  .is_path = true,                                                                 \
		  .help = "write the same rows into files there, one a day, for two weeks, the "   \
			  "last SIZE bytes of them (default: 1G)" },                               \
		{ .name = "rows-interval",                                                         \
		  .argument = "SECONDS",                                                           \
		  .type = GT_OPTION_DECIMAL,                                                       \
		  .at = (base) + offsetof(struct gt_rows_settings, interval_s),                    \
		  .least = 1,                                                                      \
		  .most = 3600,                                                                    \
		  .help = "how often there are rows (default: 60)" },                              \
	{                                                                                          \
		.name = "host", .argument = "NAME", .type = GT_OPTION_TEXT,                        \
		.at = (base) + offsetof(struct gt_rows_settings, host),                            \
		.help = "the host's name in rows (default: that of the system)"                    \
	}

enum { GT_ROWS_INTERVAL_S = 60, GT_ROWS_LAST_MS = 3000 };

/* Rows on their way; zeroed: none are wanted. */
struct gt_agent_rows {
	struct gt_rows_out *out;
	uint64_t taken_ns, dropped;
	bool was_failing;
};

/* The spool is in the folder `state` by default. 0, or -errno and the mistake. */
int gt_agent_rows_open(struct gt_agent_rows *rows, const struct gt_rows_settings *s,
		       const char *state, struct gt_error *error);
/* Takes rows if it is time, or `at_once`, and says what went wrong since the last time. */
void gt_agent_rows_take(struct gt_agent_rows *rows, const struct gt_rows_settings *s,
			const struct gt_agent_totals *totals, uint64_t now_ns, bool at_once);
/* "rows         1,200 sent, 3 batches waiting": a line, if rows are wanted. */
void gt_agent_rows_status(const struct gt_agent_rows *rows, FILE *out);
/* Gives the server GT_ROWS_LAST_MS for the last ones. */
void gt_agent_rows_close(struct gt_agent_rows *rows);
