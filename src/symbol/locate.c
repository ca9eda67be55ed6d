/* SPDX-License-Identifier: MIT */
/* locate.c - where binaries and their debug files may be, the most trusted places first. */
#include "symbol/locate.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "symbol/build_ids.h"
#include "symbol/debug_servers.h"
#include "symbol/elf_file.h"
#include "symbol/symbol.h"

#define DEBUG_ROOT   "/usr/lib/debug"
#define MAX_BUILD_ID 64

/* One search: the criteria for the file, and the file once found. */
struct hunt {
	struct gt_symbol_file *file;
	const uint8_t *build_id;
	size_t build_id_size;
	/* compared if there is no build id; 0: any */
	uint64_t size_bytes;
	int64_t mtime_ns;
	const uint32_t *checksum;
	/* the file whose debug file is searched, which is never a match */
	struct stat self;
	int error; /* of the last candidate */
};

static int64_t mtime_ns(const struct stat *status)
{
	return status->st_mtim.tv_sec * INT64_C(1000000000) + status->st_mtim.tv_nsec;
}

static bool is_wanted(const struct hunt *h, int fd, const struct stat *status)
{
	uint32_t checksum;

	if (h->self.st_ino == status->st_ino && h->self.st_dev == status->st_dev)
		return false;
	if (h->build_id_size)
		return gt_elf_has_build_id(fd, h->build_id, h->build_id_size);
	if (h->checksum)
		return gt_elf_checksum(&checksum, fd) == 0 && checksum == *h->checksum;
	if (h->size_bytes && h->size_bytes != (uint64_t)status->st_size)
		return false;
	return !h->mtime_ns || h->mtime_ns == mtime_ns(status);
}

/* Opens the candidate, and keeps it if it matches. */
static int judge(struct hunt *h)
{
	struct stat status;
	int fd, rc;

	fd = gt_elf_open(h->file->path, &status);
	if (fd < 0)
		return -ENOENT;
	rc = gt_elf_check(fd, &status);
	if (!rc && !is_wanted(h, fd, &status))
		rc = -ESTALE;
	if (rc) {
		close(fd);
		return rc;
	}
	h->file->fd = fd;
	return 0;
}

/* True when the file at this path matches. */
__attribute__((format(printf, 2, 3))) static bool consider(struct hunt *h, const char *format, ...)
{
	va_list args;
	int length;

	va_start(args, format);
	length = vsnprintf(h->file->path, sizeof(h->file->path), format, args);
	va_end(args);
	if (length < 0 || (size_t)length >= sizeof(h->file->path))
		h->error = -ENOENT;
	else
		h->error = judge(h);
	return h->error == 0;
}

static const char *const *search_of(const struct gt_symbol_options *options)
{
	static const char *const nothing[] = { NULL };

	return options->search ? options->search : nothing;
}

static bool consider_build_id_in(struct hunt *h, const char *root, const char *suffix)
{
	char hex[2 * MAX_BUILD_ID + 1];

	if (h->build_id_size < 2 || h->build_id_size > MAX_BUILD_ID)
		return false;
	for (size_t i = 0; i < h->build_id_size; i++)
		sprintf(hex + 2 * i, "%02x", h->build_id[i]);
	return consider(h, "%s/.build-id/%.2s/%s%s", root, hex, hex + 2, suffix);
}

static bool consider_build_id(struct hunt *h, const char *suffix,
			      const struct gt_symbol_options *options)
{
	for (const char *const *dir = search_of(options); *dir; dir++) {
		char sysroot[PATH_MAX];

		if (consider_build_id_in(h, *dir, suffix))
			return true;
		snprintf(sysroot, sizeof(sysroot), "%s" DEBUG_ROOT, *dir);
		if (consider_build_id_in(h, sysroot, suffix))
			return true;
	}
	return consider_build_id_in(h, DEBUG_ROOT, suffix);
}

/* Anywhere below the user's folders, under any name. */
static bool consider_scanned(struct hunt *h, bool is_debug, const struct gt_symbol_options *options)
{
	const char *path = options->build_ids && h->build_id_size ?
				   gt_build_ids_find(options->build_ids, h->build_id,
						     h->build_id_size, is_debug) :
				   NULL;

	return path && consider(h, "%s", path);
}

/* Asks the debuginfod servers, if the user allowed it. */
static bool consider_served(struct hunt *h, enum gt_served_file what,
			    const struct gt_symbol_options *options)
{
	char *path = options->servers ? gt_debug_servers_find(options->servers, what, h->build_id,
							      h->build_id_size) :
					NULL;
	bool found = path && consider(h, "%s", path);

	free(path);
	return found;
}

int gt_module_locate(struct gt_symbol_file *file, const struct gt_symbol_module *module,
		     const struct gt_symbol_options *options)
{
	struct hunt h = {
		.file = file,
		.build_id = module->build_id,
		.build_id_size = module->build_id_size,
		.size_bytes = module->size_bytes,
	};
	int verdict;

	if (module->path[0] != '/' || !module->path[gt_path_folder_size(module->path)])
		return -ENOENT;
	/* mtime is not compared: copies may not preserve it */
	for (const char *const *dir = search_of(options); *dir; dir++)
		if (consider(&h, "%s%s", *dir, module->path) ||
		    consider(&h, "%s/%s", *dir, gt_path_name(module->path)))
			return 0;
	h.mtime_ns = module->mtime_ns;
	if (consider(&h, "%s", module->path))
		return 0;
	verdict = h.error;
	if (!h.build_id_size)
		return verdict;
	if (consider_build_id(&h, "", options) || consider_build_id(&h, ".debug", options) ||
	    consider_scanned(&h, false, options) || consider_served(&h, GT_SERVED_PROGRAM, options))
		return 0;
	return verdict;
}

/* The usual places of a debug file for a binary in the folder of `path`. */
static bool consider_link(struct hunt *h, const char *path, const char *link,
			  const struct gt_symbol_options *options)
{
	int length = (int)gt_path_folder_size(path);

	for (const char *const *dir = search_of(options); *dir; dir++)
		if (consider(h, "%s/%s", *dir, link) || consider(h, "%s/.debug/%s", *dir, link) ||
		    consider(h, "%s/%.*s%s", *dir, length, path, link) ||
		    consider(h, "%s" DEBUG_ROOT "/%.*s%s", *dir, length, path, link))
			return true;
	return consider(h, "%.*s%s", length, path, link) ||
	       consider(h, "%.*s.debug/%s", length, path, link) ||
	       consider(h, DEBUG_ROOT "/%.*s%s", length, path, link);
}

/* By the name in the link, or that of the file with ".debug" behind it. */
static bool consider_named(struct hunt *h, const struct gt_debug_wanted *wanted,
			   const struct gt_symbol_options *options)
{
	char link[NAME_MAX + 1], real[PATH_MAX];
	int length;

	length = wanted->link ?
			 snprintf(link, sizeof(link), "%s", wanted->link) :
			 snprintf(link, sizeof(link), "%s.debug", gt_path_name(wanted->main_path));
	if (length <= 0 || (size_t)length >= sizeof(link) || strchr(link, '/'))
		return false;
	return consider_link(h, wanted->main_path, link, options) ||
	       (realpath(wanted->main_path, real) && consider_link(h, real, link, options)) ||
	       consider_link(h, wanted->recorded_path, link, options);
}

int gt_debug_locate(struct gt_symbol_file *file, const struct gt_debug_wanted *wanted,
		    const struct gt_symbol_options *options)
{
	struct hunt h = {
		.file = file,
		.build_id = wanted->build_id,
		.build_id_size = wanted->build_id_size,
		.checksum = wanted->link ? &wanted->checksum : NULL,
	};

	if (stat(wanted->main_path, &h.self) < 0)
		h.self = (struct stat){ .st_ino = 0 };
	if (consider_build_id(&h, ".debug", options))
		return 0;
	/* nothing would prove that a file is the right one */
	if (!h.build_id_size && !wanted->link)
		return -ENOENT;
	if (consider_named(&h, wanted, options) || consider_scanned(&h, true, options) ||
	    consider_served(&h, GT_SERVED_DEBUG, options))
		return 0;
	return -ENOENT;
}

int gt_alternate_locate(struct gt_symbol_file *file, const struct gt_debug_wanted *wanted,
			const struct gt_symbol_options *options)
{
	struct hunt h = {
		.file = file,
		.build_id = wanted->build_id,
		.build_id_size = wanted->build_id_size,
	};
	const char *link = wanted->link;
	int length = (int)gt_path_folder_size(wanted->main_path);
	char real[PATH_MAX];

	if (!h.build_id_size)
		return -ENOENT;
	if (consider_build_id(&h, ".debug", options))
		return 0;
	for (const char *const *dir = search_of(options); *dir; dir++)
		if (consider(&h, "%s/%s", *dir, link) ||
		    consider(&h, "%s/%s", *dir, gt_path_name(link)))
			return 0;
	if (link[0] == '/') {
		if (consider(&h, "%s", link))
			return 0;
	} else if (consider(&h, "%.*s%s", length, wanted->main_path, link)) {
		return 0;
	} else if (realpath(wanted->main_path, real)) {
		/* dwz's "../" is relative to the file itself, not to a symbolic link */
		length = (int)gt_path_folder_size(real);
		if (consider(&h, "%.*s%s", length, real, link))
			return 0;
	}
	if (consider_scanned(&h, true, options) || consider_served(&h, GT_SERVED_DEBUG, options))
		return 0;
	return -ENOENT;
}
