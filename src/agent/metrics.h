/* SPDX-License-Identifier: MIT */
/*
 * metrics.h - a host's totals for Prometheus: at most GT_METRICS_SERIES series, whatever runs.
 *
 * Call sites are rows of a table (row.h), not series: only the few that grow fastest are named.
 */
#pragma once

#include <stdio.h>

#include "agent/totals.h"

enum { GT_METRICS_SERIES = 40 };

/* What the totals do not know. */
struct gt_agent_figures {
	const char *version;
	uint64_t lost_events;   /* calls that the kernel could not pass on */
	uint64_t out_of_memory; /* calls that failed because memory ran out */
	double cpu_seconds;     /* of the agent */
	uint64_t resident_bytes;
	/* The memory of a GPU with this name; 0: unknown. May be NULL. */
	uint64_t (*capacity)(void *context, const char *gpu);
	void *context;
};

/* As OpenMetrics has it, or as Prometheus' older text. */
enum gt_metrics_form { GT_METRICS_TEXT, GT_METRICS_OPEN };

void gt_agent_metrics(FILE *out, const struct gt_agent_totals *t, const struct gt_agent_figures *f,
		      enum gt_metrics_form form);
