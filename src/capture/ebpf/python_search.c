/* SPDX-License-Identifier: MIT */
/* python_search.c - finds the Python of processes, and tells the BPF programs where it is. */
#include "capture/ebpf/python_search.h"

#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/machine.h"
#include "base/mem.h"
#include "base/text.h"

/* Has the programs that start this Python later found when they do. */
static void probe_image(struct gt_python_search *s, struct gt_image *image, uint32_t pid)
{
	struct gt_python_image *p = &image->python;
	struct gt_probe_point points[2];
	struct gt_probe_python_entry entry;
	struct gt_error unused;
	size_t count = 0;
	int fd;

	if (p->is_probed || p->is_unsupported || !p->has_python ||
	    s->entries + 2 > GT_PROBE_PYTHON_ENTRIES ||
	    !gt_python_image_row(&entry.python, p, 0, GT_THREAD_SPECIFIC))
		return;
	p->is_probed = true;
	fd = open(gt_image_path(image, pid), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return;
	for (size_t i = 0; i < 2; i++) {
		if (!p->entries[i].function)
			continue;
		entry.function = p->entries[i].function;
		gt_probes_python_entry(s->probes, s->entries, &entry);
		points[count++] = (struct gt_probe_point){ .offset = p->entries[i].offset,
							   .row = (uint16_t)(GT_PROBE_PYTHON +
									     s->entries++) };
	}
	/* where that fails, processes are searched, as those with an unknown Python are */
	if (count)
		gt_probes_attach(s->probes, fd, image->name, points, count, &unused);
	close(fd);
}

static void search(struct gt_python_search *s, uint32_t pid, const struct gt_modules *modules)
{
	struct gt_probe_python row;

	if (!s->probes)
		return;
	if (gt_python_row(&row, modules))
		gt_probes_python(s->probes, pid, &row);
	for (size_t i = 0; i < modules->count; i++)
		if (modules->list[i].image->python.has_python)
			probe_image(s, modules->list[i].image, pid);
}

void gt_python_search(struct gt_python_search *s, uint32_t pid)
{
	struct gt_modules modules = { 0 };

	if (!s->probes)
		return;
	gt_modules_look(&modules, s->images, pid);
	if (!modules.is_gone)
		search(s, pid, &modules);
	gt_modules_fini(&modules);
}

void gt_python_search_traced(struct gt_python_search *s, const struct gt_traced_set *set)
{
	for (struct gt_traced *p = NULL; (p = gt_traced_set_next(set, p));) {
		if (p->modules.looks == p->python_looks)
			continue;
		p->python_looks = p->modules.looks;
		search(s, p->pid, &p->modules);
	}
}

/* True if the file is a Python. */
static bool try_file(struct gt_python_search *s, char *path)
{
	struct gt_image *image;
	struct stat st;

	if (stat(path, &st) || !S_ISREG(st.st_mode))
		return false;
	image = gt_images_get(
		s->images,
		&(struct gt_mapping){ .path = path, .inode = st.st_ino, .is_past = true },
		(uint32_t)getpid());
	if (!image || !image->python.has_python)
		return false;
	probe_image(s, image, (uint32_t)getpid());
	return true;
}

/* A program, or the libraries beside it of which it may have its Python: "bin/python3" and "lib".
 */
static void try_program(struct gt_python_search *s, const char *program)
{
	char path[PATH_MAX], pattern[PATH_MAX + 32];
	glob_t found;

	if (!realpath(program, path) || try_file(s, path))
		return;
	*strrchr(path, '/') = '\0';
	snprintf(pattern, sizeof pattern, "%s/../lib/libpython3.*.so.1.0", path);
	if (glob(pattern, 0, NULL, &found))
		return;
	for (size_t i = 0; i < found.gl_pathc; i++)
		try_file(s, found.gl_pathv[i]);
	globfree(&found);
}

void gt_python_search_installed(struct gt_python_search *s, const char *program,
				const char *folders)
{
	char *list = gt_strdup(folders ? folders : ""), *rest = list, *folder, path[PATH_MAX];
	bool has_folder = program && strchr(program, '/');

	if (s->probes && has_folder)
		try_program(s, program);
	while (s->probes && *list && (folder = strsep(&rest, ":"))) {
		snprintf(path, sizeof path, "%.3000s/python3", *folder ? folder : ".");
		try_program(s, path);
		if (!program || has_folder)
			continue;
		snprintf(path, sizeof path, "%.3000s/%.500s", *folder ? folder : ".", program);
		try_program(s, path);
	}
	free(list);
}

bool gt_python_is_likely(const char *path)
{
	const char *name = gt_path_name(path);

	return gt_text_begins(name, "libpython") || gt_text_begins(name, "python");
}
