/* SPDX-License-Identifier: MIT */
/*
 * machine.h - what differs between processors, for code in the traced process: one file for each.
 *
 * A further processor is one more file that defines all of these:
 *
 *	GT_FRAME, GT_STACK, GT_RETURN    numbers (DWARF's) of the frame pointer, the stack pointer
 *and of what holds the return address; GT_REGISTERS: all numbers are below it, others (vectors,
 *flags) are ignored GT_SAVED, GT_SAVED_COUNT         numbers of what calls preserve, the frame
 *pointer first, then the return address, without the stack pointer GT_RETURN_AT_ENTRY gt_frame_how
 *of the return address where unwind tables say nothing about it GT_RECORD_IS_LOW                 a
 *frame's two saved words lie at its low end: they do not say where the frame of its caller begins
 *	GT_READ_REGISTERS(registers)     stores those of the function that it is used in; GT_RETURN
 *is an address in that function gt_code_address(word)            a return address without a
 *signature GT_CALL_BYTES, gt_is_call(code)  true when a call ends after these bytes GT_USER_END no
 *process has memory from here on GT_LIBC_FIRST                    the first version of the C
 *library's symbols GT_ASM_ENTRY(fn)                 capture/cuda/preload.c: an entry that jumps to
 *its slot, and the slot's first value, which calls GT_ASM_FIRST; both keep GT_ASM_FIRST,
 *GT_ASM_DLSYM       every register that arguments are passed in
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
