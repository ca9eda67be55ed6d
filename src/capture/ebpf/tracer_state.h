/* SPDX-License-Identifier: MIT */
/* tracer_state.h - what the tracer knows; for tracer.c and tracer_news.c alone. */
#pragma once

#include "capture/ebpf/backlog.h"
#include "capture/ebpf/mapwatch.h"
#include "capture/ebpf/parents.h"
#include "capture/ebpf/python_search.h"
#include "capture/ebpf/recorders.h"
#include "capture/ebpf/traced.h"
#include "capture/ebpf/tracer.h"
#include "capture/ebpf/tracer_stacks.h"

enum { GT_TRACER_ENDED = 256 };

struct gt_tracer {
	struct gt_tracer_options options;
	struct gt_traced_place place;
	struct gt_stack_budget budget; /* of the stacks of all processes */
	int error;                     /* of the first trace that could not be made */
	struct gt_probes *probes;
	struct gt_libraries libraries;
	struct gt_recorders recorders;
	struct gt_images images;
	struct gt_python_search pythons;
	struct gt_mapwatch mapwatch;
	bool hears_mappings; /* they are being taken from mapwatch */
	struct gt_map_history map_history;
	struct gt_parents parents;
	struct gt_traced_set processes;
	struct gt_places places;
	struct gt_traced *last;          /* the process of the last call */
	uint32_t ended[GT_TRACER_ENDED]; /* pids of the processes that ended last */
	size_t ended_count;              /* of all so far */
	struct gt_wanted wanted;
	struct gt_tracer_stacks stacks;
	uint64_t looked_ns;         /* when libraries were last searched for, without mapwatch */
	struct gt_backlog *backlog; /* of calls; NULL: none */
	int epoll;
	bool has_waited;
	bool stopped;
	bool has_library;  /* gt_tracer_has_library */
	bool threads_over; /* threads have ended since the last drain */
};

/* Adds a process that has been heard of. */
struct gt_traced *gt_tracer_add(struct gt_tracer *t, uint32_t pid, uint64_t start, uint32_t exec,
				uint32_t parent);
/* Decides whether it is wanted; `e` is what the kernel said of it, its pid at least. */
void gt_tracer_judge(struct gt_tracer *t, struct gt_traced *p, const struct gt_probe_event *e);
/* Libraries that others than the followed processes have mapped are not to be probed. */
void gt_tracer_drop_others(struct gt_tracer *t);
/* For gt_ring_drain: takes a piece of news, of which the tracer is the context. */
void gt_tracer_take_news(void *tracer, const void *record, size_t size);
