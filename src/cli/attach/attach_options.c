/* SPDX-License-Identifier: MIT */
/* attach_options.c - what `gputrack attach` is asked to do, from its command line. */
#include "cli/attach/attach_options.h"

#include <stdlib.h>

#include "cli/cli.h"
#include "screen/board_text.h"

enum {
	INTERVAL = 5,
	SECONDS_MAX = 1000000000, /* so that its nanoseconds are a number */
};

#define AT(field) .at = offsetof(struct gt_attach_typed, field)

/* clang-format off */
static const struct gt_option options[] = {
	{ .name = "pid", .letter = 'p', .type = GT_OPTION_TEXTS, .argument = "PID", AT(pids),
	  .help = "this process and the children it will have; may be given several times, or as "
		  "a list with commas" },
	{ .name = "command", .letter = 'c', .type = GT_OPTION_FLAG, AT(command),
	  .help = "run COMMAND and follow it, and its children; of a library that they load from "
		  "an unusual folder the first calls may be missed, and the report says so" },
	{ .name = "all", .letter = 'a', .type = GT_OPTION_FLAG, AT(all),
	  .help = "every process that has one of the libraries, in containers too, and those that "
		  "start later" },
	{ .name = "api", .type = GT_OPTION_TEXTS, .argument = "API", AT(apis),
	  .help = "only cuda, levelzero or opencl; may be given several times (default: all)" },
	{ .name = "output", .letter = 'o', .type = GT_OPTION_TEXT, .argument = "NAME.gt",
	  AT(output),
	  .help = "record into this folder (default: attach.PID.gt); a recording that is there "
		  "already is kept as NAME.gt.old" },
	{ .name = "interval", .letter = 'i', .type = GT_OPTION_DECIMAL, .argument = "SECONDS",
	  AT(interval), .help = "show a summary so often (default: 5; 0: never)" },
	{ .name = "duration", .letter = 'd', .type = GT_OPTION_DECIMAL, .argument = "SECONDS",
	  AT(duration),
	  .help = "end after this time (default: 0, without end): otherwise with Ctrl-C, or with "
		  "the processes" },
	{ .name = "max-size", .type = GT_OPTION_SIZE, .argument = "SIZE", AT(max_bytes),
	  .help = "stop recording when the recording is this large (500M, 2GiB); the summaries go "
		  "on, and the report says so" },
	{ .name = "top", .letter = 'T', .type = GT_OPTION_COUNT, .argument = "N", AT(top),
	  .help = "call sites and resources to show of each process in a summary, at most 1000 "
		  "(default: 3)" },
	{ .name = "no-stacks", .type = GT_OPTION_FLAG, AT(no_stacks),
	  .help = "do not record where calls come from: cheaper, and says less" },
	{ .name = "unwind", .type = GT_OPTION_CHOICE, .argument = "HOW",
	  .choices = gt_unwinding_names, AT(unwind),
	  .help = "how stacks are found: fp (frame pointers, cheap; the default) or "
		  "dwarf (a copy of the stack's top, for programs without them)" },
	{ .name = "stack-bytes", .type = GT_OPTION_SIZE, .argument = "SIZE", AT(stack_bytes),
	  .help = "how much of the stack --unwind dwarf copies (default: 8K, at most 32K)" },
	{ .name = "stack-depth", .type = GT_OPTION_COUNT, .argument = "N", AT(stack_depth),
	  .help = "frames to record of each stack, at most 127 (default: 64)" },
	{ .name = "ring-size", .type = GT_OPTION_SIZE, .argument = "SIZE", AT(ring_size),
	  .help = "the buffer between kernel and gputrack (default: 16M); what does not fit is "
		  "lost, counted and shown" },
	{ .name = "probes", .type = GT_OPTION_CHOICE, .argument = "HOW",
	  .choices = gt_probe_way_names, AT(way),
	  .help = "how functions are probed: auto (the best the kernel has; the default), session "
		  "(Linux 6.13), multi (6.6) or perf" },
	{ .name = "quiet", .letter = 'q', .type = GT_OPTION_FLAG, AT(quiet),
	  .help = "print no report at the end" },
	{ 0 },
};
/* clang-format on */

const struct gt_syntax gt_attach_syntax = {
	.name = "attach",
	.summary = "track processes that already run",
	.operands = "-p PID | --all | -c [--] COMMAND [ARG…]",
	.about = "Follows running processes through the kernel (eBPF), without stopping or "
		 "changing them, and records what they create and destroy: CUDA, Level Zero, "
		 "OpenCL. Ctrl-C lets go of them; a report follows. Needs root.",
	.options = options,
	.first_operand_ends = true,
};

/* The next power of two, from a page to a gibibyte. */
static size_t ring_bytes(uint64_t wanted)
{
	size_t size = 4096;

	while (size < wanted && size < 1u << 30)
		size *= 2;
	return size;
}

static int parse(struct gt_attach_settings *s, int argc, char **argv, int first)
{
	const struct gt_attach_typed *t = &s->typed;
	int modes = (t->pids.count > 0) + t->command + t->all, status;

	status = gt_targets_parse(&s->targets, &gt_attach_syntax, &t->pids, &t->apis);
	s->targets.everyone = t->all;
	if (status)
		return status;
	if (modes != 1)
		return gt_syntax_wrong(&gt_attach_syntax,
				       modes ? "-p, -c and --all exclude each other" :
					       "whom to follow? Give -p PID, -c COMMAND or --all");
	if (t->command && first == argc)
		return gt_syntax_wrong(&gt_attach_syntax, "there is no COMMAND to run");
	if (!t->command && first < argc)
		return gt_syntax_wrong(&gt_attach_syntax,
				       "'%s' is too much: a command to run comes "
				       "after -c",
				       argv[first]);
	if (t->interval > SECONDS_MAX || t->duration > SECONDS_MAX)
		return gt_syntax_wrong(&gt_attach_syntax,
				       "--interval and --duration are at most %d "
				       "seconds",
				       SECONDS_MAX);
	if (t->stack_bytes < 512 || t->stack_bytes > 32768)
		return gt_syntax_wrong(&gt_attach_syntax,
				       "--stack-bytes is a size from 512 to 32K");
	if (t->stack_depth > GT_PROBE_FRAMES)
		return gt_syntax_wrong(&gt_attach_syntax, "--stack-depth is at most %d",
				       GT_PROBE_FRAMES);
	if (t->top > GT_BOARD_TOP_MAX)
		return gt_syntax_wrong(&gt_attach_syntax, "--top is at most %d", GT_BOARD_TOP_MAX);
	status = gt_option_needs(&gt_attach_syntax, "stack-bytes", t->unwind == GT_UNWIND_DWARF,
				 "--unwind dwarf");
	if (status)
		return status;
	s->argv = t->command ? argv + first : NULL;
	s->probes = (struct gt_probes_options){
		.everyone = t->all,
		.frames = t->no_stacks ? 0 : (uint32_t)t->stack_depth,
		.stack_bytes = t->unwind == GT_UNWIND_DWARF ? (uint32_t)t->stack_bytes & ~255u : 0,
		.ring_bytes = ring_bytes(t->ring_size),
		.way = (enum gt_probe_way)t->way
	};
	return 0;
}

bool gt_attach_settings_parse(struct gt_attach_settings *s, int argc, char **argv, int *status)
{
	int first;

	*s = (struct gt_attach_settings){ .typed = { .stack_depth = GT_PROBES_DEPTH,
						     .top = 3,
						     .interval = INTERVAL,
						     .ring_size = GT_PROBES_RING,
						     .stack_bytes = GT_PROBES_STACK } };
	first = gt_options_parse(&gt_attach_syntax, &s->typed, argc, argv, status);
	if (first < 0)
		return false;
	*status = parse(s, argc, argv, first);
	return !*status;
}

void gt_attach_settings_fini(struct gt_attach_settings *s)
{
	gt_texts_fini(&s->typed.pids);
	gt_texts_fini(&s->typed.apis);
	gt_targets_fini(&s->targets);
}
