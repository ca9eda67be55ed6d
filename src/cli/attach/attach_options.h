/* SPDX-License-Identifier: MIT */
/* attach_options.h - what `gputrack attach` is asked to do, from its command line. */
#pragma once

#include "capture/ebpf/probes.h"
#include "cli/options.h"
#include "cli/attach/targets.h"

/* As typed. */
struct gt_attach_typed {
	struct gt_texts pids, apis;
	const char *output;
	double interval, duration; /* seconds; 0: never, without end */
	bool command, all, quiet, no_stacks;
	int unwind, way;
	uint64_t top, stack_depth, max_bytes, ring_size, stack_bytes;
};

struct gt_attach_settings {
	struct gt_attach_typed typed;
	struct gt_targets targets;
	char **argv; /* of the command; NULL: none */
	struct gt_probes_options probes;
};

/* True when all is well; otherwise *status is what the command returns, and the user knows why. */
bool gt_attach_settings_parse(struct gt_attach_settings *s, int argc, char **argv, int *status);
void gt_attach_settings_fini(struct gt_attach_settings *s);
