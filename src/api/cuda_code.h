/* SPDX-License-Identifier: MIT */
/* cuda_code.h - how code is known that nvcc has put into a program. */
#pragma once

/* What its wrapper begins with, a 32-bit word; programs that load code of their own have none. */
enum { GT_CUDA_CODE_WRAPPER = 0x466243b1 };
