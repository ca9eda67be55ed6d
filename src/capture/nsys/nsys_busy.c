/* SPDX-License-Identifier: MIT */
/* nsys_busy.c - when the GPUs of an export worked: kernels, copies and fills. */
#include "capture/nsys/nsys_busy.h"

#include <stdio.h>

enum { DEVICES = 32 };

static const char *const tables[] = { "CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY",
				      "CUPTI_ACTIVITY_KIND_MEMSET" };

struct device {
	struct gt_lane *lane;
	uint16_t series;
	int64_t busy_until;
};

static bool is_usable(const struct gt_database *d, const char *table)
{
	return gt_database_has_column(d, table, "start") && gt_database_has_column(d, table, "end");
}

bool gt_nsys_has_work(const struct gt_database *d)
{
	for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
		if (is_usable(d, tables[i]))
			return true;
	return false;
}

static void open_device(struct gt_writer *w, struct device *device, int64_t number)
{
	char subject[32];

	snprintf(subject, sizeof subject, "GPU %lld", (long long)number);
	device->series =
		gt_writer_series(w, &(struct gt_series){ GT_SERIES_GPU_BUSY, "", subject });
	/* its own: each has its own order of time */
	device->lane = gt_lane_acquire(w, (uint32_t)number + 1, "GPU");
}

static void add_work(struct device *device, uint64_t base_ns, int64_t start, int64_t end)
{
	if (device->busy_until && start <= device->busy_until) {
		device->busy_until = end > device->busy_until ? end : device->busy_until;
		return;
	}
	if (device->busy_until)
		gt_lane_sample(device->lane, device->series, base_ns + (uint64_t)device->busy_until,
			       0);
	gt_lane_sample(device->lane, device->series, base_ns + (uint64_t)start, 1);
	device->busy_until = end;
}

int gt_nsys_busy_write(struct gt_writer *w, const struct gt_database *d, uint64_t base_ns,
		       struct gt_error *error)
{
	struct device devices[DEVICES] = { { 0 } };
	char sql[512] = "";
	size_t used = 0;
	sqlite3_stmt *rows;
	int e, step;

	for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
		if (is_usable(d, tables[i]))
			used += (size_t)snprintf(
				sql + used, sizeof sql - used,
				"%sSELECT start, \"end\", %s FROM %s", used ? " UNION ALL " : "",
				gt_database_column(d, tables[i], "deviceId"), tables[i]);
	if (!used)
		return 0;
	e = gt_database_query(&rows, d, error, "%s ORDER BY 1", sql);
	if (e)
		return e;
	while ((step = sqlite3_step(rows)) == SQLITE_ROW) {
		int64_t start = sqlite3_column_int64(rows, 0), end = sqlite3_column_int64(rows, 1);
		int64_t number = sqlite3_column_int64(rows, 2);

		if (number < 0 || number >= DEVICES || start <= 0 || end < start)
			continue;
		if (!devices[number].lane)
			open_device(w, &devices[number], number);
		if (devices[number].lane)
			add_work(&devices[number], base_ns, start, end);
	}
	if (step != SQLITE_DONE)
		e = gt_database_failed(d, error);
	for (size_t i = 0; i < DEVICES; i++)
		if (devices[i].lane) {
			gt_lane_sample(devices[i].lane, devices[i].series,
				       base_ns + (uint64_t)devices[i].busy_until, 0);
			gt_lane_release(devices[i].lane);
		}
	sqlite3_finalize(rows);
	return e;
}
