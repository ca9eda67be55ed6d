/* SPDX-License-Identifier: MIT */
/* libraries.c - the API libraries of this machine and its processes, each probed once. */
#include "capture/ebpf/libraries.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.h"
#include "base/identity.h"
#include "base/mem.h"
#include "base/text.h"
#include "capture/ebpf/points.h"
#include "capture/ebpf/pool_calls.h"

enum {
	OPENED_MAX = 4 * GT_LIBRARIES_OF_PROCESS, /* of one process: several may be one library */
	PROBED_AT_ONCE = 4,
	SCANNED_AT_ONCE = 256,
};

/* Where distributions install libraries: the linker's own cache has no documented format. */
/* clang-format off */
static const char *const folders[] = {
	"/usr/lib/x86_64-linux-gnu", "/lib/x86_64-linux-gnu", "/usr/lib64", "/lib64", "/usr/lib",
	"/usr/local/lib", "/usr/local/lib/x86_64-linux-gnu", "/usr/local/cuda/lib64",
	"/usr/lib/aarch64-linux-gnu", "/lib/aarch64-linux-gnu", "/usr/local/lib/aarch64-linux-gnu",
	"/usr/lib/wsl/lib", "/usr/local/nvidia/lib64", "/run/opengl-driver/lib",
};
/* clang-format on */

int gt_library_api(const char *path)
{
	const char *name = gt_path_name(path);

	/* memory that was filled with a library: "/memfd:libcuda.so.1 (deleted)" */
	if (gt_text_begins(name, "memfd:"))
		name += strlen("memfd:");
	for (int i = 0; i < GT_API_COUNT; i++)
		if (gt_text_begins(name, gt_api_libraries[i]))
			return i;
	return -1;
}

int gt_libraries_api(const struct gt_libraries *l, const char *path)
{
	for (size_t i = 0; i < l->named_count; i++) {
		const char *name = gt_path_name(path);
		size_t size = strlen(l->named[i].name);

		/* "libcuda-bundled.so (deleted)" */
		if (!strncmp(name, l->named[i].name, size) && (!name[size] || name[size] == ' '))
			return (int)l->named[i].api;
	}
	return gt_library_api(path);
}

void gt_libraries_fini(struct gt_libraries *l)
{
	for (size_t i = 0; i < l->named_count; i++)
		free(l->named[i].name);
	for (size_t i = 0; i < l->count; i++)
		free(l->list[i].path);
	free(l->list);
	for (size_t i = 0; i < l->heard_count; i++)
		free(l->heard[i].mapping.path);
	free(l->early);
	free(l->queue);
	*l = (struct gt_libraries){ 0 };
}

bool gt_libraries_was_early(const struct gt_libraries *l, uint32_t pid)
{
	for (size_t i = 0; i < l->early_count; i++)
		if (l->early[i] == pid)
			return true;
	return false;
}

void gt_libraries_forget(struct gt_libraries *l, uint32_t pid)
{
	for (size_t i = 0; i < l->count; i++)
		if (l->list[i].found_in == pid)
			l->list[i].found_in = 0;
	for (size_t i = 0; i < l->early_count; i++)
		if (l->early[i] == pid) {
			l->early[i] = l->early[--l->early_count];
			return;
		}
}

static void note_early(struct gt_libraries *l, uint32_t pid)
{
	if (gt_libraries_was_early(l, pid))
		return;
	GT_GROW(l->early, l->early_count, l->early_room);
	l->early[l->early_count++] = pid;
}

/* True if one more library may be probed. `owner`: 0 for those that no process has led to. */
static bool has_room(struct gt_libraries *l, uint64_t owner)
{
	size_t left = GT_LIBRARIES_MAX - l->count, taken = 0;

	for (size_t i = 0; owner && i < l->count; i++)
		taken += l->list[i].owner == owner;
	l->is_full |= taken >= left;
	return taken < left;
}

static struct gt_library *append(struct gt_libraries *l, int api, const char *path, uint32_t pid,
				 uint64_t owner)
{
	struct gt_library *added;

	GT_GROW(l->list, l->count, l->room);
	added = &l->list[l->count++];
	*added = (struct gt_library){
		.api = (enum gt_api)api, .path = gt_strdup(path), .found_in = pid, .owner = owner
	};
	return added;
}

/* A file that may have to be probed. */
struct candidate {
	int fd;
	struct stat st;
	const char *path;
	int api;
	uint32_t pid;   /* that has mapped it; 0: none … */
	uint64_t owner; /* … and whose that is; 0: not known yet */
	bool is_program;
};

/* Every tensor in main memory would be a call. */
static size_t drop_cpu_points(struct gt_probe_point *points, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++)
		if (!gt_pool_is_for_cpu((enum gt_function_id)points[i].row))
			points[kept++] = points[i];
	return kept;
}

/* Probes a file that is not in the list. */
static struct gt_library *probe(struct gt_libraries *l, const struct candidate *c)
{
	struct gt_probe_point *points = gt_alloc(GT_POINTS_MAX * sizeof *points);
	struct gt_library *added;
	struct gt_error error = { "" };
	size_t count;
	int e = 0;

	l->probed++;
	count = gt_points_find(c->fd, (uint64_t)c->st.st_size, (enum gt_api)c->api,
			       c->is_program ? GT_POINTS_ALL : GT_POINTS_EXPORTED, points);
	if (c->api == GT_PYTORCH && !l->cpu_blocks)
		count = drop_cpu_points(points, count);
	if (count && l->probes)
		e = gt_probes_attach(l->probes, c->fd, c->path, points, count, &error);
	free(points);
	if (e && !*l->refusal.text)
		l->refusal = error;
	added = append(l, c->api, c->path, c->pid, c->owner);
	added->dev = c->st.st_dev;
	added->ino = c->st.st_ino;
	added->functions = e ? 0 : count;
	added->is_refused = e;
	added->is_program = c->is_program;
	return added;
}

static struct gt_library *find(const struct gt_libraries *l, const struct stat *st)
{
	for (size_t i = 0; i < l->count; i++)
		if (!l->list[i].is_unopened && l->list[i].dev == st->st_dev &&
		    l->list[i].ino == st->st_ino)
			return &l->list[i];
	return NULL;
}

/* How many libraries a process has had probed. */
static size_t found_in(const struct gt_libraries *l, uint32_t pid)
{
	size_t count = 0;

	for (size_t i = 0; pid && i < l->count; i++)
		count += l->list[i].found_in == pid;
	return count;
}

static bool has_probed_enough(const struct gt_libraries *l)
{
	return l->pause_at && l->probed >= l->pause_at;
}

/* Nothing is probed any more: what is not probed by now is missing. */
static void miss(struct gt_libraries *l, const struct candidate *c)
{
	struct gt_library *added = append(l, c->api, c->path, c->pid, c->owner);

	added->dev = c->st.st_dev;
	added->ino = c->st.st_ino;
	added->is_refused = true;
	if (!*l->refusal.text)
		gt_error_set(&l->refusal, -ETIME,
			     "%s was loaded as recording ended: calls into it are not recorded",
			     c->path);
}

/* Each file is tried only once. 1: there is no room for it. */
static int add(struct gt_libraries *l, struct candidate *c)
{
	const struct gt_library *known;

	if (fstat(c->fd, &c->st) || !S_ISREG(c->st.st_mode))
		return 0;
	known = find(l, &c->st);
	if (!known && c->pid && !c->owner)
		c->owner = gt_identity_owner(c->pid);
	if (!known && !has_room(l, c->owner))
		return 1;
	if (!known && l->is_over) {
		miss(l, c);
		return 0;
	}
	if (!known && has_probed_enough(l)) {
		l->is_unfinished = true;
		return 0;
	}
	if (!known)
		known = probe(l, c);
	l->usable += known->functions > 0;
	return 0;
}

static bool is_wanted(const struct gt_libraries *l, const char *path)
{
	int api = gt_libraries_api(l, path);

	return api >= 0 && !l->unwanted[api];
}

static bool has_path(const struct gt_libraries *l, const char *path)
{
	for (size_t i = 0; i < l->count; i++)
		if (!strcmp(l->list[i].path, path))
			return true;
	return false;
}

static void note_dropped(struct gt_libraries *l, uint32_t pid, size_t count)
{
	size_t i = 0;

	while (i < l->dropped_count && l->dropped[i].pid != pid)
		i++;
	if (!count)
		return;
	if (i == GT_LIBRARIES_DROPPED) {
		l->has_more_dropped = true;
		return;
	}
	if (i == l->dropped_count)
		l->dropped[l->dropped_count++] =
			(struct gt_dropped_libraries){ .pid = pid, .is_full = l->is_full };
	if (count > l->dropped[i].count)
		l->dropped[i].count = count;
}

static bool is_unopened(const struct gt_libraries *l, const char *path)
{
	for (size_t i = 0; i < l->count; i++)
		if (l->list[i].is_unopened && !strcmp(l->list[i].path, path))
			return true;
	return false;
}

/* A library that a process has mapped, but that cannot be opened; 1: there is no room for it. */
static int refuse(struct gt_libraries *l, const struct gt_mapping *m, uint32_t pid, int error)
{
	struct gt_library *added;
	struct gt_mappings now;
	uint64_t owner = gt_identity_owner(pid);
	int ended = gt_mappings_read(&now, pid);

	gt_mappings_fini(&now);
	if (ended || is_unopened(l, m->path))
		return 0;
	if (!has_room(l, owner))
		return 1;
	if (!*l->refusal.text)
		gt_error_set(&l->refusal, error, "cannot open %s, which process %u has loaded: %s",
			     m->path, pid, gt_mapping_cause(error));
	added = append(l, gt_libraries_api(l, m->path), m->path, pid, owner);
	added->is_refused = added->is_unopened = true;
	return 0;
}

/*
 * One of a process's mappings. 1: it is dropped. Once a process has as many as it may, its files,
 * of which there may be tens of thousands, are not even opened each time it maps one more.
 */
static int add_mapped(struct gt_libraries *l, const struct gt_mapping *m, uint32_t pid,
		      size_t *opened)
{
	struct candidate c = { .path = m->path, .api = gt_libraries_api(l, m->path), .pid = pid };
	int dropped;

	if (*opened >= OPENED_MAX || found_in(l, pid) >= GT_LIBRARIES_OF_PROCESS)
		return !has_path(l, m->path);
	++*opened;
	c.fd = gt_mapping_open(m, pid);
	if (c.fd < 0)
		return refuse(l, m, pid, c.fd);
	dropped = add(l, &c);
	close(c.fd);
	return dropped;
}

static struct gt_plain_program plain_program(const struct stat *st)
{
	return (struct gt_plain_program){ .dev = st->st_dev,
					  .ino = st->st_ino,
					  .mtime_ns = (int64_t)st->st_mtim.tv_sec * 1000000000 +
						      st->st_mtim.tv_nsec };
}

static bool is_plain(const struct gt_libraries *l, const struct stat *st)
{
	const struct gt_plain_program wanted = plain_program(st);

	for (size_t i = 0; i < l->plain_count && i < GT_LIBRARIES_PLAIN; i++)
		if (l->plain[i].dev == wanted.dev && l->plain[i].ino == wanted.ino &&
		    l->plain[i].mtime_ns == wanted.mtime_ns)
			return true;
	return false;
}

/* The API whose library is linked into the program; -1: none. Each program is read once. */
static int linked_api(struct gt_libraries *l, const struct candidate *c)
{
	int api = is_plain(l, &c->st) ? -1 : gt_points_api(c->fd, (uint64_t)c->st.st_size);

	if (api < 0 && !is_plain(l, &c->st))
		l->plain[l->plain_count++ % GT_LIBRARIES_PLAIN] = plain_program(&c->st);
	return api;
}

bool gt_libraries_scan_program(struct gt_libraries *l, uint32_t pid)
{
	struct candidate c = { .pid = pid, .is_program = true };
	char link[64], path[PATH_MAX];
	ssize_t n;

	snprintf(link, sizeof link, "/proc/%u/exe", pid);
	n = readlink(link, path, sizeof path - 1);
	if (n <= 0)
		return false;
	path[n] = '\0';
	c.path = path;
	c.fd = open(link, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (c.fd < 0)
		return false;
	c.api = fstat(c.fd, &c.st) ? -1 : linked_api(l, &c);
	if (c.api >= 0 && !l->unwanted[c.api]) {
		add(l, &c);
		if (!*l->linked.text)
			gt_error_set(&l->linked, 0,
				     "%s has %s linked into it: its own functions are probed", path,
				     gt_api_names[c.api]);
	}
	close(c.fd);
	return c.api >= 0;
}

int gt_libraries_scan(struct gt_libraries *l, uint32_t pid, struct gt_error *error)
{
	struct gt_mappings maps;
	size_t known = l->count, dropped = 0, opened = 0;
	const char *last = "";
	int found = 0, e = gt_mappings_read(&maps, pid);

	l->is_unfinished = false;
	l->usable = 0;
	if (e)
		return gt_error_set(
			error, e, "cannot read the mappings of process %u: %s%s", pid, strerror(-e),
			e == -EACCES || e == -EPERM ?
				"; this root user may not: attach from where the process "
				"was started, outside its sandbox or container" :
				"");
	for (size_t i = 0; i < maps.count && !l->is_unfinished; i++) {
		const struct gt_mapping *m = &maps.list[i];

		if (!m->is_code || !is_wanted(l, m->path))
			continue;
		found++;
		/* the pieces of one file lie next to each other */
		if (!strcmp(m->path, last))
			continue;
		last = m->path;
		dropped += (size_t)add_mapped(l, m, pid, &opened);
	}
	note_dropped(l, pid, dropped);
	gt_mappings_fini(&maps);
	if (l->is_settled ? l->count > known || dropped : found > 0)
		note_early(l, pid);
	return found;
}

int gt_libraries_name(struct gt_libraries *l, const char *path, int api, struct gt_error *error)
{
	struct candidate c = { .path = path, .api = api, .is_program = true };
	struct gt_named_library *named = &l->named[l->named_count];
	int e = 0;

	if (l->named_count == GT_LIBRARIES_NAMED)
		return gt_error_set(error, -E2BIG, "there is room for %d drivers only",
				    GT_LIBRARIES_NAMED);
	c.fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (c.fd < 0 || fstat(c.fd, &c.st))
		e = gt_error_set(error, -errno, "cannot open %s: %s", path, strerror(errno));
	if (!e && c.api < 0)
		c.api = gt_library_api(path);
	if (!e && c.api < 0)
		c.api = gt_points_api(c.fd, (uint64_t)c.st.st_size);
	if (!e && c.api < 0)
		e = gt_error_set(error, -ENOEXEC,
				 "%s defines none of the functions of CUDA, Level Zero or OpenCL: "
				 "name the file that the program loads",
				 path);
	if (!e) {
		named->name = gt_strdup(gt_path_name(path));
		named->api = (enum gt_api)c.api;
		l->named_count++;
		add(l, &c);
	}
	if (c.fd >= 0)
		close(c.fd);
	return e;
}

static void try_folder(struct gt_libraries *l, const char *folder)
{
	for (int api = 0; api < GT_API_COUNT; api++) {
		char path[PATH_MAX];
		struct candidate c = { .path = path, .api = api };

		snprintf(path, sizeof path, "%.3000s/%s.1", *folder ? folder : ".",
			 gt_api_libraries[api]);
		c.fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		if (c.fd < 0)
			continue;
		if (!l->unwanted[api])
			add(l, &c);
		close(c.fd);
	}
}

void gt_libraries_installed(struct gt_libraries *l, const char *path)
{
	char *list = gt_strdup(path ? path : ""), *rest = list, *folder;

	while (*list && (folder = strsep(&rest, ":")))
		try_folder(l, folder);
	free(list);
	for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
		try_folder(l, folders[i]);
}

static void add_to_queue(struct gt_libraries *l, uint32_t pid)
{
	GT_GROW(l->queue, l->queue_count, l->queue_room);
	l->queue[l->queue_count++] = pid;
}

void gt_libraries_queue(struct gt_libraries *l, uint32_t pid)
{
	for (size_t i = 0; i < l->queue_count; i++)
		if (l->queue[i] == pid)
			return;
	add_to_queue(l, pid);
}

void gt_libraries_queue_all(struct gt_libraries *l)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;

	l->queue_count = 0;
	while (proc && (entry = readdir(proc)))
		if (isdigit((unsigned char)entry->d_name[0]))
			add_to_queue(l, (uint32_t)atoi(entry->d_name));
	if (proc)
		closedir(proc);
}

void gt_libraries_hear(struct gt_libraries *l, uint32_t pid, const struct gt_mapping *m)
{
	gt_libraries_queue(l, pid);
	if (l->heard_count == GT_LIBRARIES_HEARD || !is_wanted(l, m->path))
		return;
	/* whose it is: soon it may have ended */
	l->heard[l->heard_count] = (struct gt_heard_library){ pid, gt_identity_owner(pid), *m };
	l->heard[l->heard_count++].mapping.path = gt_strdup(m->path);
}

/* Probes the files that were heard of: their processes may have ended. */
static void add_heard(struct gt_libraries *l, gt_scanned_fn *scanned, void *context)
{
	size_t done = 0;

	while (done < l->heard_count && !has_probed_enough(l)) {
		struct gt_heard_library *h = &l->heard[done++];
		struct candidate c = { .path = h->mapping.path, .pid = h->pid, .owner = h->owner };
		size_t known = l->count;

		c.api = gt_libraries_api(l, c.path);
		c.fd = gt_mapping_open(&h->mapping, h->pid);
		if (c.fd >= 0 && found_in(l, h->pid) < GT_LIBRARIES_OF_PROCESS) {
			l->usable = 0;
			add(l, &c);
			if (l->count > known) {
				note_early(l, h->pid);
				scanned(context, h->pid, known);
			}
		}
		if (c.fd >= 0)
			close(c.fd);
		free(h->mapping.path);
	}
	l->heard_count -= done;
	memmove(l->heard, l->heard + done, l->heard_count * sizeof *l->heard);
}

void gt_libraries_scan_queued(struct gt_libraries *l, gt_scanned_fn *scanned, void *context)
{
	size_t count = l->queue_count, i = 0;
	struct gt_error unused;

	l->pause_at = l->probed + PROBED_AT_ONCE;
	add_heard(l, scanned, context);
	while (i < count && i < SCANNED_AT_ONCE && !has_probed_enough(l)) {
		uint32_t pid = l->queue[i++];
		size_t known = l->count;

		/* it may have ended, be a kernel thread, or be off limits */
		if (!gt_libraries_scan(l, pid, &unused) && l->with_programs)
			gt_libraries_scan_program(l, pid);
		scanned(context, pid, known);
		if (l->is_unfinished)
			add_to_queue(l, pid);
	}
	l->pause_at = 0;
	l->queue_count -= i;
	if (i)
		memmove(l->queue, l->queue + i, l->queue_count * sizeof *l->queue);
}

void gt_libraries_end(struct gt_libraries *l, gt_scanned_fn *scanned, void *context)
{
	struct gt_error unused;

	l->is_over = true;
	for (size_t i = 0; i < l->queue_count; i++) {
		size_t known = l->count;

		gt_libraries_scan(l, l->queue[i], &unused);
		scanned(context, l->queue[i], known);
	}
	l->queue_count = 0;
}

void gt_libraries_everywhere(struct gt_libraries *l, gt_scanned_fn *scanned, void *context)
{
	struct gt_error unused;

	gt_libraries_queue_all(l);
	for (size_t i = 0; i < l->queue_count; i++) {
		size_t known = l->count;

		gt_libraries_scan(l, l->queue[i], &unused);
		if (scanned)
			scanned(context, l->queue[i], known);
	}
	l->queue_count = 0;
}
