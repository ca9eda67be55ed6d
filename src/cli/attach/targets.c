/* SPDX-License-Identifier: MIT */
/* targets.c - which processes and APIs attach and top follow. */
#include "cli/attach/targets.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/format.h"
#include "base/mem.h"
#include "base/print.h"
#include "base/process.h"
#include "base/text.h"
#include "capture/ebpf/mappings.h"
#include "capture/ebpf/points.h"
#include "cli/cli.h"
#include "cli/launch.h"
#include "cli/nvml.h"

void gt_targets_add(struct gt_targets *t, uint32_t pid)
{
	if (t->count == GT_TARGETS_MAX)
		return;
	t->fds[t->count] = -1;
	t->pids[t->count++] = pid;
}

static int parse_pids(struct gt_targets *t, const struct gt_syntax *syntax, const char *text)
{
	char *list = gt_strdup(text), *rest = list, *word;
	int status = 0;

	while (!status && (word = strsep(&rest, ","))) {
		uint64_t pid;

		if (!gt_count_parse(word, &pid) || !pid || pid > INT_MAX) {
			status = gt_syntax_wrong(syntax, "'%s' is not a process id", word);
		} else if (t->count == GT_TARGETS_MAX) {
			status = gt_syntax_wrong(syntax, "-p takes at most %d processes",
						 GT_TARGETS_MAX);
		} else {
			gt_targets_add(t, (uint32_t)pid);
		}
	}
	free(list);
	return status;
}

static int parse_api(struct gt_targets *t, const struct gt_syntax *syntax, const char *text)
{
	for (int api = 0; api < GT_OWN_POOL; api++)
		if (!strcmp(text, gt_api_keys[api])) {
			t->wanted[api] = t->some_apis = true;
			return 0;
		}
	return gt_syntax_wrong(syntax, "--api is cuda, levelzero, opencl or pytorch, not '%s'",
			       text);
}

int gt_targets_parse(struct gt_targets *t, const struct gt_syntax *syntax,
		     struct gt_targets_settings *settings, const struct gt_texts *library)
{
	struct gt_selection *selection = &settings->selection;
	int status = gt_selection_parse(selection, syntax);

	t->selection = selection;
	t->drivers = &settings->drivers;
	t->library = library;
	t->pools = (enum gt_pools_wanted)settings->pools;
	for (size_t i = 0; i < settings->pids.count && !status; i++)
		status = parse_pids(t, syntax, settings->pids.items[i]);
	for (size_t i = 0; i < settings->apis.count && !status; i++)
		status = parse_api(t, syntax, settings->apis.items[i]);
	t->everyone = !t->count;
	if (!status && t->count && gt_selection_is_given(selection))
		status = gt_syntax_wrong(syntax, "-p names processes, so --comm, --exe, --cgroup, "
						 "--container and --user select nothing");
	return status;
}

void gt_targets_settings_fini(struct gt_targets_settings *settings)
{
	gt_texts_fini(&settings->pids);
	gt_texts_fini(&settings->apis);
	gt_texts_fini(&settings->drivers);
	gt_selection_fini(&settings->selection);
}

/* For gt_tracer_options. */
static bool is_selected(const void *selection, const struct gt_probe_event *first,
			const char *program)
{
	const struct gt_process_facts facts = { .pid = first->pid,
						.parent = first->parent,
						.comm = *first->program ? first->program : NULL,
						.uid = first->uid,
						.exe = program };

	return gt_selection_matches(selection, &facts);
}

/* Their name is certain if all of them have it: each process has its own order of them. */
static void look_at_gpus(struct gt_gpus *gpus)
{
	char why[200], name[GT_NVML_NAME];
	struct gt_nvml *nvml = gt_nvml_open(why, sizeof why);

	if (!nvml)
		return;
	gpus->count = gt_nvml_count(nvml);
	for (unsigned i = 0; i < gpus->count; i++) {
		gt_nvml_name(nvml, i, name);
		if (!i)
			snprintf(gpus->name, sizeof gpus->name, "%s", name);
		if (strcmp(gpus->name, name) || gt_nvml_is_divided(nvml, i)) {
			gpus->name[0] = '\0';
			break;
		}
	}
	gt_nvml_close(nvml);
}

void gt_targets_configure(const struct gt_targets *t, struct gt_tracer_options *how)
{
	how->probes.everyone = t->everyone;
	how->probes.no_children = t->selection->no_children;
	how->look_at_gpus = look_at_gpus;
	if (!t->everyone || !gt_selection_is_given(t->selection))
		return;
	how->probes.selects = true;
	how->wants = is_selected;
	how->wants_context = t->selection;
}

int gt_targets_check(struct gt_targets *t, struct gt_error *error)
{
	for (size_t i = 0; i < t->count; i++) {
		t->fds[i] = (int)syscall(SYS_pidfd_open, (pid_t)t->pids[i], 0);
		if (t->fds[i] < 0 && errno == ESRCH)
			return gt_error_set(error, -ESRCH,
					    "there is no process %u: `ps` lists the running ones",
					    t->pids[i]);
		/* the error differs between kernels */
		if (t->fds[i] < 0 && (errno == EINVAL || errno == ENOENT))
			return gt_error_set(error, -EINVAL,
					    "%u is a thread, not a process: see "
					    "Tgid in /proc/%u/status",
					    t->pids[i], t->pids[i]);
		if (t->fds[i] < 0)
			return gt_error_set(error, -errno, "cannot track process %u: %s",
					    t->pids[i], strerror(errno));
	}
	return 0;
}

void gt_targets_fini(struct gt_targets *t)
{
	for (size_t i = 0; i < t->count; i++)
		if (t->fds[i] >= 0)
			close(t->fds[i]);
	t->count = 0;
	free(t->family);
}

/* "libcuda.so, libOpenCL.so": the libraries of the APIs to follow. */
static void name_libraries(const struct gt_targets *t, char *names, size_t size)
{
	size_t used = 0;

	for (int api = 0; api < GT_API_COUNT && used < size; api++)
		if (t->some_apis ? t->wanted[api] : !gt_api_is_pool((enum gt_api)api))
			used += (size_t)snprintf(names + used, size - used, "%s%s",
						 used ? ", " : "", gt_api_libraries[api]);
}

/* Why nothing of the processes is tracked, though they have loaded libraries. */
static int explain_untracked(const struct gt_targets *t, const struct gt_libraries *l,
			     struct gt_error *error)
{
	if (*l->refusal.text)
		return gt_error_set(error, GT_TARGETS_UNTRACKED, "nothing can be tracked: %s",
				    l->refusal.text);
	return gt_error_set(error, GT_TARGETS_UNTRACKED,
			    "nothing can be tracked: the GPU libraries of process %u export none "
			    "of the functions that gputrack knows",
			    t->pids[0]);
}

static bool has_member(const struct gt_targets *t, uint32_t pid)
{
	for (size_t i = 0; i < t->family_count; i++)
		if (t->family[i] == pid)
			return true;
	return false;
}

static int add_member(struct gt_targets *t, struct gt_tracer *tracer, uint32_t pid,
		      struct gt_error *error)
{
	int e = gt_tracer_follow(tracer, pid, error);

	if (e)
		return e;
	GT_GROW(t->family, t->family_count, t->family_room);
	t->family[t->family_count++] = pid;
	return 0;
}

/* Follows the children of members that run already; true if there was another one. */
static bool add_children(struct gt_targets *t, struct gt_tracer *tracer)
{
	size_t before = t->family_count;
	DIR *proc = opendir("/proc");
	struct gt_process_state state;
	struct gt_error unused;
	struct dirent *entry;

	while (proc && (entry = readdir(proc))) {
		uint32_t pid = (uint32_t)strtoul(entry->d_name, NULL, 10);

		if (pid && !has_member(t, pid) && gt_process_state_read(&state, pid) &&
		    !state.has_ended && has_member(t, state.ppid))
			add_member(t, tracer, pid, &unused);
	}
	if (proc)
		closedir(proc);
	return t->family_count > before;
}

/* Probes the libraries of the processes and of their children; returns how many they have. */
static int scan_targets(struct gt_targets *t, struct gt_tracer *tracer, struct gt_error *error)
{
	struct gt_error unused;
	int mapped = 0, e = 0;

	for (size_t i = 0; i < t->count && !e; i++)
		e = add_member(t, tracer, t->pids[i], error);
	if (e)
		return e;
	/* whoever is followed has its new children followed: only those of before are missing */
	while (!t->selection->no_children && add_children(t, tracer))
		;
	for (size_t i = 0; i < t->family_count; i++) {
		e = gt_tracer_scan(tracer, t->family[i], i < t->count ? error : &unused);
		if ((e == -EACCES || e == -EPERM) && i < t->count)
			return GT_TARGETS_UNTRACKED;
		if (e < 0 && i < t->count)
			return e;
		mapped += e > 0 ? e : 0;
	}
	return mapped;
}

/* FILE or FILE=API; returns the API, or -1. The caller frees the path. */
static int split_driver(const char *text, char **path)
{
	char *end;
	int api = GT_API_COUNT;

	*path = gt_strdup(text);
	end = strrchr(*path, '=');
	while (end && --api >= 0 && strcmp(end + 1, gt_api_keys[api]))
		;
	if (!end || api < 0)
		return -1;
	*end = '\0';
	return api;
}

/* True if --library names a file that defines functions of an API, and not only a pattern. */
static bool is_driver(const char *path)
{
	int fd = strchr(path, '/') ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
	struct stat st;
	bool is = fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode) &&
		  gt_points_api(fd, (uint64_t)st.st_size) >= 0;

	if (fd >= 0)
		close(fd);
	return is;
}

/* Probes the files that were named. */
static int probe_drivers(const struct gt_targets *t, struct gt_libraries *l, struct gt_error *error)
{
	size_t count = t->drivers->count + (t->library ? t->library->count : 0);
	int e = 0;

	for (size_t i = 0; i < count && !e; i++) {
		bool is_named = i < t->drivers->count;
		char *path;
		int api = split_driver(is_named ? t->drivers->items[i] :
						  t->library->items[i - t->drivers->count],
				       &path);

		if (is_named || api >= 0 || is_driver(path))
			e = gt_libraries_name(l, path, api, error);
		free(path);
	}
	return e;
}

int gt_targets_probe(struct gt_targets *t, struct gt_tracer *tracer, struct gt_error *error)
{
	struct gt_libraries *l = gt_tracer_libraries(tracer);
	char recorder[PATH_MAX];
	size_t functions = 0;
	int mapped;

	for (int i = 0; i < GT_API_COUNT; i++)
		l->unwanted[i] = i == GT_OWN_POOL || (t->some_apis && !t->wanted[i]) ||
				 (i == GT_PYTORCH && t->pools == GT_POOLS_NONE);
	l->cpu_blocks = t->pools == GT_POOLS_CPU;
	/* first: what `gputrack run` records at this moment must keep its stacks */
	if (!gt_doors_find(recorder, sizeof recorder, "libgputrack.so"))
		*recorder = '\0';
	gt_tracer_find_recorders(tracer, recorder);
	mapped = probe_drivers(t, l, error);
	if (!mapped)
		mapped = scan_targets(t, tracer, error);
	if (mapped < 0)
		return mapped;
	if (mapped && !gt_tracer_has_library(tracer))
		return explain_untracked(t, l, error);
	/* first: no process may use up the limits that these count for too */
	gt_libraries_installed(l, getenv("LD_LIBRARY_PATH"));
	if (t->everyone) {
		gt_tracer_scan_all(tracer);
		gt_tracer_find_pythons(tracer, NULL);
	}
	l->is_settled = true;
	for (size_t i = 0; i < l->count; i++)
		functions += l->list[i].functions;
	if (!functions && *l->refusal.text)
		return gt_error_set(error, GT_TARGETS_UNTRACKED, "nothing can be tracked: %s",
				    l->refusal.text);
	return mapped;
}

void gt_targets_name(const struct gt_targets *t, char *text, size_t size)
{
	size_t children = t->family_count > t->count ? t->family_count - t->count : 0;
	size_t used;

	if (t->everyone && gt_selection_is_given(t->selection)) {
		gt_selection_name(t->selection, text, size);
		return;
	}
	if (t->everyone)
		snprintf(text, size, "all processes");
	else if (t->count == 1)
		snprintf(text, size, "process %u", t->pids[0]);
	else
		snprintf(text, size, "%zu processes", t->count);
	used = strlen(text);
	if (children)
		snprintf(text + used, size - used, " and %s %zu %s",
			 t->count == 1 ? "its" : "their", children,
			 gt_plural(children, "child", "children"));
}

int gt_targets_status(int error)
{
	return error == GT_TARGETS_UNTRACKED ? GT_EXIT_UNTRACKED : GT_EXIT_FAILED;
}

/* Drivers that programs reach through a loader. */
static const struct {
	const char *name;
	enum gt_api api;
} drivers_below[] = {
	{ "libze_intel_gpu.so", GT_LEVELZERO },
	{ "libze_intel_npu.so", GT_LEVELZERO },
	{ "libze_intel_vpu.so", GT_LEVELZERO },
	{ "libigdrcl.so", GT_OPENCL },
	{ "libpocl.so", GT_OPENCL },
	{ "libnvidia-opencl.so", GT_OPENCL },
	{ "libamdocl64.so", GT_OPENCL },
	{ "libintelocl.so", GT_OPENCL },
	{ "libRusticlOpenCL.so", GT_OPENCL },
};

static const char *find_driver_below(const struct gt_targets *t, const struct gt_mappings *maps,
				     enum gt_api *api)
{
	for (size_t i = 0; i < maps->count; i++)
		for (size_t k = 0; k < sizeof drivers_below / sizeof *drivers_below; k++)
			if (maps->list[i].is_code &&
			    gt_text_begins(gt_path_name(maps->list[i].path),
					   drivers_below[k].name) &&
			    (!t->some_apis || t->wanted[drivers_below[k].api])) {
				*api = drivers_below[k].api;
				return maps->list[i].path;
			}
	return NULL;
}

/*
 * Explains, in `text`, processes that use a driver while no loader of its API can be seen: it has
 * another name, or is linked into a program without symbols. False: there are none.
 */
static bool explain_hidden_loader(const struct gt_targets *t, char *text, size_t size)
{
	const char *path = NULL;
	enum gt_api api;

	for (size_t i = 0; i < t->family_count && !path; i++) {
		struct gt_mappings maps;

		if (gt_mappings_read(&maps, t->family[i]))
			continue;
		path = find_driver_below(t, &maps, &api);
		if (path)
			snprintf(text, size,
				 "process %u has loaded %.200s, a driver of %s, but not %s: the "
				 "loader has another name, or is linked into the program; name "
				 "its file with --driver",
				 t->family[i], path, gt_api_names[api], gt_api_libraries[api]);
		gt_mappings_fini(&maps);
	}
	return path;
}

void gt_targets_tell_untracked(const struct gt_targets *t, struct gt_tracer *tracer)
{
	const struct gt_libraries *l = gt_tracer_libraries(tracer);
	char names[128], who[128], why[600];

	name_libraries(t, names, sizeof names);
	gt_targets_name(t, who, sizeof who);
	if (*l->refusal.text)
		gt_tell("nothing was tracked: %s", l->refusal.text);
	else if (explain_hidden_loader(t, why, sizeof why))
		gt_tell("nothing was tracked: %s", why);
	else if (t->everyone)
		gt_tell("nothing was tracked: none of %s loaded %s meanwhile", who, names);
	else
		gt_tell("nothing was tracked: %s did not load %s meanwhile; `ps` shows whether "
			"another process makes the GPU calls",
			who, names);
}

void gt_targets_tell_waiting(const struct gt_targets *t, struct gt_tracer *tracer)
{
	char names[128], who[128], why[600];

	if (gt_tracer_has_library(tracer))
		return;
	if (explain_hidden_loader(t, why, sizeof why))
		gt_tell("%s", why);
	name_libraries(t, names, sizeof names);
	gt_targets_name(t, who, sizeof who);
	if (t->everyone)
		gt_tell("none of %s has loaded %s yet: waiting for one", who, names);
	else
		gt_tell("%s %s not loaded %s yet: waiting for it", who,
			t->family_count > 1 ? "have" : "has", names);
}

bool gt_targets_ended(const struct gt_targets *t, const struct gt_tracer *tracer)
{
	struct pollfd fds[GT_TARGETS_MAX];

	for (size_t i = 0; i < t->count; i++)
		fds[i] = (struct pollfd){ .fd = t->fds[i], .events = POLLIN };
	return t->count && poll(fds, t->count, 0) == (int)t->count && gt_tracer_is_idle(tracer);
}

void gt_targets_tell_dropped(struct gt_tracer *tracer, size_t *told)
{
	const struct gt_libraries *l = gt_tracer_libraries(tracer);

	for (; *told < l->dropped_count; ++*told) {
		const struct gt_dropped_libraries *d = &l->dropped[*told];

		gt_tell("process %u has mapped more libraries than are probed, so its calls into "
			"%zu of them are not recorded: at most %d are probed for a process, %d in "
			"all, and for a user no more than are left%s",
			d->pid, d->count, GT_LIBRARIES_OF_PROCESS, GT_LIBRARIES_MAX,
			d->is_full ? "; -p PID probes those of one process first" : "");
	}
}
