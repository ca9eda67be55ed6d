/* SPDX-License-Identifier: MIT */
/* libc_first.h - the first version of the C library's symbols, as programs ask dlvsym for it. */
#pragma once

#if defined(__aarch64__)
#define LIBC_FIRST "GLIBC_2.17"
#else
#define LIBC_FIRST "GLIBC_2.2.5"
#endif
