/* SPDX-License-Identifier: MIT */
/* stress.c - gputrack stress: allocates and frees GPU memory at a given rate. */
#include "cli/stress/stress.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/format.h"
#include "base/text.h"
#include "base/tool.h"
#include "cli/cli.h"
#include "cli/forward.h"
#include "cli/output.h"
#include "base/print.h"

enum { API_ANY = GT_STRESS_APIS };

static const char *const api_names[] = { "cuda", "levelzero", "opencl", "any", NULL };

struct settings {
	const char *throughput, *library;
	uint64_t size_bytes, threads, events;
	double free_ratio, duration_s;
	int api;
};

#define AT(field) .at = offsetof(struct settings, field)

/* clang-format off */
static const struct gt_option options[] = {
	{ .name = "throughput", .letter = 't', .argument = "N", .type = GT_OPTION_TEXT,
	  AT(throughput),
	  .help = "events per second (default: 1000); 0 or max: as fast as possible" },
	{ .name = "allocate-size", .letter = 's', .argument = "BYTES", .type = GT_OPTION_COUNT,
	  .least = 1, .most = 1ll << 40, AT(size_bytes),
	  .help = "size of each allocation (default: 2048, at most 1099511627776)" },
	{ .name = "free-ratio", .letter = 'r', .argument = "R", .type = GT_OPTION_DECIMAL,
	  .most = 1, AT(free_ratio), .help = "fraction of the allocations to free: 1.0 frees all "
		  "(the default), 0.5 every second one, 0 none; --ratio is the same" },
	{ .name = "ratio", .argument = "R", .type = GT_OPTION_DECIMAL, .most = 1, AT(free_ratio) },
	{ .name = "duration", .letter = 'd', .argument = "S", .type = GT_OPTION_DECIMAL,
	  .most = 1e9, AT(duration_s), .local = GT_LOCAL_YES,
	  .help = "stop after S seconds (default: at Ctrl-C)" },
	{ .name = "events", .letter = 'n', .argument = "N", .type = GT_OPTION_COUNT, AT(events),
	  .help = "stop after N events" },
	{ .name = "api", .argument = "API", .type = GT_OPTION_CHOICE, AT(api),
	  .choices = api_names, .local = GT_LOCAL_YES,
	  .help = "cuda, levelzero or opencl (default: the first of them that has a device)" },
	{ .name = "library", .argument = "FILE", .type = GT_OPTION_TEXT, AT(library),
	  .help = "load this library instead of the system's, such as a stub or another version" },
	{ .name = "threads", .argument = "T", .type = GT_OPTION_COUNT, .least = 1, .most = 1024,
	  AT(threads),
	  .help = "distribute the events over T threads (default: 1)" },
	{ 0 },
};
/* clang-format on */

const struct gt_syntax gt_stress_syntax = {
	.name = "stress",
	.summary = "allocate and free GPU memory at a given rate, to test tracers",
	.about = "Allocates and frees GPU memory at a given rate, to test tracers. An event is one "
		 "allocation or one free. Late events are made up for, so the rate is met exactly "
		 "if the driver is fast enough; the rate reached is printed at the end. Blocks "
		 "that are not freed stay alive until the program ends; if memory runs out, all of "
		 "them are freed and the run continues.",
	.options = options,
};

/* Opens the requested device, or the first available; false after a message. */
static bool open_device(struct gt_stress_device *d, const struct settings *s)
{
	struct gt_error error = { "" }, why = { "" };
	const struct gt_stress_api *api;

	for (int i = 0; i < GT_STRESS_APIS; i++) {
		int e;

		api = &gt_stress_apis[i];
		if (s->api != API_ANY && s->api != i)
			continue;
		e = gt_stress_open(d, api, s->library ? s->library : api->library, &error);
		if (!e)
			return true;
		/* an API without a device is a better reason than a missing library */
		if (!*why.text || e != -ENOENT)
			why = error;
	}
	if (s->api != API_ANY)
		gt_tell("cannot use %s: %s; choose its library with --library FILE, or another API "
			"with --api",
			gt_stress_apis[s->api].title, why.text);
	else if (s->library)
		gt_tell("cannot use any GPU API: %s; choose another library with --library FILE",
			why.text);
	else
		gt_tell("there is no CUDA, Level Zero or OpenCL device here; choose a library with "
			"--library FILE, or see `%s doctor`",
			gt_tool_name());
	return false;
}

/* 1 as 1.0. */
static void format_ratio(char out[32], double ratio)
{
	snprintf(out, 32, "%.9g", ratio);
	if (!strpbrk(out, ".e"))
		strcat(out, ".0");
}

static void print_begin(const struct gt_stress_plan *plan, const struct gt_stress_device *d)
{
	char ratio[32], rate[32] = "max";

	format_ratio(ratio, plan->free_ratio);
	if (plan->rate)
		snprintf(rate, sizeof rate, "%llu", (unsigned long long)plan->rate);
	printf("Running GPU stress generator: %s events/sec, alloc_size=%llu bytes, "
	       "free ratio=%s\n",
	       rate, (unsigned long long)plan->size_bytes, ratio);
	printf("pid %d, %s on ", (int)getpid(), d->api->title);
	gt_text_put(stdout, d->name, UINT32_MAX, GT_CUT_MIDDLE, gt_is_utf8());
	putchar('\n');
	fflush(stdout);
}

static void print_end(const struct gt_stress_plan *plan, const struct gt_stress_totals *t)
{
	uint64_t events = t->allocations + t->frees;
	double seconds = (double)t->elapsed_ns / 1e9;
	double rate = seconds > 0 ? (double)events / seconds : 0;
	char text[8][GT_FORMAT_MAX];

	printf("%s events in %s: %s events/s", gt_format_count(text[0], events),
	       gt_format_span(text[1], t->elapsed_ns),
	       gt_format_count(text[2], (uint64_t)(rate + 0.5)));
	if (plan->rate)
		printf(" of %s requested", gt_format_count(text[3], plan->rate));
	printf("; %s %s, %s %s, %s failed; %s in %s %s left alive\n",
	       gt_format_count(text[4], t->allocations),
	       gt_plural(t->allocations, "allocation", "allocations"),
	       gt_format_count(text[5], t->frees), gt_plural(t->frees, "free", "frees"),
	       gt_format_count(text[6], t->failed),
	       gt_format_bytes(text[7], t->live * plan->size_bytes),
	       gt_format_count(text[0], t->live), gt_plural(t->live, "block", "blocks"));
	if (t->cleared)
		printf("memory ran out %s %s; each time all blocks were freed\n",
		       gt_format_count(text[0], t->cleared),
		       gt_plural(t->cleared, "time", "times"));
}

static int check(const struct settings *s, struct gt_stress_plan *plan)
{
	const char *rate = s->throughput;
	bool is_number = *rate && !rate[strspn(rate, "0123456789")];

	if (strcmp(rate, "max") && !is_number)
		return gt_syntax_wrong(&gt_stress_syntax,
				       "--throughput takes a whole number or max, not '%s'", rate);
	if (is_number && (!gt_count_parse(rate, &plan->rate) || plan->rate > 1000000000u))
		return gt_syntax_wrong(
			&gt_stress_syntax,
			"--throughput must be at most 1000000000, or max for as fast as possible");
	return 0;
}

int gt_cmd_stress(int argc, char **argv)
{
	struct settings s = { .throughput = "1000",
			      .size_bytes = 2048,
			      .free_ratio = 1,
			      .threads = 1,
			      .api = API_ANY };
	struct gt_stress_plan plan = { 0 };
	struct gt_stress_device device;
	struct gt_stress_totals totals;
	struct gt_error error;
	int status, first = gt_options_parse(&gt_stress_syntax, &s, argc, argv, &status);

	if (first < 0)
		return status;
	status = check(&s, &plan);
	if (status)
		return status;
	plan.size_bytes = s.size_bytes;
	plan.free_ratio = s.free_ratio;
	plan.duration_ns = (uint64_t)(s.duration_s * 1e9);
	plan.events = s.events;
	plan.threads = (uint32_t)s.threads;
	if (!open_device(&device, &s))
		return GT_EXIT_FAILED;
	/* before the first line: a reader of it may stop us at once */
	gt_stop_on(SIGINT);
	gt_stop_on(SIGTERM);
	print_begin(&plan, &device);
	if (gt_stress_run(&plan, &device, &gt_stopped, &totals, &error))
		status = gt_fail("%s", error.text);
	print_end(&plan, &totals);
	/* destroying the context would free the blocks that are to stay alive */
	if (!totals.live)
		device.api->close(&device);
	return status;
}
