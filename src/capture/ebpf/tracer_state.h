/* SPDX-License-Identifier: MIT */
/* tracer_state.h - what the tracer knows; for tracer.c and tracer_news.c alone. */
#pragma once

#include "capture/ebpf/mapwatch.h"
#include "capture/ebpf/parents.h"
#include "capture/ebpf/python_search.h"
#include "capture/ebpf/recorders.h"
#include "capture/ebpf/traced.h"
#include "capture/ebpf/tracer.h"
#include "capture/ebpf/tracer_stacks.h"

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
	struct gt_map_history map_history;
	struct gt_parents parents;
	struct gt_traced_set processes;
	struct gt_places places;
	struct gt_traced *last; /* the process of the last call */
	struct gt_wanted wanted;
	struct gt_tracer_stacks stacks;
	uint64_t looked_ns; /* when libraries were last searched for, without mapwatch */
	int epoll;
	bool stopped;
	bool has_library;  /* gt_tracer_has_library */
	bool threads_over; /* threads have ended since the last drain */
};

/* Adds a process that has been heard of. */
struct gt_traced *gt_tracer_add(struct gt_tracer *t, uint32_t pid, uint64_t start, uint32_t exec,
				uint32_t parent);
/* Decides whether it is wanted; `e` is what the kernel said of it, its pid at least. */
void gt_tracer_judge(struct gt_tracer *t, struct gt_traced *p, const struct gt_probe_event *e);
/* For gt_ring_drain: takes a piece of news, of which the tracer is the context. */
void gt_tracer_take_news(void *tracer, const void *record, size_t size);
