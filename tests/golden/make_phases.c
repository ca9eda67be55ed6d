/* SPDX-License-Identifier: MIT */
/* make_phases.c - a recording whose program marks its phases with NVTX. */
#include "make_recordings.h"

#include "recording_maker.h"

static uint32_t phase(struct trace *t, uint32_t parent, const char *name, const char *domain)
{
	return gt_writer_phase(t->writer, parent,
			       &(struct gt_range){ .name = name, .domain = domain });
}

void make_phases(void)
{
	struct trace t = { .start_ns = START, .end_ns = START + 900 * MS };
	uint32_t setup, train, forward, backward, reduce, at;

	folder("phases.gt");
	write_info("phases.gt", "./bin/train", "exit_status", "0");
	begin(&t, "phases.gt", 960, 1, "/app/bin/train", "./bin/train", 11);
	at = named(&t, "allocate", "/app/src/pool.c", 21);
	setup = phase(&t, 0, "setup", NULL);
	train = phase(&t, 0, "train", NULL);
	forward = phase(&t, train, "forward", NULL);
	backward = phase(&t, train, "backward", NULL);
	reduce = phase(&t, backward, "ncclAllReduce", "NCCL");
	CALL(&t, clCreateBuffer, 10, .handle = 1, .size = 4 << 20, .stack = at, .phase = setup);
	for (unsigned i = 0; i < 3; i++)
		CALL(&t, clCreateBuffer, 20 + i, .handle = 10 + i, .size = 1 << 20, .stack = at,
		     .phase = forward);
	CALL(&t, clCreateBuffer, 30, .handle = 20, .size = 2 << 20, .stack = at, .phase = backward);
	CALL(&t, clCreateBuffer, 40, .handle = 30, .size = 3 << 20, .phase = reduce);
	CALL(&t, clCreateBuffer, 41, .handle = 31, .size = 1 << 19, .phase = forward);
	CALL(&t, clReleaseMemObject, 50, .handle = 10, .stack = at, .phase = backward);
	CALL(&t, clReleaseMemObject, 60, .handle = 1, .stack = at);
	CALL(&t, clCreateBuffer, 70, .handle = 40, .size = 1 << 18, .stack = at);
	end(&t);
}
