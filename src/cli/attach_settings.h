/* attach_settings.h - what `gputrack attach` is asked to do, from its command line. */
#pragma once

#include "capture/ebpf/probes.h"
#include "cli/options.h"

enum { GT_ATTACH_PIDS_MAX = 1000 };

/* As typed. */
struct gt_attach_typed {
	struct gt_texts pids, apis;
	const char *output, *interval, *duration, *ring_size, *stack_bytes;
	bool command, all, quiet, no_stacks;
	int unwind, way;
	uint64_t top, stack_depth, max_bytes;
};

struct gt_attach_settings {
	struct gt_attach_typed typed;
	double interval, duration;         /* seconds; 0: never, without end */
	uint32_t pids[GT_ATTACH_PIDS_MAX];
	size_t pid_count;
	bool unwanted[GT_API_COUNT];       /* APIs that are left alone */
	char **argv;                       /* of the command; NULL: none */
	struct gt_probes_options probes;
};

/* True when all is well; otherwise *status is what the command returns, and the user knows why. */
bool gt_attach_settings_parse(struct gt_attach_settings *s, int argc, char **argv, int *status);
void gt_attach_settings_fini(struct gt_attach_settings *s);
