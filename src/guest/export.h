/* SPDX-License-Identifier: MIT */
/* export.h - what doors may call in the recorder library; everything else in it is hidden. */
#pragma once

#define GT_EXPORT __attribute__((visibility("default")))
