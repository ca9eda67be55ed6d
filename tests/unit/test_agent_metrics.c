/* SPDX-License-Identifier: MIT */
/* test_agent_metrics.c - a host's metrics: few series whatever runs, and no label that lies. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agent/metrics.h"
#include "base/mem.h"

#define MINUTE 60000000000ull

static uint64_t capacity(void *context, const char *gpu)
{
	(void)context;
	return strcmp(gpu, "GPU 0") ? 0 : 1000;
}

static const struct gt_agent_figures figures = { .version = "1.0", .capacity = capacity };

static char *metrics_of(const struct gt_agent_totals *t, enum gt_metrics_form form)
{
	char *text = NULL;
	size_t size;
	FILE *out = gt_memstream(&text, &size);

	gt_agent_metrics(out, t, &figures, form);
	gt_memstream_close(out);
	return text;
}

/* Lines that are values. */
static size_t series_in(const char *text)
{
	size_t count = 0;

	for (; *text; text = strchr(text, '\n') + 1)
		count += *text != '#';
	return count;
}

/* A place that grows for an hour. */
static void grow(struct gt_agent_totals *t, uint32_t process, uint32_t stack, uint16_t gpu,
		 uint64_t minute, struct gt_agent_at *at)
{
	(void)minute;
	gt_agent_totals_add(t, at,
			    &(struct gt_agent_key){ .process = process,
						    .stack = stack,
						    .api = GT_CUDA,
						    .kind = GT_DEVICE_MEMORY,
						    .gpu = gpu },
			    &(struct gt_agent_change){ .live_bytes = 1000 * stack,
						       .live_objects = 1,
						       .allocated_bytes = 1000 * stack,
						       .allocated_objects = 1 });
}

static void series_are_few_whatever_runs(void **state)
{
	enum { PROCESSES = 40, GPUS = 20 };
	struct gt_agent_totals *t =
		gt_agent_totals_new(&(struct gt_agent_totals_options){ .max_bytes = 16 << 20 });
	struct gt_agent_at at[PROCESSES][GPUS] = { 0 };
	char name[32], *text;

	(void)state;
	for (uint16_t i = 0; i < GPUS; i++) {
		snprintf(name, sizeof name, "GPU %u", i);
		gt_agent_totals_name_gpu(t, i, name);
	}
	for (uint32_t i = 0; i < PROCESSES; i++)
		gt_agent_totals_process(t,
					&(struct gt_agent_process){ .pid = 100 + i, .comm = "c" });
	for (uint64_t minute = 1; minute < 64; minute++) {
		for (uint32_t i = 0; i < PROCESSES; i++)
			for (uint16_t gpu = 0; gpu < GPUS; gpu++)
				grow(t, i + 1, i + 1, gpu, minute, &at[i][gpu]);
		gt_agent_totals_advance(t, minute * MINUTE);
	}
	text = metrics_of(t, GT_METRICS_TEXT);
	assert_true(series_in(text) <= GT_METRICS_SERIES);
	assert_true(series_in(text) >= GT_METRICS_SERIES - 10);
	assert_non_null(strstr(text, "gputrack_gpu_live_bytes{gpu=\"GPU 0\"} "));
	/* those without series of their own are added up: nothing is missing */
	assert_non_null(strstr(text, "gputrack_gpu_live_bytes{gpu=\"other\"} "));
	assert_non_null(strstr(text, "gputrack_gpu_capacity_bytes{gpu=\"GPU 0\"} 1000\n"));
	assert_null(strstr(text, "gputrack_gpu_capacity_bytes{gpu=\"GPU 1\"}"));
	/* the biggest process and the fastest growing place are there */
	assert_non_null(strstr(text, "gputrack_process_live_bytes{pid=\"139\","));
	assert_non_null(strstr(text, "gputrack_growing_places 800\n"));
	assert_non_null(strstr(text, "pid=\"139\",command=\"c\",user=\"\",container=\"\",pod=\"\"} "
				     "667."));
	free(text);
	gt_agent_totals_free(t);
}

static void gpus_of_one_name_are_one_series(void **state)
{
	struct gt_agent_totals *t =
		gt_agent_totals_new(&(struct gt_agent_totals_options){ .max_bytes = 1 << 20 });
	uint32_t p = gt_agent_totals_process(t, &(struct gt_agent_process){ .pid = 7 });
	static const uint16_t gpus[] = { 0, 1, 2, GT_AGENT_FIRST_UNIT,
					 2 * GT_AGENT_FIRST_UNIT - 1 };
	struct gt_agent_at at[5] = { 0 };
	char *text;

	(void)state;
	/* numbers of a process, and the machine's; 0 and 1 have no name */
	gt_agent_totals_name_gpu(t, 2, "GPU 0");
	gt_agent_totals_name_gpu(t, GT_AGENT_FIRST_UNIT, "GPU 0");
	gt_agent_totals_name_gpu(t, 2 * GT_AGENT_FIRST_UNIT - 1, "GPU 1");
	for (uint32_t i = 0; i < 5; i++)
		grow(t, p, i + 1, gpus[i], 1, &at[i]);
	text = metrics_of(t, GT_METRICS_TEXT);
	assert_non_null(strstr(text, "gputrack_gpu_live_bytes{gpu=\"unknown\"} 3000\n"
				     "gputrack_gpu_live_bytes{gpu=\"GPU 0\"} 7000\n"
				     "gputrack_gpu_live_bytes{gpu=\"GPU 1\"} 5000\n"));
	free(text);
	gt_agent_totals_free(t);
}

static void texts_of_processes_stay_inside_their_labels(void **state)
{
	struct gt_agent_totals *t =
		gt_agent_totals_new(&(struct gt_agent_totals_options){ .max_bytes = 1 << 20 });
	uint32_t p = gt_agent_totals_process(
		t, &(struct gt_agent_process){ .pid = 7,
					       .command = "a\"} 1\nfake 2\\",
					       .user = "\x1b[2J\xff",
					       .pod_name = "p\xe2\x80\xae" });
	struct gt_agent_at at = { 0 };
	char *text;

	(void)state;
	grow(t, p, 1, 0, 1, &at);
	text = metrics_of(t, GT_METRICS_TEXT);
	assert_non_null(strstr(text, "command=\"a\\\"} 1\\nfake 2\\\\\""));
	assert_null(strstr(text, "\nfake"));
	assert_null(strchr(text, '\x1b'));
	assert_null(strchr(text, '\xff'));
	assert_null(strstr(text, "\xe2\x80\xae"));
	free(text);
	gt_agent_totals_free(t);
}

static void open_metrics_end_and_name_counters_without_total(void **state)
{
	struct gt_agent_totals *t =
		gt_agent_totals_new(&(struct gt_agent_totals_options){ .max_bytes = 1 << 20 });
	char *text = metrics_of(t, GT_METRICS_OPEN);

	(void)state;
	assert_non_null(strstr(text, "# TYPE gputrack_allocations counter\n"
				     "gputrack_allocations_total 0\n"));
	assert_string_equal(text + strlen(text) - 6, "# EOF\n");
	free(text);
	gt_agent_totals_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(series_are_few_whatever_runs),
		cmocka_unit_test(gpus_of_one_name_are_one_series),
		cmocka_unit_test(texts_of_processes_stay_inside_their_labels),
		cmocka_unit_test(open_metrics_end_and_name_counters_without_total),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
