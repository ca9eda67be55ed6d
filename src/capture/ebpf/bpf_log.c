/* SPDX-License-Identifier: MIT */
/* bpf_log.c - what libbpf and the kernel say of programs that are not accepted. */
#include "capture/ebpf/bpf_log.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/libbpf.h>

enum { LOG_STATISTICS = 4 }; /* BPF_LOG_STATS */

static char last_message[200];

/* Set by whoever wants to see all of it. */
static bool is_wanted(void)
{
	return getenv("GPUTRACK_BPF_LOG");
}

static int keep_message(enum libbpf_print_level level, const char *format, va_list args)
{
	if (level != LIBBPF_WARN)
		return 0;
	if (is_wanted())
		return vfprintf(stderr, format, args);
	vsnprintf(last_message, sizeof last_message, format, args);
	last_message[strcspn(last_message, "\n")] = '\0';
	return 0;
}

void gt_bpf_log_begin(void)
{
	libbpf_set_print(keep_message);
	last_message[0] = '\0';
}

const char *gt_bpf_log_last(void)
{
	return last_message;
}

void gt_bpf_log_shorten(struct bpf_object *object)
{
	static char statistics[1 << 14];
	struct bpf_program *program = NULL;

	while (!is_wanted() && (program = bpf_object__next_program(object, program))) {
		bpf_program__set_log_level(program, LOG_STATISTICS);
		bpf_program__set_log_buf(program, statistics, sizeof statistics);
	}
}
