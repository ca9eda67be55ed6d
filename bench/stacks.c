/* SPDX-License-Identifier: MIT */
/* stacks.c - what different stacks cost a recorded process: memory, and the trace. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/process.h"
#include "trace/stacks.h"
#include "trace/writer.h"

enum { FRAMES = 20 };

/* Private memory, in bytes: the trace is mapped, and not counted. */
static double private_bytes(void)
{
	unsigned long long size, resident, shared;
	FILE *file = fopen("/proc/self/statm", "re");

	if (!file || fscanf(file, "%llu %llu %llu", &size, &resident, &shared) != 3)
		abort();
	fclose(file);
	return (double)((resident - shared) * (unsigned long long)sysconf(_SC_PAGESIZE));
}

/* Stack `n`: its innermost frames are the digits of `n`. */
static uint32_t number_of(struct gt_writer *w, uint64_t n)
{
	uint64_t frames[FRAMES];

	for (int i = 0; i < FRAMES; i++, n /= 4)
		frames[i] = 0x7f0000000000 + (uint64_t)i * 0x1000 + n % 4 * 16;
	return gt_writer_stack(w, frames, FRAMES);
}

int main(void)
{
	static const uint64_t stops[] = { 1000, 10000, 100000, 600000, GT_STACKS_MAX, 2000000 };
	char path[] = "/tmp/gputrack-bench.XXXXXX";
	struct gt_writer_options options = { .pid = 1 };
	struct gt_writer *w;
	uint64_t i = 0;
	double before;

	close(mkstemp(path));
	unlink(path);
	if (gt_writer_open(&w, path, &options))
		return 1;
	before = private_bytes();
	puts("| different stacks of 20 frames | memory, MiB | trace, MiB | a new stack, ns | "
	     "without a "
	     "stack |");
	puts("|--:|--:|--:|--:|--:|");
	for (size_t s = 0, lost = 0; s < sizeof stops / sizeof *stops; s++) {
		uint64_t begun = gt_now_ns(), first = i;
		struct stat st;
		double each;

		for (; i < stops[s]; i++)
			lost += !number_of(w, i);
		each = (double)(gt_now_ns() - begun) / (double)(i - first);
		if (stat(path, &st))
			return 1;
		printf("| %llu | %.1f | %.1f | %.0f | %zu |\n", (unsigned long long)stops[s],
		       (private_bytes() - before) / 1048576, (double)st.st_blocks * 512 / 1048576,
		       each, lost);
	}
	gt_writer_end(w);
	gt_writer_free(w);
	unlink(path);
	return 0;
}
