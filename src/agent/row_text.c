/* SPDX-License-Identifier: MIT */
/* row_text.c - rows and stacks as lines of tab-separated text. */
#include "agent/row_text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

#include "base/mem.h"
#include "base/text.h"
#include "replay/stack.h"

const struct gt_column gt_row_columns[GT_ROW_COLUMNS] = {
#define COLUMN(name_, type_) { .name = #name_, .type = GT_COLUMN_##type_ },
#include "agent/row_columns.def"
#undef COLUMN
};

char *gt_row_time(char *out, uint64_t real_s)
{
	time_t seconds = (time_t)real_s;
	struct tm tm;

	if (!gmtime_r(&seconds, &tm) || !strftime(out, GT_ROW_TIME_MAX, "%Y-%m-%d %H:%M:%S", &tm))
		strcpy(out, "1970-01-01 00:00:00");
	return out;
}

bool gt_row_time_parse(const char *text, int64_t *real_s)
{
	struct tm tm = { 0 };
	char *end = strptime(text, "%Y-%m-%d %H:%M:%S", &tm);

	if (!end || *end)
		return false;
	*real_s = timegm(&tm);
	return true;
}

void gt_row_text_head(FILE *out)
{
	for (int i = 0; i < GT_ROW_COLUMNS; i++)
		fprintf(out, "%s%c", gt_row_columns[i].name, i + 1 < GT_ROW_COLUMNS ? '\t' : '\n');
}

char *gt_row_column_list(void)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = gt_memstream(&text, &size);

	for (int i = 0; i < GT_ROW_COLUMNS; i++)
		fprintf(out, "%s%s", i ? "," : "", gt_row_columns[i].name);
	gt_memstream_close(out);
	return text;
}

static void put_clean(FILE *out, const char *text)
{
	/* servers of 2018 do not know \xNN: nothing is left that needs it */
	char *clean = gt_text_sanitize(text);

	for (char *at = clean; *at; at++)
		if (*at == '\n')
			*at = ' ';
	gt_tsv_put(out, clean);
	free(clean);
}

static void put_text(FILE *out, const char *text)
{
	put_clean(out, text);
	putc('\t', out);
}

static void put_time(FILE *out, uint64_t real_s)
{
	char text[GT_ROW_TIME_MAX];

	fprintf(out, "%s\t", gt_row_time(text, real_s));
}

static void put_process(FILE *out, const struct gt_row_origin *origin,
			const struct gt_agent_process *process)
{
	put_time(out, origin->real_s);
	put_text(out, origin->host);
	/* outside Kubernetes the name is that of a container, or of the host again */
	put_text(out, process->pod[0] ? process->pod_name : "");
	put_text(out, process->container);
	fprintf(out, "%" PRIu32 "\t", process->pid);
	put_time(out, process->start_real_s);
	put_text(out, process->comm);
	put_text(out, process->command);
	put_text(out, process->user);
}

/* When the growth began, in real time; 0: it does not grow. */
static uint64_t growing_since(const struct gt_row_origin *origin, const struct gt_agent_row *row)
{
	uint64_t ago_s;

	if (!row->grows || !row->growth_since_ns || row->growth_since_ns > origin->now_ns)
		return 0;
	ago_s = (origin->now_ns - row->growth_since_ns) / 1000000000;
	return ago_s < origin->real_s ? origin->real_s - ago_s : 0;
}

void gt_row_text_put(FILE *out, const struct gt_row_origin *origin, const struct gt_agent_row *row)
{
	double per_hour = row->grows ? row->growth_per_second * 3600 : 0;
	bool bytes = gt_kind_has_bytes(row->kind);

	put_process(out, origin, row->process);
	put_text(out, row->place);
	put_text(out, row->function);
	put_text(out, row->file);
	fprintf(out, "%" PRIu32 "\t", row->line);
	put_text(out, gt_api_keys[row->api]);
	put_text(out, gt_kinds[row->kind].name);
	put_text(out, row->gpu);
	fprintf(out, "%" PRIu64 "\t%" PRIu64 "\t", row->live_bytes, row->live_objects);
	fprintf(out, "%" PRIu64 "\t%" PRIu64 "\t", row->allocated_bytes, row->allocated_objects);
	fprintf(out, "%" PRIu64 "\t%" PRIu64 "\t", row->freed_bytes, row->freed_objects);
	fprintf(out, "%.9g\t%.9g\t", bytes ? per_hour : 0, bytes ? 0 : per_hour);
	put_time(out, growing_since(origin, row));
	fprintf(out, "%016" PRIx64 "\n", row->stack_id);
}

void gt_row_text_idle(FILE *out, const struct gt_row_origin *origin)
{
	put_time(out, origin->real_s);
	put_text(out, origin->host);
	for (int i = GT_COLUMN_OF_host + 1; i < GT_ROW_COLUMNS; i++) {
		if (gt_row_columns[i].type == GT_COLUMN_TIME)
			fputs("1970-01-01 00:00:00", out);
		else if (gt_row_columns[i].type != GT_COLUMN_TEXT)
			putc('0', out);
		putc(i + 1 < GT_ROW_COLUMNS ? '\t' : '\n', out);
	}
}

void gt_stack_text_head(FILE *out)
{
	fputs("stack\tframes\n", out);
}

void gt_stack_text_put(FILE *out, const struct gt_agent_stack *stack)
{
	fprintf(out, "%016" PRIx64 "\t", stack->id);
	gt_frames_put(out, stack->frames, stack->count, put_clean);
	putc('\n', out);
}
