/* SPDX-License-Identifier: MIT */
/* top.c - gputrack top: what processes hold right now, on a live screen. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/process.h"
#include "base/tool.h"
#include "capture/ebpf/obstacle.h"
#include "capture/ebpf/tracer.h"
#include "cli/attach/gpu_use.h"
#include "cli/attach/live_view.h"
#include "cli/cli.h"
#include "cli/forward.h"
#include "cli/input.h"
#include "cli/attach/ring_size.h"
#include "cli/attach/targets.h"
#include "cli/output.h"
#include "screen/terminal_screen.h"
#include "screen/screen.h"

enum { DRAIN_MS = 50 };

struct settings {
	struct gt_targets_settings targets;
	double interval_s;
	bool no_stacks, no_python;
	int unwind, by;
	uint64_t max_memory;
	struct gt_own_options own;
};

#define AT(field) .at = offsetof(struct settings, field)

/* clang-format off */
static const struct gt_option options[] = {
	GT_TARGETS_OPTIONS(offsetof(struct settings, targets),
		"show this process, its children, and those they start; may be repeated, or a "
		"list separated by commas (default: every process that uses one of the libraries)"),
	{ .name = "interval", .letter = 'i', .argument = "S", .type = GT_OPTION_DECIMAL,
	  .least = 0.05, .most = 3600, AT(interval_s),
	  .local = GT_LOCAL_YES, .help = "update every S seconds (default: "
		  "1)" },
	{ .name = "no-stacks", .type = GT_OPTION_FLAG, AT(no_stacks),
	  .local = GT_LOCAL_YES,
	  .help = "do not collect call stacks: less overhead, but no call sites" },
	GT_UNWIND_OPTIONS(AT(no_python), AT(unwind)),
	GT_MEMORY_OPTION(AT(max_memory)),
	GT_BY_OPTION(AT(by), "process, thread or device"),
	GT_OWN_OPTIONS(offsetof(struct settings, own)),
	{ 0 },
};
/* clang-format on */

const struct gt_syntax gt_top_syntax = {
	.name = "top",
	.summary = "show live what processes hold on the GPU",
	.about = "Shows live what running processes hold on the GPU: processes, call sites and the "
		 "largest resources, sorted and filtered, each with a small chart of its history. "
		 "Resources allocated before gputrack attached are not shown. Press ? for the "
		 "keys, q to quit. Needs root and a terminal.",
	.options = options,
};

struct top {
	struct settings *settings;
	struct gt_tracer *tracer;
	struct gt_attach_live live;
	struct gt_gpu_use gpus;
	struct gt_screen screen;
	struct gt_grid grid;
	struct gt_style style;
	struct gt_targets targets;
	char target[96];
};

static int attach(struct top *t, struct gt_error *error)
{
	const struct settings *s = t->settings;
	struct gt_tracer_options how = {
		.listener = t->live.listener,
		.max_stack_bytes = s->max_memory / 2,
		.probes = { .frames = s->no_stacks ? 0 : GT_PROBES_DEPTH,
			    .unwinding = (enum gt_unwinding)s->unwind,
			    .stack_bytes = GT_PROBES_STACK,
			    .python = !s->no_python },
	};
	int e = gt_targets_check(&t->targets, error);

	how.probes.ring_bytes = gt_ring_size(0, &how.probes);
	gt_targets_configure(&t->targets, &how);
	if (!e)
		e = gt_tracer_new(&t->tracer, &how, error);
	if (!e)
		e = gt_targets_probe(&t->targets, t->tracer, error);
	t->live.tracer = t->tracer;
	if (e < 0)
		return e;
	e = gt_privileges_drop(0);
	return e ? gt_error_set(error, e, "cannot drop privileges: %s", strerror(-e)) : 0;
}

static void draw(struct top *t)
{
	time_t now = time(NULL);
	struct tm local;

	if (localtime_r(&now, &local))
		strftime(t->screen.clock, sizeof t->screen.clock, "%T", &local);
	gt_terminal_screen_size(&t->grid.columns, &t->grid.rows);
	gt_screen_draw(&t->screen, &t->grid);
	gt_terminal_screen_show(&t->grid);
}

/* True if the screen must be redrawn. */
static bool take_keys(struct top *t)
{
	uint32_t key;
	bool changed = false;

	while (!t->screen.quit && (key = gt_terminal_screen_key())) {
		changed = true;
		if (key != GT_TERMINAL_RESIZED && gt_screen_key(&t->screen, key))
			gt_screen_fill(&t->screen, t->live.board);
	}
	return changed;
}

static void follow(struct top *t)
{
	uint64_t last = gt_now_ns();

	gt_gpu_use_read(&t->gpus);
	gt_screen_tick(&t->screen, t->live.board, last);
	draw(t);
	while (!t->screen.quit && !gt_stopped) {
		uint64_t now, interval = (uint64_t)(t->screen.interval_s * 1e9);
		bool changed = take_keys(t);

		gt_tracer_wait(t->tracer, DRAIN_MS);
		gt_tracer_drain(t->tracer);
		now = gt_now_ns();
		if (now - last >= interval) {
			last = now - last < 2 * interval ? last + interval : now;
			gt_attach_live_tick(&t->live);
			/* a paused screen goes on showing the names it has */
			if (!t->screen.paused)
				gt_attach_names_trim(t->live.names);
			gt_screen_tick(&t->screen, t->live.board, now);
			changed = true;
		}
		if (changed && !t->screen.quit)
			draw(t);
	}
}

static int run(struct top *t)
{
	struct gt_error error = { "" };
	const struct gt_error *refusal;
	struct gt_live_names names;
	int status = GT_EXIT_DONE, e;
	size_t told = 0;

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return gt_fail("top needs a terminal; without one, `%s attach --interval 1 %s` "
			       "prints a summary every second",
			       gt_tool_name(), t->targets.everyone ? "--all" : "-p PID");
	gt_attach_live_init(&t->live, &(struct gt_attach_live_options){
					      .charts_sites = true,
					      .max_site_bytes = t->settings->max_memory / 2,
					      .own = gt_own_options_rules(&t->settings->own),
					      .by = (enum gt_by)t->settings->by });
	t->live.gpus = &t->gpus;
	names = gt_attach_live_names(&t->live);
	gt_screen_init(&t->screen, &names);
	t->screen.interval_s = t->settings->interval_s;
	t->style = gt_terminal_style(stdout, GT_COLOR_AUTO);
	t->grid.utf8 = t->style.utf8;
	gt_stop_on(SIGINT);
	gt_stop_on(SIGTERM);
	gt_stop_on(SIGHUP);
	gt_stop_on(SIGQUIT);
	e = attach(t, &error);
	if (e) {
		gt_tell("%s", error.text);
		status = gt_targets_status(e);
	} else if (gt_terminal_screen_open(t->style.color, &error)) {
		status = gt_fail("%s: `%s attach --interval 1` prints summaries instead",
				 error.text, gt_tool_name());
	} else {
		gt_targets_name(&t->targets, t->target, sizeof t->target);
		t->screen.target = t->target;
		follow(t);
		gt_terminal_screen_close();
		refusal = &gt_tracer_libraries(t->tracer)->refusal;
		if (*refusal->text)
			gt_tell("%s; it was not tracked", refusal->text);
		gt_targets_tell_dropped(t->tracer, &told);
		gt_attach_live_tell_full(&t->live, t->tracer, t->settings->max_memory);
	}
	if (t->tracer)
		gt_tracer_free(t->tracer);
	gt_screen_fini(&t->screen);
	gt_grid_fini(&t->grid);
	gt_attach_live_fini(&t->live);
	gt_gpu_use_fini(&t->gpus);
	return status;
}

static bool has_phase(enum gt_by by)
{
	return by != GT_BY_PHASE;
}

int gt_cmd_top(int argc, char **argv)
{
	struct settings s = { .interval_s = 1, .max_memory = GT_MEMORY };
	struct top *t = gt_alloc(sizeof *t);
	int status, first = gt_options_parse(&gt_top_syntax, &s, argc, argv, &status);

	t->settings = &s;
	if (first >= 0)
		status = gt_by_check(&gt_top_syntax, &s.by, has_phase,
				     "phases are not known from outside the process; record it "
				     "with `gputrack run`, then `gputrack report --by phase`");
	if (first >= 0 && !status)
		status = gt_targets_parse(&t->targets, &gt_top_syntax, &s.targets, &s.own.library);
	if (first >= 0 && !status)
		status = run(t);
	gt_targets_settings_fini(&s.targets);
	gt_own_options_fini(&s.own);
	gt_targets_fini(&t->targets);
	free(t);
	return status;
}
