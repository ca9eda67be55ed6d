/* SPDX-License-Identifier: MIT */
/*
 * stack_cache.h - stacks that the calling thread has had before, known again without walking them.
 *
 * Walking finds, frame by frame, where on the stack the next return address lies, and where frame
 * pointers were saved: with both, the next frame lies where it lay. A stack that has been walked is
 * remembered by those words: when the same place on the stack is reached again and each of them is
 * unchanged, from the inside outwards, it is the same stack. Each word that is read lies in a frame
 * that the words before it have proved to be there.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Longer stacks are not remembered. */
enum { GT_STACK_CACHE_FRAMES = 80, GT_STACK_CACHE_WORDS = 2 * GT_STACK_CACHE_FRAMES };

/* A word on the stack by which it is known again. */
struct gt_stack_word {
	const uint64_t *at;
	uint64_t value; /* a return address, without its signature, or a saved frame pointer */
	bool returns;
};

/* Before the first of the others; false: nothing can be remembered. */
bool gt_stack_cache_start(void);
/*
 * The stack of the innermost frame `frame`, of which at most `room` addresses were asked for. Fills
 * in all but the first; returns how many there are with it, or 0 if it is not known.
 */
size_t gt_stack_cache_find(const void *frame, uint64_t *frames, size_t room);
/*
 * Offers a stack that was walked. True: it is worth to find the words by which to know it again,
 * for gt_stack_cache_learn.
 */
bool gt_stack_cache_wants(const void *frame, const uint64_t *frames, size_t count);
/* `words` are those of the stack, from the inside outwards; at most GT_STACK_CACHE_WORDS. */
void gt_stack_cache_learn(const void *frame, size_t room, const struct gt_stack_word *words,
			  size_t count);
/* Addresses mean other code now: forgets all stacks, in all threads. */
void gt_stack_cache_forget(void);
/* Makes the pages of the thread's cache resident, if it has one. */
void gt_stack_cache_touch(void);
