/* SPDX-License-Identifier: MIT */
/* locate.h - finds the file of a module, and the files with its debug information. */
#pragma once

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

struct gt_symbol_module;
struct gt_symbol_options;

struct gt_symbol_file {
	int fd; /* the receiver closes it */
	char path[PATH_MAX];
};

/*
 * The module's ELF file, wherever it is now. -ENOENT: not found; -ESTALE: another file is in its
 * place; -ENOEXEC: the file in its place is not a complete ELF program or library.
 */
int gt_module_locate(struct gt_symbol_file *file, const struct gt_symbol_module *module,
		     const struct gt_symbol_options *options);

/* What is known of a separate debug file. */
struct gt_debug_wanted {
	const uint8_t *build_id;
	size_t build_id_size; /* 0: `checksum` decides */
	const char *link;     /* name in .gnu_debuglink; NULL: none */
	uint32_t checksum;
	const char *main_path; /* of the file whose debug file it is */
	const char *recorded_path;
};

/* The debug file, 0 or -ENOENT. */
int gt_debug_locate(struct gt_symbol_file *file, const struct gt_debug_wanted *wanted,
		    const struct gt_symbol_options *options);

/* The file to which dwz moved shared debug information; `link` is absolute or relative to it. */
int gt_alternate_locate(struct gt_symbol_file *file, const struct gt_debug_wanted *wanted,
			const struct gt_symbol_options *options);
