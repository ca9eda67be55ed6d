/* SPDX-License-Identifier: MIT */
/* read_smi.c - nvidia-smi's log of used memory. */
#include "plot/read_smi.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* A log is often much longer than the recording; 40 minutes at 10 ms fit without thinning. */
enum { INDEX_MOST = 16, POINTS_MOST = 1 << 18 };

struct reading {
	struct gt_smi_log *log;
	int moment, memory, key; /* columns; key: the GPU's, -1 for none */
	bool known;              /* the columns are known */
	bool has_other_heading;  /* the heading lacks memory.used: do not guess */
	char keys[GT_SMI_GPUS][64];
	double values[GT_SMI_GPUS];                     /* the latest, bytes */
	bool has_value[GT_SMI_GPUS], seen[GT_SMI_GPUS]; /* seen: in this tick */
	double tick_s, last_moment; /* times of the tick and of the previous line */
	unsigned row_of_tick;
	bool open;
};

/* "1024", "1024 MiB" as bytes. */
static bool parse_memory(const char *text, double *out)
{
	static const struct {
		const char *unit;
		double bytes;
	} units[] = { { "", 1048576 },       { "MiB", 1048576 }, { "KiB", 1024 },
		      { "GiB", 1073741824 }, { "B", 1 },         { "MB", 1e6 } };
	size_t digits = strspn(text, "0123456789.");
	char number[32];

	if (!digits || digits >= sizeof number)
		return false;
	memcpy(number, text, digits);
	number[digits] = '\0';
	if (!gt_number_parse(number, out))
		return false;
	text += digits;
	text += strspn(text, " ");
	for (size_t i = 0; i < sizeof units / sizeof *units; i++)
		if (!strcmp(text, units[i].unit)) {
			*out *= units[i].bytes;
			return true;
		}
	return false;
}

/* True for "memory.used [MiB]" and for "memory.used". */
static int find(const struct gt_rows *r, const char *heading)
{
	size_t length = strlen(heading);

	for (size_t i = 0; i < r->count; i++)
		if (!strncmp(r->fields[i], heading, length) &&
		    (!r->fields[i][length] || r->fields[i][length] == ' '))
			return (int)i;
	return -1;
}

static bool take_heading(struct reading *g, const struct gt_rows *r)
{
	static const char *const keys[] = { "index",      "uuid",   "gpu_uuid",  "pci.bus_id",
					    "gpu_bus_id", "serial", "gpu_serial" };
	int moment = find(r, "timestamp"), memory = find(r, "memory.used");

	if (moment >= 0 && memory < 0)
		g->has_other_heading = true;
	if (moment < 0 || memory < 0)
		return false;
	g->has_other_heading = false;
	g->moment = moment;
	g->memory = memory;
	for (size_t i = 0; i < sizeof keys / sizeof *keys && g->key < 0; i++)
		g->key = find(r, keys[i]);
	g->log->memory_column = 0;
	g->known = true;
	return true;
}

/*
 * Without a heading, memory is the column after the timestamp, or the one after an index there:
 * `timestamp,index,memory.used` is the usual query for several GPUs.
 */
static bool guess_columns(struct reading *g, const struct gt_rows *r)
{
	double moment, first, next;

	if (g->has_other_heading || r->count < 2 || !gt_moment_parse(r->fields[0], &moment))
		return false;
	g->moment = 0;
	g->memory = 1;
	if (r->count > 2 && gt_number_parse(r->fields[1], &first) && first < INDEX_MOST &&
	    parse_memory(r->fields[2], &next)) {
		g->key = 1;
		g->memory = 2;
	}
	for (size_t i = 1; i < r->count; i++)
		if (strstr(r->fields[i], " MiB")) {
			g->memory = (int)i;
			break;
		}
	g->log->memory_column = g->memory + 1;
	g->known = true;
	return true;
}

/* The GPU's number in the log; -1 if there are too many. */
static int gpu_of(struct reading *g, const char *key)
{
	struct gt_smi_log *log = g->log;

	if (!key)
		return g->row_of_tick < GT_SMI_GPUS ? (int)g->row_of_tick : -1;
	for (unsigned i = 0; i < log->gpu_count; i++)
		if (!strncmp(g->keys[i], key, sizeof g->keys[i] - 1))
			return (int)i;
	if (log->gpu_count == GT_SMI_GPUS)
		return -1;
	snprintf(g->keys[log->gpu_count], sizeof g->keys[0], "%s", key);
	return (int)log->gpu_count;
}

/* A tick is complete: adds what the chosen GPUs used. */
static void close_tick(struct reading *g)
{
	struct gt_smi_log *log = g->log;
	double sum = 0, since;
	bool any = false;

	for (unsigned i = 0; i < log->gpu_count; i++)
		if (g->has_value[i] && (log->gpu == GT_SMI_ALL || log->gpu == (int)i)) {
			sum += g->values[i];
			any = true;
		}
	memset(g->seen, 0, sizeof g->seen);
	g->row_of_tick = 0;
	if (!g->open || !any)
		return;
	if (!log->samples)
		log->start_s = g->tick_s;
	since = g->tick_s > log->start_s ? g->tick_s - log->start_s : 0;
	gt_trail_add(&log->used, since, &sum);
	if (since > log->last_s)
		log->last_s = since;
	if (sum > log->peak_bytes)
		log->peak_bytes = sum;
	log->samples++;
}

static bool take_sample(struct reading *g, const struct gt_rows *r)
{
	double moment, bytes;
	const char *key;
	int gpu;

	if ((int)r->count <= g->memory || (int)r->count <= g->moment || (int)r->count <= g->key ||
	    !gt_moment_parse(r->fields[g->moment], &moment))
		return false;
	if (!parse_memory(r->fields[g->memory], &bytes)) {
		/* a GPU without a value still belongs to the tick */
		if (!strstr(r->fields[g->memory], "N/A"))
			return false;
		bytes = -1;
	}
	key = g->key >= 0 ? r->fields[g->key] : NULL;
	if (!key && g->open && moment != g->last_moment)
		close_tick(g);
	gpu = gpu_of(g, key);
	if (gpu >= 0 && g->seen[gpu]) {
		close_tick(g);
		gpu = gpu_of(g, key);
	}
	g->last_moment = moment;
	if (gpu < 0)
		return true;
	if (!g->row_of_tick)
		g->tick_s = moment;
	g->row_of_tick++;
	g->open = true;
	g->seen[gpu] = true;
	if ((unsigned)gpu >= g->log->gpu_count)
		g->log->gpu_count = (unsigned)gpu + 1;
	g->has_value[gpu] = bytes >= 0;
	if (bytes >= 0)
		g->values[gpu] = bytes;
	return true;
}

static int verdict(const struct gt_smi_log *log, bool has_other_heading, struct gt_error *error)
{
	if (has_other_heading)
		return gt_error_set(
			error, -ENODATA,
			"its header has no memory.used; query timestamp,memory.used as csv");
	if (!log->gpu_count)
		return gt_error_set(
			error, -ENODATA,
			"it has no sample with a timestamp; query timestamp,memory.used as csv");
	if (log->gpu >= (int)log->gpu_count)
		return gt_error_set(error, -EINVAL,
				    "it has %u GPU%s, counted from 0, but no GPU %d",
				    log->gpu_count, log->gpu_count == 1 ? "" : "s", log->gpu);
	if (!log->samples)
		return gt_error_set(error, -ENODATA, "none of its samples has a value");
	return 0;
}

int gt_smi_read(struct gt_smi_log **out, struct gt_rows *rows, int gpu, struct gt_error *error)
{
	struct gt_smi_log *log = gt_alloc(sizeof *log);
	struct reading *g = gt_alloc(sizeof *g);
	bool has_other_heading;
	int e;

	gt_trail_init(&log->used, 1, POINTS_MOST);
	log->gpu = gpu;
	*g = (struct reading){ .log = log, .key = -1 };
	while (gt_rows_next(rows)) {
		if (g->known ? false : take_heading(g, rows))
			continue;
		/* the last number of a truncated line may be truncated too */
		if (rows->cut || (!g->known && !guess_columns(g, rows)) || !take_sample(g, rows))
			log->other_lines++;
	}
	close_tick(g);
	if (gpu >= 0 && gpu < (int)log->gpu_count)
		snprintf(log->gpu_name, sizeof log->gpu_name, "%s", g->keys[gpu]);
	has_other_heading = g->has_other_heading;
	free(g);
	e = gt_rows_verdict(rows, 1, 0, NULL, error);
	if (!e)
		e = verdict(log, has_other_heading, error);
	if (e)
		gt_smi_free(log);
	else
		*out = log;
	return e;
}

void gt_smi_free(struct gt_smi_log *log)
{
	gt_trail_fini(&log->used);
	free(log);
}
