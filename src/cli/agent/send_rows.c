/* SPDX-License-Identifier: MIT */
/* send_rows.c - the rows of `gputrack agent`: where they go, and when. */
#include "cli/agent/send_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/format.h"
#include "base/print.h"
#include "cli/agent/service.h"

enum { FILES_DAYS = 14 };

#define FILES_BYTES ((uint64_t)1 << 30)

/* "DIR,SIZE" of an option in two; the caller frees *folder. `size` stays if there is none. */
static int split(char **folder, uint64_t *size, const char *option, const char *text,
		 struct gt_error *error)
{
	const char *comma = strrchr(text, ',');
	bool in_bytes;

	*folder = gt_strndup(text, comma ? (size_t)(comma - text) : strlen(text));
	if (**folder &&
	    (!comma || (gt_size_parse(comma + 1, strlen(comma + 1), size, &in_bytes) && *size)))
		return 0;
	free(*folder);
	*folder = NULL;
	return gt_error_set(error, -EINVAL, "%s %s is no DIR,SIZE such as /var/spool/gputrack,256M",
			    option, text);
}

int gt_agent_rows_open(struct gt_agent_rows *rows, const struct gt_rows_settings *s,
		       const char *state, struct gt_error *error)
{
	struct gt_rows_options options = { .host = s->host,
					   .clickhouse = s->clickhouse,
					   .folder_days = FILES_DAYS,
					   .folder_bytes = FILES_BYTES };
	char *spool = NULL, *folder = NULL;
	int e = 0;

	if (!s->clickhouse && !s->folder)
		return 0;
	if (s->folder)
		e = split(&folder, &options.folder_bytes, "--rows", s->folder, error);
	if (!e && s->spool) {
		e = split(&spool, &options.spool_bytes, "--spool", s->spool, error);
	} else if (!e) {
		mkdir(state, 0700);
		if (asprintf(&spool, "%s/spool", state) < 0)
			gt_memory_check(NULL);
	}
	options.folder = folder;
	options.spool = spool;
	if (!e)
		e = gt_rows_out_open(&rows->out, &options, error);
	free(folder);
	free(spool);
	return e;
}

/* What changes is said once. */
static void tell(struct gt_agent_rows *rows)
{
	struct gt_rows_state state = gt_rows_out_state(rows->out);
	char count[GT_FORMAT_MAX];

	if (state.is_failing && !rows->was_failing)
		gt_service_log(GT_LEVEL_WARNING, "rows wait in the spool: %s", state.error);
	else if (!state.is_failing && rows->was_failing)
		gt_service_log(GT_LEVEL_INFO, "the server takes rows again");
	rows->was_failing = state.is_failing;
	if (state.dropped_rows > rows->dropped)
		gt_service_log(
			GT_LEVEL_WARNING,
			"%s rows were lost: the spool, the folder of --rows or the disk is full",
			gt_format_count(count, state.dropped_rows - rows->dropped));
	rows->dropped = state.dropped_rows;
}

void gt_agent_rows_take(struct gt_agent_rows *rows, const struct gt_rows_settings *s,
			const struct gt_agent_totals *totals, uint64_t now_ns, bool at_once)
{
	if (!rows->out || (!at_once && now_ns - rows->taken_ns < (uint64_t)(s->interval_s * 1e9)))
		return;
	rows->taken_ns = now_ns;
	gt_rows_out_begin(rows->out, (uint64_t)time(NULL), now_ns);
	gt_agent_totals_each_row(totals, gt_rows_out_row, rows->out);
	gt_agent_totals_each_stack(totals, gt_rows_out_stack, rows->out);
	gt_rows_out_end(rows->out);
	tell(rows);
}

void gt_agent_rows_status(const struct gt_agent_rows *rows, FILE *out)
{
	char sent[GT_FORMAT_MAX], dropped[GT_FORMAT_MAX], waiting[GT_FORMAT_MAX];
	struct gt_rows_state state;

	if (!rows->out)
		return;
	state = gt_rows_out_state(rows->out);
	fprintf(out, "rows         %s sent, %s %s waiting, %s lost%s%s\n",
		gt_format_count(sent, state.sent_rows),
		gt_format_count(waiting, state.waiting_batches),
		gt_plural(state.waiting_batches, "batch", "batches"),
		gt_format_count(dropped, state.dropped_rows), state.is_failing ? ": " : "",
		state.is_failing ? state.error : "");
}

void gt_agent_rows_close(struct gt_agent_rows *rows)
{
	if (rows->out)
		gt_rows_out_close(rows->out, GT_ROWS_LAST_MS);
	rows->out = NULL;
}
