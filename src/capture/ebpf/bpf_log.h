/* SPDX-License-Identifier: MIT */
/* bpf_log.h - what libbpf and the kernel say of programs that are not accepted. */
#pragma once

struct bpf_object;

/* From here on, messages of libbpf are kept; with GPUTRACK_BPF_LOG they are printed on stderr. */
void gt_bpf_log_begin(void);
/* The last one, for a message of ours; "": there was none. */
const char *gt_bpf_log_last(void);
/*
 * Before an object is loaded: otherwise libbpf has a refused program checked again, each step
 * written down, which takes ten seconds for one that is too much for the kernel.
 */
void gt_bpf_log_shorten(struct bpf_object *object);
