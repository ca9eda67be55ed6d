/* SPDX-License-Identifier: MIT */
/*
 * traced_python.h - the Python frames of a traced process: numbers from the BPF programs, and
 * texts.
 *
 * The texts of a code object arrive once, before the first stack that leads through it. What the
 * BPF programs could not copy is read from the process's memory, if it still lives.
 */
#pragma once

#include "capture/ebpf/python_image.h"
#include "trace/writer.h"

struct gt_traced_python;

void gt_traced_python_free(struct gt_traced_python *python);

/*
 * Takes a record of Python of process `pid`, whose modules these are; `python` is created when
 * first needed. What is not whole is ignored.
 */
void gt_traced_python_take(struct gt_traced_python **python, const struct gt_modules *modules,
			   uint32_t pid, const void *record, size_t size);

/*
 * Adds Python's frames to those of the call that a thread began at `begun_ns`, as gt_python_splice
 * does. `writer` defines them; NULL: nothing is recorded. Returns the new count.
 */
size_t gt_traced_python_merge(struct gt_traced_python *python, struct gt_writer *writer,
			      uint32_t tid, uint64_t begun_ns, uint64_t *frames, size_t count,
			      size_t most);

/* The text of a frame that is no address; NULL: unknown. */
const struct gt_text_frame *gt_traced_python_text(const struct gt_traced_python *python,
						  uint64_t frame);
