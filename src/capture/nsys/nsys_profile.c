/* SPDX-License-Identifier: MIT */
/* nsys_profile.c - what an export says of the whole profile: versions, clocks, GPUs, losses. */
#include "capture/nsys/nsys_profile.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/text.h"

enum { SEVERITY_WARNING = 2, ARGUMENTS_MAX = 64 };

void gt_nsys_read_text(const struct gt_database *d, char *out, size_t size, const char *sql)
{
	sqlite3_stmt *s = gt_database_prepare(d, "%s", sql);
	const unsigned char *text =
		s && sqlite3_step(s) == SQLITE_ROW ? sqlite3_column_text(s, 0) : NULL;

	if (text)
		snprintf(out, size, "%s", (const char *)text);
	sqlite3_finalize(s);
}

int64_t gt_nsys_read_number(const struct gt_database *d, const char *sql)
{
	sqlite3_stmt *s = gt_database_prepare(d, "%s", sql);
	int64_t number = s && sqlite3_step(s) == SQLITE_ROW ? sqlite3_column_int64(s, 0) : 0;

	sqlite3_finalize(s);
	return number;
}

/* The table of versions was renamed; the oldest exports have none. */
static void read_versions(struct gt_nsys_profile *p, const struct gt_database *d)
{
	static const char *const tables[] = { "EXPORT_META_DATA", "META_DATA_EXPORT" };
	char sql[128];

	for (size_t i = 0; i < 2; i++) {
		snprintf(sql, sizeof sql,
			 "SELECT value FROM %s WHERE name = 'EXPORT_PRODUCT_VERSION'", tables[i]);
		gt_nsys_read_text(d, p->product, sizeof p->product, sql);
		snprintf(sql, sizeof sql,
			 "SELECT value FROM %s WHERE name = 'EXPORT_SCHEMA_VERSION'", tables[i]);
		gt_nsys_read_text(d, p->schema, sizeof p->schema, sql);
	}
}

/* "2025-12-21T17:29:59" as seconds of a clock without a zone. */
static bool read_moment(const char *text, int64_t *seconds)
{
	struct tm tm = { 0 };
	const char *end = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);

	*seconds = end ? timegm(&tm) : 0;
	return end;
}

static void read_clocks(struct gt_nsys_profile *p, const struct gt_database *d)
{
	int64_t epoch = gt_nsys_read_number(
			d, "SELECT utcEpochNs FROM TARGET_INFO_SESSION_START_TIME"),
		duration = gt_nsys_read_number(d, "SELECT max(duration) FROM ANALYSIS_DETAILS"),
		utc, local;
	char utc_text[64] = "", local_text[64] = "";

	p->start_real_ns = epoch > 0 && epoch < INT64_MAX / 2 ? (uint64_t)epoch : 0;
	p->duration_ns = duration > 0 && duration < INT64_MAX / 2 ? (uint64_t)duration : 0;
	gt_nsys_read_text(d, utc_text, sizeof utc_text,
			  "SELECT utcTime FROM TARGET_INFO_SESSION_START_TIME");
	gt_nsys_read_text(d, local_text, sizeof local_text,
			  "SELECT localTime FROM TARGET_INFO_SESSION_START_TIME");
	if (!read_moment(utc_text, &utc) || !read_moment(local_text, &local))
		return;
	/* no zone is further away than that */
	p->has_offset = local - utc >= -14 * 3600 && local - utc <= 14 * 3600;
	p->utc_offset_s = p->has_offset ? local - utc : 0;
}

/* The program and its arguments: the first argument may be the program. */
static void read_command(struct gt_nsys_profile *p, const struct gt_database *d)
{
	char sql[128], program[256] = "", word[256];
	size_t used = 0;

	gt_nsys_read_text(d, program, sizeof program,
			  "SELECT name FROM PROCESSES ORDER BY rowid LIMIT 1");
	for (int i = 0; i < ARGUMENTS_MAX && used < sizeof p->command; i++) {
		word[0] = '\0';
		snprintf(sql, sizeof sql,
			 "SELECT value FROM META_DATA_CAPTURE WHERE name = 'PROCESS_0:ARGUMENT_%d'",
			 i);
		gt_nsys_read_text(d, word, sizeof word, sql);
		if (!*word)
			break;
		if (!i && strcmp(gt_path_name(word), gt_path_name(program)))
			used += (size_t)snprintf(p->command, sizeof p->command, "%s ", program);
		used += (size_t)snprintf(p->command + used, sizeof p->command - used, "%s%s",
					 i ? " " : "", word);
	}
	if (!used)
		snprintf(p->command, sizeof p->command, "%s", program);
}

static void read_tracking(struct gt_nsys_profile *p, const struct gt_database *d)
{
	char value[16] = "";

	gt_nsys_read_text(
		d, value, sizeof value,
		"SELECT value FROM META_DATA_CAPTURE WHERE name LIKE '%COLLECT_GPU_MEMORY_USAGE'");
	if (!*value)
		return;
	p->tracking = !strcasecmp(value, "true") || !strcmp(value, "1") ? GT_NSYS_TRACKING_ON :
									  GT_NSYS_TRACKING_OFF;
}

static void read_gpus(struct gt_nsys_profile *p, const struct gt_database *d)
{
	sqlite3_stmt *s =
		gt_database_prepare(d, "SELECT id, %s, name FROM TARGET_INFO_GPU",
				    gt_database_column(d, "TARGET_INFO_GPU", "totalMemory"));

	while (s && p->gpu_count < GT_NSYS_GPUS && sqlite3_step(s) == SQLITE_ROW) {
		const unsigned char *name = sqlite3_column_text(s, 2);
		int64_t bytes = sqlite3_column_int64(s, 1);
		struct gt_nsys_gpu *gpu = &p->gpus[p->gpu_count++];

		gpu->id = sqlite3_column_int64(s, 0);
		gpu->bytes = bytes > 0 ? (uint64_t)bytes : 0;
		snprintf(gpu->name, sizeof gpu->name, "%s", name ? (const char *)name : "");
	}
	sqlite3_finalize(s);
}

/* What Nsight says was lost or went wrong while it collected. */
static void read_notes(struct gt_nsys_profile *p, const struct gt_database *d)
{
	sqlite3_stmt *s = gt_database_prepare(
		d,
		"SELECT text, count(*) FROM DIAGNOSTIC_EVENT WHERE severity >= %d GROUP BY text "
		"ORDER BY max(severity) DESC, min(timestamp)",
		SEVERITY_WARNING);

	while (s && sqlite3_step(s) == SQLITE_ROW) {
		const char *text = (const char *)sqlite3_column_text(s, 0);

		if (!text || !*text)
			continue;
		if (p->note_count == GT_NSYS_NOTES)
			p->more_notes++;
		else
			snprintf(p->notes[p->note_count++], sizeof p->notes[0], "%s", text);
	}
	sqlite3_finalize(s);
}

void gt_nsys_profile_read(struct gt_nsys_profile *p, const struct gt_database *d)
{
	read_versions(p, d);
	read_clocks(p, d);
	read_command(p, d);
	read_tracking(p, d);
	read_gpus(p, d);
	read_notes(p, d);
}

const struct gt_nsys_gpu *gt_nsys_profile_gpu(const struct gt_nsys_profile *p,
					      const struct gt_database *d, uint32_t pid,
					      int64_t device)
{
	sqlite3_stmt *s = gt_database_prepare(d,
					      "SELECT gpuId FROM TARGET_INFO_CUDA_DEVICE WHERE "
					      "cudaId = %lld ORDER BY pid = %u DESC",
					      (long long)device, pid);
	int64_t id = s && sqlite3_step(s) == SQLITE_ROW ? sqlite3_column_int64(s, 0) : device;

	sqlite3_finalize(s);
	for (size_t i = 0; i < p->gpu_count; i++)
		if (p->gpus[i].id == id)
			return &p->gpus[i];
	return NULL;
}
