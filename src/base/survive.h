/* SPDX-License-Identifier: MIT */
/* survive.h - signals of the kernel about files, that would end the tool. */
#pragma once

/*
 * From here on, what a mapped file no longer holds reads as zeroes, and a write beyond the limit on
 * files' sizes fails with EFBIG: SIGBUS and SIGXFSZ would have ended us. Libraries and traces are
 * others', who may cut them while we look. For the tool alone; in a traced program both are the
 * program's, and programs that we start have them as if we had never touched them.
 */
void gt_survive_files(void);
