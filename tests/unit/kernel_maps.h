/* SPDX-License-Identifier: MIT */
/* kernel_maps.h - the maps of unwinding in memory, in place of the kernel's: libbpf's functions. */
#pragma once

enum { SPACE_OF_MAP = 1000, SPACES_MAP, SHARDS_MAP, RULES_MAP, CHUNKS_MAP };

/* What a BPF program finds at a key; NULL: nothing. */
void *kernel_map_find(int map, const void *key);
