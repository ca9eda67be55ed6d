/* SPDX-License-Identifier: MIT */
/* pprof.c - the call sites of a recording as a gzipped pprof profile. */
#include <stdlib.h>

#include "base/format.h"
#include "base/mem.h"
#include "export/export.h"
#include "export/pprof_writer.h"
#include "replay/ending.h"
#include "replay/place.h"
#include "replay/replay.h"

/* The recording's modules, by the path of theirs that frames have. */
static bool find_module(void *recording, const char *path, struct gt_pprof_mapping *mapping)
{
	const struct gt_recording *r = recording;
	size_t count = gt_recording_module_count(r);

	for (size_t i = 0; i < count; i++) {
		const struct gt_recorded_module *m = gt_recording_module(r, (uint32_t)i);

		if (m->path != path)
			continue;
		*mapping = (struct gt_pprof_mapping){ .number = i + 1,
						      .build_id = m->build_id,
						      .build_id_size = m->build_id_size };
		return true;
	}
	return false;
}

/* Part of a site: `values` has the figures alone. `fate` may be NULL. */
static void put_sample(struct gt_pprof *p, const struct gt_export *e, const struct gt_site *site,
		       struct gt_pprof_sample values, const char *fate)
{
	const struct gt_pprof_label labels[] = { { "api", gt_api_keys[site->api] },
						 { "kind", gt_kinds[site->kind].name },
						 { "fate", fate } };
	char *place = gt_place_text(e->frames, site->stack, true);

	values.count = gt_frames_get(e->frames, site->stack, &values.frames);
	values.place = place;
	values.labels = labels;
	values.label_count = fate ? 3 : 2;
	gt_pprof_sample(p, &values);
	free(place);
}

/* What was not released has a sample for each fate, the rest one of its own. */
static void put_site(struct gt_pprof *p, const struct gt_export *e, const struct gt_site *site,
		     const struct gt_site_fates *fates)
{
	struct gt_pprof_sample rest = { .created = site->created,
					.created_bytes = site->bytes_total,
					.live = site->live,
					.live_bytes = site->bytes_live };

	for (int fate = 0; fate < GT_FATE_COUNT; fate++) {
		rest.live -= fates->count[fate];
		rest.live_bytes -= fates->bytes[fate];
	}
	put_sample(p, e, site, rest, NULL);
	for (int fate = 0; fate < GT_FATE_COUNT; fate++)
		if (fates->count[fate])
			put_sample(p, e, site,
				   (struct gt_pprof_sample){ .live = fates->count[fate],
							     .live_bytes = fates->bytes[fate] },
				   gt_fate_keys[fate]);
}

void gt_export_pprof(const struct gt_export *e)
{
	struct gt_ledger *l = gt_replay_run(
		e->recording, &(struct gt_replay){ .held = e->held, .tick = e->tick });
	struct gt_view v = { .recording = e->recording, .ledger = l, .strict = e->strict };
	struct gt_site_fates *fates = gt_site_fates(&v);
	struct gt_pprof_options options = { .out = e->out,
					    .time_ns = gt_recording_start_real_ns(e->recording),
					    .comment = gt_recording_info(e->recording, "command"),
					    .default_type = "inuse_space",
					    .mapping = find_module,
					    .context = e->recording };
	struct gt_pprof *p;

	if (!gt_recording_duration_ns(e->recording, &options.duration_ns))
		options.duration_ns = 0;
	gt_places_list_ledger(e->frames, l);
	p = gt_pprof_new(&options);
	for (size_t i = 0; i < l->site_count; i++)
		put_site(p, e, &l->sites[i], &fates[i]);
	gt_pprof_free(p);
	free(fates);
	gt_ledger_free(l);
}
