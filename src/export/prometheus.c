/* SPDX-License-Identifier: MIT */
/* prometheus.c - what was alive at a recording's end as Prometheus' text, by API and kind. */
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/text.h"
#include "export/export.h"
#include "replay/replay.h"

static const struct {
	const char *name, *type, *help;
	size_t at;  /* in struct gt_tally */
	bool leaks; /* not of what lasts as long as the process */
} metrics[] = {
	{ "gputrack_leaked_resources", "gauge", "Resources never released.",
	  offsetof(struct gt_tally, live), true },
	{ "gputrack_leaked_bytes", "gauge", "Bytes never released.",
	  offsetof(struct gt_tally, bytes_live), true },
	{ "gputrack_peak_bytes", "gauge", "Peak bytes alive.",
	  offsetof(struct gt_tally, bytes_peak), false },
	{ "gputrack_created_resources_total", "counter", "Resources created.",
	  offsetof(struct gt_tally, created), false },
	{ "gputrack_created_bytes_total", "counter", "Bytes created.",
	  offsetof(struct gt_tally, bytes_total), false },
	{ "gputrack_failed_calls_total", "counter", "Calls that failed.",
	  offsetof(struct gt_tally, failed), false },
};

static void put_head(FILE *out, const char *name, const char *type, const char *help)
{
	fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void put_one(FILE *out, const char *name, const char *type, const char *help, uint64_t value)
{
	put_head(out, name, type, help);
	fprintf(out, "%s %" PRIu64 "\n", name, value);
}

/* A label's value: its three escapes, and UTF-8 alone. */
static void put_label(FILE *out, const char *name, const char *value, const char *end)
{
	char *clean = gt_text_sanitize(value);

	fprintf(out, "%s=\"", name);
	for (const char *c = clean; *c; c++) {
		if (*c == '\n')
			fputs("\\n", out);
		else if (*c == '\\' || *c == '"')
			fprintf(out, "\\%c", *c);
		else
			putc(*c, out);
	}
	fprintf(out, "\"%s", end);
	free(clean);
}

static bool is_used(const struct gt_tally *t)
{
	return t->created || t->failed;
}

static void put_metric(FILE *out, const struct gt_ledger *l, size_t metric)
{
	put_head(out, metrics[metric].name, metrics[metric].type, metrics[metric].help);
	for (int api = 0; api < GT_API_COUNT; api++)
		for (int kind = 0; kind < GT_KIND_COUNT; kind++) {
			const struct gt_tally *t = &l->tally[api][kind];

			if (!is_used(t) ||
			    (metrics[metric].leaks && gt_kinds[kind].habits & GT_LASTING))
				continue;
			fprintf(out, "%s{", metrics[metric].name);
			put_label(out, "api", gt_api_keys[api], ",");
			put_label(out, "kind", gt_kinds[kind].name, "}");
			fprintf(out, " %" PRIu64 "\n",
				*(const uint64_t *)((const char *)t + metrics[metric].at));
		}
}

/* What libraries hold by design is no part of the leaks. */
static void take_off_held(struct gt_ledger *l)
{
	for (size_t i = 0; i < l->site_count; i++) {
		const struct gt_site *site = &l->sites[i];

		if (!site->held)
			continue;
		l->tally[site->api][site->kind].live -= site->live;
		l->tally[site->api][site->kind].bytes_live -= site->bytes_live;
	}
}

void gt_export_prometheus(const struct gt_export *e)
{
	struct gt_ledger *l = gt_replay_run(
		e->recording, &(struct gt_replay){ .held = e->held, .tick = e->tick });

	put_head(e->out, "gputrack_recording_info", "gauge",
		 "Information about the recording; always 1.");
	fputs("gputrack_recording_info{", e->out);
	put_label(e->out, "version", GT_VERSION, ",");
	put_label(e->out, "command", gt_recording_info(e->recording, "command"), ",");
	put_label(e->out, "host", gt_recording_info(e->recording, "host"), "} 1\n");
	put_one(e->out, "gputrack_processes", "gauge", "Processes tracked.",
		gt_recording_process_count(e->recording));
	put_one(e->out, "gputrack_events_total", "counter", "Events recorded.", l->events);
	put_one(e->out, "gputrack_lost_events_total", "counter",
		"Events that could not be recorded.", gt_recording_lost(e->recording));
	put_one(e->out, "gputrack_device_peak_bytes", "gauge", "Peak bytes of device memory alive.",
		l->peak_bytes);
	put_one(e->out, "gputrack_held_resources", "gauge",
		"Resources that libraries hold by design until the process ends.", l->held.count);
	put_one(e->out, "gputrack_held_bytes", "gauge",
		"Bytes that libraries hold by design until the process ends.",
		l->held.device_bytes + l->held.host_bytes);
	take_off_held(l);
	for (size_t i = 0; i < sizeof metrics / sizeof *metrics; i++)
		put_metric(e->out, l, i);
	gt_ledger_free(l);
}
