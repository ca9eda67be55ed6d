/* SPDX-License-Identifier: MIT */
/* old_names.h - functions whose name the header gives to their newest version, as themselves. */
#pragma once

#include <cuda.h>

#undef cuCtxCreate
#undef cuCtxDestroy
#undef cuDevicePrimaryCtxRelease
#undef cuDevicePrimaryCtxReset
#undef cuEventDestroy
#undef cuGraphInstantiate
#undef cuIpcOpenMemHandle
#undef cuStreamDestroy
