/* SPDX-License-Identifier: MIT */
/* stress.c - gputrack stress: allocates and frees GPU memory at a given rate. */
#include "cli/stress/stress.h"

#include <errno.h>
#include <langinfo.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/format.h"
#include "base/text.h"
#include "base/tool.h"
#include "cli/cli.h"
#include "base/print.h"

enum { THREADS_MAX = 1024 };

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
	  .help = "events per second (default: 1000); 0 or max: as fast as it goes" },
	{ .name = "allocate-size", .letter = 's', .argument = "BYTES", .type = GT_OPTION_COUNT,
	  AT(size_bytes), .help = "of each allocation (default: 2048)" },
	{ .name = "free-ratio", .letter = 'r', .argument = "R", .type = GT_OPTION_DECIMAL,
	  AT(free_ratio), .help = "share of the allocations that is freed: 1.0 all of them (the "
				  "default), 0.5 every second one, 0 none; --ratio is the same" },
	{ .name = "ratio", .argument = "R", .type = GT_OPTION_DECIMAL, AT(free_ratio) },
	{ .name = "duration", .letter = 'd', .argument = "S", .type = GT_OPTION_DECIMAL,
	  AT(duration_s), .help = "stop after so many seconds (default: at Ctrl-C)" },
	{ .name = "events", .letter = 'n', .argument = "N", .type = GT_OPTION_COUNT, AT(events),
	  .help = "stop after so many events" },
	{ .name = "api", .argument = "API", .type = GT_OPTION_CHOICE, AT(api),
	  .choices = api_names,
	  .help = "cuda, levelzero or opencl (default: the first of them that has a device)" },
	{ .name = "library", .argument = "FILE", .type = GT_OPTION_TEXT, AT(library),
	  .help = "the API's library, where it is not the system's: a stand-in, another version" },
	{ .name = "threads", .argument = "T", .type = GT_OPTION_COUNT, AT(threads),
	  .help = "share the events among so many threads (default: 1)" },
	{ 0 },
};
/* clang-format on */

const struct gt_syntax gt_stress_syntax = {
	.name = "stress",
	.summary = "allocate and free GPU memory at a given rate, to try tracers on",
	.about = "Allocates and frees GPU memory at a given rate, to try tracers on. An event is a "
		 "call that allocates or one that frees. What comes late is caught up with, so "
		 "that the rate is met exactly where the driver is fast enough; at the end it says "
		 "what was reached. What is not freed stays alive until the program ends; when "
		 "memory runs out all of it is given back, and it goes on.",
	.options = options,
};

static volatile sig_atomic_t stopped;

static void stop(int signal)
{
	stopped = signal;
}

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
		gt_fail("no %s memory to be had: %s; name its library with --library FILE, or "
			"another API with --api",
			gt_stress_apis[s->api].title, why.text);
	else if (s->library)
		gt_fail("no GPU memory to be had: %s; name another with --library FILE", why.text);
	else
		gt_fail("neither CUDA nor Level Zero nor OpenCL has a device here; name a library "
			"that has one with --library FILE, or see `%s doctor`",
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

static void say_begin(const struct gt_stress_plan *plan, const struct gt_stress_device *d)
{
	char ratio[32], rate[32] = "max";

	format_ratio(ratio, plan->free_ratio);
	if (plan->rate)
		snprintf(rate, sizeof rate, "%llu", (unsigned long long)plan->rate);
	printf("Running GPU stress generator: %s events/sec, alloc_size=%llu bytes, "
	       "free ratio=%s\n",
	       rate, (unsigned long long)plan->size_bytes, ratio);
	printf("pid %d, %s on ", (int)getpid(), d->api->title);
	gt_text_put(stdout, d->name, UINT32_MAX, GT_CUT_MIDDLE,
		    !strcmp(nl_langinfo(CODESET), "UTF-8"));
	putchar('\n');
	fflush(stdout);
}

static void say_end(const struct gt_stress_plan *plan, const struct gt_stress_totals *t)
{
	uint64_t events = t->allocations + t->frees;
	double seconds = (double)t->elapsed_ns / 1e9;
	double rate = seconds > 0 ? (double)events / seconds : 0;
	char text[8][GT_FORMAT_MAX];

	printf("%s events in %s: %s events/s", gt_format_count(text[0], events),
	       gt_format_span(text[1], t->elapsed_ns),
	       gt_format_count(text[2], (uint64_t)(rate + 0.5)));
	if (plan->rate)
		printf(" of %s asked for", gt_format_count(text[3], plan->rate));
	printf("; %s %s, %s %s, %s failed; %s in %s %s left alive\n",
	       gt_format_count(text[4], t->allocations),
	       gt_plural(t->allocations, "allocation", "allocations"),
	       gt_format_count(text[5], t->frees), gt_plural(t->frees, "free", "frees"),
	       gt_format_count(text[6], t->failed),
	       gt_format_bytes(text[7], t->live * plan->size_bytes),
	       gt_format_count(text[0], t->live), gt_plural(t->live, "block", "blocks"));
	if (t->cleared)
		printf("memory ran out %s %s; each time all was given back\n",
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
		return gt_syntax_wrong(&gt_stress_syntax, "--throughput is at most 1000000000; max "
							  "is as fast as it goes");
	if (!s->size_bytes)
		return gt_syntax_wrong(&gt_stress_syntax, "--allocate-size is at least 1");
	if (s->free_ratio > 1)
		return gt_syntax_wrong(&gt_stress_syntax, "--free-ratio is from 0 to 1");
	if (!s->threads || s->threads > THREADS_MAX)
		return gt_syntax_wrong(&gt_stress_syntax, "--threads is from 1 to %d", THREADS_MAX);
	if (s->duration_s > 1e9)
		return gt_syntax_wrong(&gt_stress_syntax, "--duration is at most 1000000000 s");
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
	struct sigaction on = { .sa_handler = stop };
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
	sigaction(SIGINT, &on, NULL);
	sigaction(SIGTERM, &on, NULL);
	say_begin(&plan, &device);
	if (gt_stress_run(&plan, &device, &stopped, &totals, &error))
		status = gt_fail("%s", error.text);
	say_end(&plan, &totals);
	/* destroying the context would free the blocks that are to stay alive */
	if (!totals.live)
		device.api->close(&device);
	return status;
}
