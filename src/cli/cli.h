/* cli.h - the subcommands: what main.c dispatches to. Only src/cli prints on its own. */
#pragma once

#include "cli/options.h"

#ifndef GT_VERSION
#define GT_VERSION "unknown"
#endif

enum gt_exit {
	GT_EXIT_DONE = 0,
	GT_EXIT_FAILED = 1,
	GT_EXIT_USAGE = 2,
	GT_EXIT_LEAKED = 23,    /* run --fail-on-leak */
	GT_EXIT_UNTRACKED = 24,
};

/* A subcommand: its table of options and what it does. argv[0] is its name. */
struct gt_command {
	const struct gt_usage *usage;
	int (*run)(int argc, char **argv);
	bool hidden; /* not for people: left out of --help */
};

extern const struct gt_usage gt_run_usage, gt_report_usage, gt_export_usage, gt_import_usage,
	gt_doctor_usage, gt_symbolize_usage, gt_monitor_usage, gt_stress_usage, gt_plot_usage,
	gt_html_usage;

int gt_cmd_run(int argc, char **argv);
int gt_cmd_report(int argc, char **argv);
int gt_cmd_export(int argc, char **argv);
int gt_cmd_html(int argc, char **argv);
int gt_cmd_import(int argc, char **argv);
int gt_cmd_doctor(int argc, char **argv);
int gt_cmd_monitor(int argc, char **argv);
int gt_cmd_stress(int argc, char **argv);
int gt_cmd_plot(int argc, char **argv);
int gt_cmd_symbolize(int argc, char **argv);

/* `gputrack: WHAT, on what; what to do now` on stderr, cleaned. Gives GT_EXIT_FAILED. */
int gt_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
