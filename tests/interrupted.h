/* SPDX-License-Identifier: MIT */
/* interrupted.h - an instruction that raises SIGILL, and what its handler changes. */
#pragma once

#include <ucontext.h>

#if defined(__x86_64__)
#define TRAP "	ud2\n"

static inline void skip_trap(ucontext_t *interrupted)
{
	interrupted->uc_mcontext.gregs[REG_RIP] += 2;
}

static inline void set_result(ucontext_t *interrupted, long result)
{
	interrupted->uc_mcontext.gregs[REG_RAX] = result;
}
#elif defined(__aarch64__)
#define TRAP "	.inst 0\n"

static inline void skip_trap(ucontext_t *interrupted)
{
	interrupted->uc_mcontext.pc += 4;
}

static inline void set_result(ucontext_t *interrupted, long result)
{
	interrupted->uc_mcontext.regs[0] = (unsigned long)result;
}
#endif
