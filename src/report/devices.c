/* SPDX-License-Identifier: MIT */
/* devices.c - device memory as the GPUs report it, beside what was traced. */
#include "report/devices.h"

#include <string.h>

#include "base/format.h"

/* The names under which the tool's sampler writes (cli/run/device_sampler.h). */
#define DEVICE_USED  "device memory used"
#define PROGRAM_USED "device memory used by the program"

static const struct gt_sampled *sampled(const struct gt_view *v, size_t series, const char *name)
{
	const struct gt_samples *s = &v->ledger->samples;

	if (series >= s->count || !s->series[series].any ||
	    series >= gt_recording_series_count(v->recording) ||
	    strcmp(gt_recording_series(v->recording, (uint16_t)series)->name, name))
		return NULL;
	return &s->series[series];
}

static const char *subject(const struct gt_view *v, size_t series)
{
	return gt_recording_series(v->recording, (uint16_t)series)->subject;
}

/* The program's own share of the same GPU, if the GPU tells it. */
static const struct gt_sampled *program_share(const struct gt_view *v, size_t device)
{
	for (size_t i = 0; i < v->ledger->samples.count; i++) {
		const struct gt_sampled *one = sampled(v, i, PROGRAM_USED);

		if (one && !strcmp(subject(v, i), subject(v, device)))
			return one;
	}
	return NULL;
}

bool gt_devices_any(const struct gt_view *v)
{
	for (size_t i = 0; i < v->ledger->samples.count; i++)
		if (sampled(v, i, DEVICE_USED))
			return true;
	return false;
}

static uint64_t size_of(int64_t value)
{
	return value > 0 ? (uint64_t)value : 0;
}

/* What the program added to all GPUs at their highest: by their word, or over what was there. */
static uint64_t added(const struct gt_view *v)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < v->ledger->samples.count; i++) {
		const struct gt_sampled *device = sampled(v, i, DEVICE_USED);
		const struct gt_sampled *share = device ? program_share(v, i) : NULL;

		if (device)
			sum += share ? size_of(share->peak) : size_of(device->peak - device->first);
	}
	return sum;
}

static void put_device(struct gt_printer *p, const struct gt_view *v, size_t series,
		       const struct gt_sampled *device)
{
	const struct gt_sampled *share = program_share(v, series);
	char text[GT_FORMAT_MAX];

	gt_print_right(p, GT_PLAIN, gt_format_bytes(text, size_of(device->peak)), 12);
	gt_print_tab(p, 14);
	gt_print_name(p, GT_PLAIN, subject(v, series), 40);
	gt_print_put(p, GT_DIM, ", %s when it started",
		     gt_format_bytes(text, size_of(device->first)));
	if (share)
		gt_print_put(p, GT_DIM, ", at most %s the program's",
			     gt_format_bytes(text, size_of(share->peak)));
	gt_print_end(p);
}

void gt_devices_text(struct gt_printer *p, const struct gt_view *v)
{
	uint64_t more, traced = v->ledger->peak_bytes;
	char text[GT_FORMAT_MAX];

	if (!gt_devices_any(v))
		return;
	gt_print_put(p, GT_BOLD, "GPU  memory in use at most, as the GPU reports it");
	gt_print_end(p);
	for (size_t i = 0; i < v->ledger->samples.count; i++) {
		const struct gt_sampled *device = sampled(v, i, DEVICE_USED);

		/* one that nobody touched tells nothing */
		if (device && (device->peak != device->first || program_share(v, i)))
			put_device(p, v, i, device);
	}
	more = added(v) > traced ? added(v) - traced : 0;
	gt_print_right(p, GT_PLAIN, gt_format_bytes(text, more), 12);
	gt_print_tab(p, 14);
	gt_print_put(p, GT_PLAIN, "of it not traced: contexts, libraries, other processes");
	gt_print_end(p);
	gt_print_end(p);
}

void gt_devices_json(struct gt_json *j, const struct gt_view *v)
{
	uint64_t traced = v->ledger->peak_bytes;

	if (!gt_devices_any(v))
		return;
	gt_json_array(j, "devices");
	for (size_t i = 0; i < v->ledger->samples.count; i++) {
		const struct gt_sampled *device = sampled(v, i, DEVICE_USED);
		const struct gt_sampled *share = device ? program_share(v, i) : NULL;

		if (!device)
			continue;
		gt_json_line(j, NULL);
		gt_json_text(j, "device", subject(v, i));
		gt_json_int(j, "first_bytes", device->first);
		gt_json_int(j, "peak_bytes", device->peak);
		gt_json_int(j, "peak_time_ns", gt_view_time(v, device->peak_ns));
		gt_json_int(j, "last_bytes", device->last);
		if (share)
			gt_json_int(j, "program_peak_bytes", share->peak);
		else
			gt_json_null(j, "program_peak_bytes");
		gt_json_end(j);
	}
	gt_json_end(j);
	gt_json_uint(j, "untraced_bytes", added(v) > traced ? added(v) - traced : 0);
}
