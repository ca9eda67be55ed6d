/* SPDX-License-Identifier: MIT */
/*
 * machine.h - what differs between processors, for code in the traced process: one file for each.
 *
 * A further processor is one more file that defines all of these:
 *
 *	GT_FRAME, GT_STACK	DWARF's numbers of the frame pointer and of the stack pointer,
 *	GT_RETURN		and of what holds the return address;
 *	GT_REGISTERS		all are below this; others (vectors, flags) are ignored
 *	GT_SAVED		what calls preserve, without the stack pointer: the frame pointer
 *	GT_SAVED_COUNT		first, then the return address
 *	GT_RETURN_AT_ENTRY	where the return address is if unwind tables do not say it
 *	GT_RECORD_IS_LOW	a frame's two saved words lie at its low end, and do not say where
 *				the frame of its caller begins
 *	GT_READ_REGISTERS	stores those of the function that it is used in
 *	GT_SIGNAL_REGISTERS	where the kernel saves the registers that a signal interrupts, from
 *				its handler's caller's stack pointer on: by their numbers, then the
 *				address; 0: unwind tables say it
 *	gt_is_signal_return	true for the code (GT_SIGNAL_BYTES) that such handlers return to
 *	gt_code_address		a return address without its signature
 *	gt_is_call		true when a call ends after GT_CALL_BYTES bytes of code
 *	gt_pause		while another thread does something short
 *	gt_ask_valgrind		its answer to a request; 0 without it
 *	GT_USER_END		no process has memory from here on
 *	GT_THREAD_IS_BEFORE	the C library's structure of a thread ends where its pointer points
 *	GT_THREAD_SPECIFIC	from there on, specific data in every version of glibc so far
 *	GT_LIBC_FIRST		the first version of the C library's symbols
 *	GT_ASM_ENTRY		capture/cuda/preload.c: an entry that jumps to its slot, and the
 *	GT_ASM_FIRST		slot's first value; what both call; dlsym. They keep every
 *	GT_ASM_DLSYM		register that arguments are passed in
 *	GT_ASM_AROUND		capture/pool/pool_backward.c: a function that calls
 *				gt_begin_PART with gt_around_of_ID and its return address,
 *				then with its own arguments the function that this returns,
 *				whose result it keeps, then gt_end_PART
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#if defined(__x86_64__)
#include "base/machine_x86_64.h"
#elif defined(__aarch64__)
#include "base/machine_aarch64.h"
#else
#error "no base/machine_*.h for this processor"
#endif
