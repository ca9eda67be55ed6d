/* SPDX-License-Identifier: MIT */
/* prometheus.c - what was alive at a recording's end as Prometheus' text, by API and kind. */
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/mem.h"
#include "export/export.h"
#include "export/metric_text.h"
#include "replay/ending.h"
#include "replay/replay.h"

/* From the tallies of the ledger. */
static const struct {
	const char *name, *type, *help;
	size_t at; /* in struct gt_tally */
} metrics[] = {
	{ "gputrack_peak_bytes", "gauge", "Peak bytes alive.",
	  offsetof(struct gt_tally, bytes_peak) },
	{ "gputrack_created_resources_total", "counter", "Resources created.",
	  offsetof(struct gt_tally, created) },
	{ "gputrack_created_bytes_total", "counter", "Bytes created.",
	  offsetof(struct gt_tally, bytes_total) },
	{ "gputrack_failed_calls_total", "counter", "Calls that failed.",
	  offsetof(struct gt_tally, failed) },
};

/* What was not released, by fate. */
struct unreleased {
	uint64_t count[GT_API_COUNT][GT_KIND_COUNT][GT_FATE_COUNT];
	uint64_t bytes[GT_API_COUNT][GT_KIND_COUNT][GT_FATE_COUNT];
};

static bool is_used(const struct gt_tally *t)
{
	return t->created || t->failed;
}

/* `fate` may be NULL. */
static void put_value(FILE *out, const char *name, int api, int kind, const char *fate,
		      uint64_t value)
{
	fprintf(out, "%s{", name);
	gt_metric_label(out, "api", gt_api_keys[api], ",");
	gt_metric_label(out, "kind", gt_kinds[kind].name, fate ? "," : "}");
	if (fate)
		gt_metric_label(out, "fate", fate, "}");
	fprintf(out, " %" PRIu64 "\n", value);
}

static void put_metric(FILE *out, const struct gt_ledger *l, size_t metric)
{
	gt_metric_head(out, metrics[metric].name, metrics[metric].type, metrics[metric].help);
	for (int api = 0; api < GT_API_COUNT; api++)
		for (int kind = 0; kind < GT_KIND_COUNT; kind++) {
			const struct gt_tally *t = &l->tally[api][kind];

			if (is_used(t))
				put_value(
					out, metrics[metric].name, api, kind, NULL,
					*(const uint64_t *)((const char *)t + metrics[metric].at));
		}
}

static void add_unreleased(void *context, const struct gt_entry *entry, enum gt_fate fate)
{
	struct unreleased *u = context;
	const struct gt_function *fn = &gt_functions[entry->function];
	enum gt_kind kind = gt_entry_kind(entry);

	u->count[fn->api][kind][fate]++;
	u->bytes[fn->api][kind][fate] += gt_entry_bytes(entry);
}

/* Of the kinds that can leak: what leaked, and with `all` what has another fate, by label. */
static void put_fates(FILE *out, const struct gt_ledger *l,
		      uint64_t values[GT_API_COUNT][GT_KIND_COUNT][GT_FATE_COUNT], const char *name,
		      bool all)
{
	for (int api = 0; api < GT_API_COUNT; api++)
		for (int kind = 0; kind < GT_KIND_COUNT; kind++) {
			if (!is_used(&l->tally[api][kind]) || gt_kinds[kind].habits & GT_LASTING)
				continue;
			for (int fate = 0; fate < (all ? GT_FATE_COUNT : 1); fate++)
				put_value(out, name, api, kind, all ? gt_fate_keys[fate] : NULL,
					  values[api][kind][all ? fate : GT_FATE_LEAKED]);
		}
}

static void put_unreleased(const struct gt_export *e, const struct gt_ledger *l)
{
	struct gt_view v = { .recording = e->recording, .ledger = l, .strict = e->strict };
	FILE *out = e->out;
	struct unreleased *u = gt_alloc(sizeof *u);

	gt_fate_each(&v, add_unreleased, u);
	gt_metric_head(out, "gputrack_leaked_resources", "gauge",
		       "Resources never released by processes that ended by themselves.");
	put_fates(out, l, u->count, "gputrack_leaked_resources", false);
	gt_metric_head(out, "gputrack_leaked_bytes", "gauge",
		       "Bytes never released by processes that ended by themselves.");
	put_fates(out, l, u->bytes, "gputrack_leaked_bytes", false);
	gt_metric_head(
		out, "gputrack_unreleased_resources", "gauge",
		"Resources not released: leaked, perhaps leaked, alive when their process was "
		"killed, or alive in a running process.");
	put_fates(out, l, u->count, "gputrack_unreleased_resources", true);
	gt_metric_head(out, "gputrack_unreleased_bytes", "gauge", "Bytes not released, by fate.");
	put_fates(out, l, u->bytes, "gputrack_unreleased_bytes", true);
	free(u);
}

void gt_export_prometheus(const struct gt_export *e)
{
	struct gt_ledger *l = gt_replay_run(
		e->recording, &(struct gt_replay){ .held = e->held, .tick = e->tick });

	gt_metric_head(e->out, "gputrack_recording_info", "gauge",
		       "Information about the recording; always 1.");
	fputs("gputrack_recording_info{", e->out);
	gt_metric_label(e->out, "version", GT_VERSION, ",");
	gt_metric_label(e->out, "command", gt_recording_info(e->recording, "command"), ",");
	gt_metric_label(e->out, "host", gt_recording_info(e->recording, "host"), "} 1\n");
	gt_metric_one(e->out, "gputrack_processes", "gauge", "Processes tracked.",
		      gt_recording_process_count(e->recording));
	gt_metric_one(e->out, "gputrack_events_total", "counter", "Events recorded.", l->events);
	gt_metric_one(e->out, "gputrack_lost_events_total", "counter",
		      "Events that could not be recorded.", gt_recording_lost(e->recording));
	gt_metric_one(e->out, "gputrack_device_peak_bytes", "gauge",
		      "Peak bytes of device memory alive.", l->peak_bytes);
	gt_metric_one(e->out, "gputrack_held_resources", "gauge",
		      "Resources that libraries hold by design until the process ends.",
		      l->held.count);
	gt_metric_one(e->out, "gputrack_held_bytes", "gauge",
		      "Bytes that libraries hold by design until the process ends.",
		      l->held.device_bytes + l->held.host_bytes);
	put_unreleased(e, l);
	for (size_t i = 0; i < sizeof metrics / sizeof *metrics; i++)
		put_metric(e->out, l, i);
	gt_ledger_free(l);
}
