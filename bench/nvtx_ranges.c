/* SPDX-License-Identifier: MIT */
/* nvtx_ranges.c - what a range of NVTX costs, pushed and popped: without a tool, and with the door.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "../tests/e2e/programs/nvtx_stand_in.h"

enum { ROUNDS = 15, RANGES = 200000 };

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static const char *const names[] = { "train", "forward", "layer 17: attention", "backward" };

static void by_text(int i)
{
	nvtxRangePushA(names[i & 3]);
	nvtxRangePop();
}

/* As frameworks do: a text made for every range. */
static void by_new_text(int i)
{
	char text[64];

	snprintf(text, sizeof text, "%s, step %d", names[i & 3], i & 63);
	nvtxRangePushA(text);
	nvtxRangePop();
}

static void text_alone(int i)
{
	char text[64];

	snprintf(text, sizeof text, "%s, step %d", names[i & 3], i & 63);
	__asm__ volatile("" : : "r"(text) : "memory");
}

static nvtxDomainHandle_t domain;
static nvtxEventAttributes_t attributes = { .version = NVTX_VERSION,
					    .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
					    .messageType = NVTX_MESSAGE_TYPE_REGISTERED };

static void by_registered_text(int i)
{
	(void)i;
	nvtxDomainRangePushEx(domain, &attributes);
	nvtxDomainRangePop(domain);
}

static void of_process(int i)
{
	nvtxRangeEnd(nvtxRangeStartA(names[i & 3]));
}

static double least(void (*range)(int))
{
	double best = 1e18;

	for (int round = 0; round < ROUNDS; round++) {
		double begin = now(), took;

		for (int i = 0; i < RANGES; i++)
			range(i);
		took = (now() - begin) / RANGES;
		best = took < best ? took : best;
	}
	return best;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*range)(int);
	} rows[] = { { "pushed with a text, popped", by_text },
		     { "the same, by a registered text in a domain", by_registered_text },
		     { "started and ended", of_process },
		     { "pushed with a text made each time, popped", by_new_text },
		     { "… of that, making the text", text_alone } };
	enum { COUNT = sizeof rows / sizeof *rows };
	double bare[COUNT];

	if (argc != 2) {
		fprintf(stderr, "usage: %s DOOR\n", argv[0]);
		return 2;
	}
	unsetenv("NVTX_INJECTION64_PATH");
	for (int i = 0; i < COUNT; i++)
		bare[i] = least(rows[i].range);
	setenv("NVTX_INJECTION64_PATH", argv[1], 1);
	setenv("GPUTRACK_RECORDING", "/nonexistent/never.gt", 1);
	memset(&stand_in, 0, sizeof stand_in);
	if (nvtxRangePushA("is it there?") != 0 || nvtxRangePop() != 0) {
		fprintf(stderr, "%s: it was not loaded\n", argv[1]);
		return 1;
	}
	domain = nvtxDomainCreateA("LIB");
	attributes.message.registered = nvtxDomainRegisterStringA(domain, "reduce");
	/* within others, as ranges are */
	for (int i = 0; i < 3; i++)
		nvtxRangePushA(names[i]);
	puts("| a range | bare | recorded |\n|---|---|---|");
	for (int i = 0; i < COUNT; i++)
		printf("| %s | %.0f ns | %.0f ns |\n", rows[i].name, bare[i], least(rows[i].range));
	return 0;
}
