/* SPDX-License-Identifier: MIT */
/* alive_over_time.h - live resources by kind over time, collected while a recording is replayed. */
#pragma once

#include "ledger/ledger.h"
#include "plot/trail.h"
#include "trace/recording.h"

enum { GT_HISTORY_SERIES = 32 }; /* of samples; further ones are left out */

struct gt_alive_range {
	uint64_t low, high;
};

/* Of a kind. */
struct gt_alive_sum {
	uint64_t live, bytes;
};

struct gt_alive_over_time {
	struct gt_recording *recording;
	struct gt_trail bytes;         /* of the device, then layers, each on the last; host memory
					  for itself */
	uint8_t layers[GT_KIND_COUNT]; /* kinds with bytes, device memory first */
	size_t layer_count;
	struct gt_trail objects[GT_KIND_COUNT];
	struct gt_trail series[GT_HISTORY_SERIES]; /* by the recording's number */
	uint64_t most[GT_KIND_COUNT];
	double most_bytes;
	double end_s;

	/* private */
	uint64_t start_ns;
	struct gt_alive_sum kinds[GT_KIND_COUNT]; /* as last taken */
	size_t layer_of[GT_KIND_COUNT]; /* the place in `layers`; of kinds without bytes: the end */
	size_t device_layers;
	double layer_bytes[GT_KIND_COUNT + 1]; /* of each layer alone */
	size_t first_changed;                  /* of the layers, since `values` was made */
	double values[1 + GT_KIND_COUNT];      /* the latest point of `bytes` */
	/* kinds that have changed since they were last taken, and a list of them */
	bool is_changed[GT_KIND_COUNT];
	uint8_t changed[GT_KIND_COUNT];
	size_t changed_count;
	/* a time so short that a picture shows only what is highest and lowest in it */
	struct {
		uint64_t end_ns; /* UINT64_MAX: there is none */
		struct gt_alive_range device_bytes, live[GT_KIND_COUNT], bytes[GT_KIND_COUNT];
	} stretch;
};

struct gt_alive_over_time *gt_alive_over_time_new(struct gt_recording *r);
void gt_alive_over_time_free(struct gt_alive_over_time *h);
/* For gt_replay_run: the observer of its ledger. */
struct gt_live_observer gt_alive_over_time_observer(struct gt_alive_over_time *h);
/* Likewise: before each event and each end of a process. */
void gt_alive_over_time_before(void *history, const struct gt_ledger *l, uint64_t time_ns);
/* Likewise: after each event, in order. */
void gt_alive_over_time_event(void *history, const struct gt_ledger *l,
			      const struct gt_event *event, uint32_t process);
/* Likewise: after the end of a process. */
void gt_alive_over_time_ended(void *history, const struct gt_ledger *l, uint64_t time_ns);
/* Likewise: for each sample. */
gt_sample_fn gt_alive_over_time_sample;
/* Likewise: after the last event. */
void gt_alive_over_time_last(void *history, const struct gt_ledger *l);
/* After the replay. */
void gt_alive_over_time_finish(struct gt_alive_over_time *h, const struct gt_ledger *l);
