/* SPDX-License-Identifier: MIT */
/*
 * stack_cache.h - stacks that this thread has had before, known again by their return addresses.
 *
 * Unwinding finds, frame by frame, where on the stack the next return address lies, and where frame
 * pointers were saved: with both, the next frame lies where it lay. A stack that has been unwound
 * once is known with those words: when the same place on the stack is reached again and each of
 * them is still the same, from the inside outwards, it is the same stack. Each word read lies in a
 * frame that the ones before it have proved to be there.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { GT_STACK_CACHE_FRAMES = 80 }; /* longer stacks are not kept */

/* A word on the stack by which it is known again: a return address or a saved frame pointer. */
struct gt_stack_word {
	const uint64_t *at;
	uint64_t value;
};

enum { GT_STACK_CACHE_WORDS = 2 * GT_STACK_CACHE_FRAMES };

/* Once, before all else. */
void gt_stack_cache_start(void);
/*
 * Frames of a known stack into `raw`, as unw_backtrace gave them from `frame`; 0: not known.
 * `caller` is any address that most stacks differ by.
 */
size_t gt_stack_cache_find(const void *frame, const void *caller, void **raw, size_t room);
/*
 * Tells what unw_backtrace gave. True when it has given the same lately: the caller then finds out
 * by which words to know it, and tells them by gt_stack_cache_learn.
 */
_Bool gt_stack_cache_wants(const void *frame, const void *caller, void *const *raw, size_t count);
/* `words` are those of the stack, from the inside outwards; at most GT_STACK_CACHE_WORDS. */
void gt_stack_cache_learn(const void *frame, const void *caller, void *const *raw, size_t count,
			  const struct gt_stack_word *words, size_t word_count);
/* Addresses mean other code now: nothing is known any more, in any thread. */
void gt_stack_cache_forget(void);
/* The thread's own is in memory from now on, if it has one. */
void gt_stack_cache_touch(void);
