/* SPDX-License-Identifier: MIT */
/* process_state.h - asks the kernel about processes that are not our children: how they ended. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* True if the process has this file open or mapped. */
bool gt_process_uses_file(uint32_t pid, const char *path);

/*
 * How many processes of a process's memory group the kernel has killed because memory ran out.
 * `gt_oom_group` finds the group while the process lives (NULL: unknown; the caller frees it).
 */
char *gt_oom_group(uint32_t pid);
bool gt_oom_kills(const char *group, uint64_t *kills);

/* A descriptor of a process, which is readable when the process has ended. -1: none. */
int gt_pidfd_open(uint32_t pid);
/* Receives a text and a descriptor, -1 for none; the size of the text, or -1. */
ssize_t gt_descriptor_receive(int from, char *text, size_t size, int *descriptor);
/* True if the process has ended and was waited for: its pid may be another's now. */
bool gt_pidfd_is_reaped(int pidfd);
/* The status as from waitpid; needs Linux 6.15, and that the process was waited for. */
bool gt_pidfd_exit_status(int pidfd, int *status);
