/* SPDX-License-Identifier: MIT */
/* own.c - which frames are the user's own code, and which are a library's. */
#include "replay/own.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/containers.h"
#include "base/files.h"
#include "base/mem.h"
#include "base/text.h"
#include "replay/frame_facts.h"
#include "replay/jit_names.h"
#include "replay/phase.h"
#include "replay/process_text.h"
#include "replay/suppressions.h"

struct paths {
	char **list;
	size_t count, room;
};

struct gt_own {
	struct gt_own_rules rules;
	struct paths roots, programs;
	struct gt_intern
		*added;      /* programs with their folders: processes by the thousand share them */
	struct gt_map known; /* of module and file: what the paths alone say, + 1 */
};

static void add_path(struct paths *paths, const char *path)
{
	char *copy = gt_strdup(path);

	gt_path_normalize(copy);
	gt_path_trim_slashes(copy);
	for (size_t i = 0; i < paths->count; i++)
		if (!strcmp(paths->list[i], copy)) {
			free(copy);
			return;
		}
	GT_GROW(paths->list, paths->count, paths->room);
	paths->list[paths->count++] = copy;
}

static void paths_fini(struct paths *paths)
{
	for (size_t i = 0; i < paths->count; i++)
		free(paths->list[i]);
	free(paths->list);
}

/* What of `path` is below the folder; NULL: it is not. */
static const char *below(const char *path, const char *folder)
{
	size_t length = strlen(folder);

	if (length == 1 && *folder == '/')
		return *path == '/' && path[1] ? path + 1 : NULL;
	if (!length || strncmp(path, folder, length) || path[length] != '/' || !path[length + 1])
		return NULL;
	return path + length + 1;
}

struct gt_own *gt_own_new(const struct gt_own_rules *rules)
{
	struct gt_own *o = gt_alloc(sizeof *o);
	char path[PATH_MAX];

	o->rules = *rules;
	o->added = gt_intern_new();
	for (const char *const *root = rules->roots; root && *root; root++)
		add_path(&o->roots, realpath(*root, path) ? path : *root);
	return o;
}

void gt_own_free(struct gt_own *o)
{
	if (!o)
		return;
	paths_fini(&o->roots);
	paths_fini(&o->programs);
	gt_intern_free(o->added);
	gt_map_fini(&o->known);
	free(o);
}

/* True for folders of the system: what lies there tells nothing about whose code it is. */
static bool is_system_folder(const char *path)
{
	static const char *const alone[] = {
		"", "/", "/usr", "/usr/local", "/opt", "/home", "/var"
	};
	static const char *const whole[] = {
		"/bin",     "/sbin",        "/lib",       "/lib32",         "/lib64",
		"/usr/bin", "/usr/sbin",    "/usr/lib",   "/usr/lib32",     "/usr/lib64",
		"/etc",     "/usr/include", "/usr/share", "/usr/local/bin", "/usr/local/lib",
		"/nix",     "/gnu",         "/snap",      "/usr/libexec",   "/usr/local/sbin",
	};

	for (size_t i = 0; i < sizeof alone / sizeof *alone; i++)
		if (!strcmp(path, alone[i]))
			return true;
	for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
		if (!strcmp(path, whole[i]) || below(path, whole[i]))
			return true;
	return false;
}

static void add_repository(struct gt_own *o, const char *path)
{
	char *folder = gt_repository_around(path);

	if (folder && !is_system_folder(folder))
		add_path(&o->roots, folder);
	free(folder);
}

static bool is_build_folder(const char *name)
{
	return !strcmp(name, "build") || !strcmp(name, "builddir") || !strcmp(name, "_build") ||
	       gt_text_begins(name, "build-") || gt_text_begins(name, "cmake-build-");
}

/* A home has more than one project in it. */
static bool is_home(const char *folder)
{
	const char *user = below(folder, "/home");

	return (user && !strchr(user, '/')) || !strcmp(folder, "/root") || !strcmp(folder, "/tmp");
}

/* Sources that are in no repository lie around the folder that they are built in. */
static void add_sources(struct gt_own *o, const char *path)
{
	char *folder = gt_strdup(path);

	while (*folder == '/' && folder[1]) {
		bool found = is_build_folder(gt_path_name(folder));

		folder[gt_path_folder_size(folder) - 1] = '\0';
		if (!found)
			continue;
		if (!is_system_folder(folder) && !is_home(folder))
			add_path(&o->roots, folder);
		break;
	}
	free(folder);
}

static void add_folder(struct gt_own *o, const char *folder)
{
	if (o->rules.roots && *o->rules.roots)
		return;
	if (*folder != '/' || is_system_folder(folder))
		return;
	add_path(&o->roots, folder);
	add_repository(o, folder);
	add_sources(o, folder);
}

static bool is_added(struct gt_own *o, const char *path, const char *folder)
{
	const uint32_t pair[] = { gt_intern(o->added, path, strlen(path) + 1),
				  gt_intern(o->added, folder, strlen(folder) + 1) };
	size_t before = gt_intern_count(o->added);

	gt_intern(o->added, pair, sizeof pair);
	return gt_intern_count(o->added) == before;
}

bool gt_own_add_program(struct gt_own *o, const char *path, const char *folder)
{
	size_t size = gt_path_folder_size(path);
	char *home;

	if (is_added(o, path, folder))
		return false;
	gt_map_fini(&o->known);
	o->known = (struct gt_map){ 0 };
	add_folder(o, folder);
	if (!*path)
		return true;
	add_path(&o->programs, path);
	if (size < 2 || gt_is_interpreter(path))
		return true;
	home = gt_strndup(path, size - 1);
	add_folder(o, home);
	free(home);
	return true;
}

struct gt_own *gt_own_of_recording(const struct gt_own_rules *rules, const struct gt_recording *r)
{
	struct gt_own *o = gt_own_new(rules);

	add_folder(o, gt_recording_info(r, "directory"));
	add_folder(o, gt_recording_info(r, "repository"));
	for (size_t i = 0; i < gt_recording_process_count(r); i++) {
		const struct gt_process *p = gt_recording_process(r, i);

		gt_own_add_program(o, p->program, p->directory);
	}
	return o;
}

bool gt_own_is_program(const struct gt_own *o, const char *path)
{
	for (size_t i = 0; i < o->programs.count; i++)
		if (!strcmp(o->programs.list[i], path))
			return true;
	return false;
}

/* Folders of packages, as part of a path, and generated code: they lie below roots as well. */
static bool is_in_package(const char *path)
{
	static const char *const folders[] = {
		"/site-packages/",   "/dist-packages/", "/node_modules/", "/go/pkg/mod/",
		"/_deps/",           "/miniconda3/",    "/miniforge3/",   "/anaconda3/",
		"/mambaforge/",      "/miniconda/",     "/anaconda/",     "/micromamba/",
		"/vcpkg_installed/", "/lib-python/",    "/include/c++/",
	};

	for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
		/* the slash before may be the one that ended the root */
		if (strstr(path, folders[i]) || gt_text_begins(path, folders[i] + 1))
			return true;
	/* between Go and C: what cgo writes */
	return !strcmp(gt_path_name(path), "cgo-gcc-prolog") ||
	       gt_text_begins(gt_path_name(path), "_cgo_");
}

/* ".venv/lib/x.py", "a/.cargo/b.rs": tools keep what is not the user's in hidden folders. */
static bool is_hidden(const char *path)
{
	for (; path; path = strchr(path, '/')) {
		path += *path == '/';
		if (path[0] == '.' && path[1] != '/' && path[1] != '.' && strchr(path, '/'))
			return true;
	}
	return false;
}

/* ".../lib/python3.11/...", "/usr/lib/pypy3.9/...", "python311.zip/...". */
static bool is_in_python(const char *path)
{
	for (const char *at = path; (at = strstr(at, "/py"));) {
		const char *word = gt_text_begins(++at, "python") ? at + 6 :
				   gt_text_begins(at, "pypy")     ? at + 4 :
								    NULL;
		size_t digits = word ? strspn(word, "0123456789.") : 0;
		bool in_lib = at - path >= 4 && (!strncmp(at - 4, "lib/", 4) ||
						 (at - path >= 6 && !strncmp(at - 6, "lib64/", 6)));

		if (digits &&
		    (gt_text_begins(word + digits, "zip/") || (in_lib && word[digits] == '/')))
			return true;
	}
	return is_in_package(path);
}

/* Sources and headers that come with a system or a toolchain. */
static bool is_system_source(const char *path)
{
	static const char *const folders[] = {
		"/usr/include/", "/usr/local/include/", "/usr/lib/",       "/usr/lib64/",
		"/usr/share/",   "/usr/src/linux",      "/lib/",           "/nix/store/",
		"/rustc/",       "/usr/local/go/",      "/usr/local/cuda",
	};

	for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
		if (gt_text_begins(path, folders[i]))
			return true;
	if (gt_text_begins(path, "/opt/") && strstr(path, "/include/"))
		return true;
	return is_in_package(path) || strstr(path, "/.cargo/") || strstr(path, "/.rustup/");
}

/* 1: below a root and own, 0: below a root, but a package's; -1: below none. */
static int below_root(const struct gt_own *o, const char *path)
{
	int found = -1;

	for (size_t i = 0; i < o->roots.count; i++) {
		const char *rest = below(path, o->roots.list[i]);

		if (rest && !is_in_package(rest) && !is_hidden(rest) && !is_in_python(rest))
			return 1;
		if (rest)
			found = 0;
	}
	return found;
}

/* True for a library in a program's folder or below it. */
static bool is_beside(const struct gt_own *o, const char *path)
{
	for (size_t i = 0; i < o->programs.count; i++) {
		const char *program = o->programs.list[i];
		size_t size = gt_path_folder_size(program);
		char *folder;
		bool found;

		if (size < 2 || gt_is_interpreter(program))
			continue;
		folder = gt_strndup(program, size - 1);
		found = !is_system_folder(folder) && below(path, folder) &&
			!is_in_package(below(path, folder));
		free(folder);
		if (found)
			return true;
	}
	return false;
}

/* Where no program is known, as in a profile of another tool: what does not look like a library. */
static bool looks_own(const char *path)
{
	return !is_system_folder(path) && !strstr(gt_path_name(path), ".so") && *path != '[';
}

bool gt_own_has_module(struct gt_own *o, const char *path)
{
	int root;

	if (gt_is_interpreter(path))
		return false;
	if (gt_own_is_program(o, path))
		return true;
	root = below_root(o, path);
	if (root >= 0)
		return root;
	return o->programs.count ? is_beside(o, path) : looks_own(path);
}

/* Python: "<frozen importlib>" is the interpreter's, "<string>" what the user passed with -c. */
static bool is_own_python(const struct gt_own *o, const struct gt_frame *frame)
{
	const char *file = frame->file ? frame->file : "";
	int root;

	if (*file == '<')
		return (gt_text_begins(file, "<string>") || gt_text_begins(file, "<stdin>") ||
			gt_text_begins(file, "<ipython-input") || gt_text_begins(file, "<cell")) &&
		       !(frame->function && strstr(frame->function, "__create_fn__"));
	root = below_root(o, file);
	return root >= 0 ? root : !is_in_python(file);
}

/* What a virtual machine compiled: a script's or a program's, unless it came with the machine. */
static bool is_own_jit(const struct gt_own *o, const struct gt_frame *frame)
{
	static const char *const machines[] = {
		"java.", "javax.", "jdk.", "sun.", "Ljava/", "Base."
	};
	int root = frame->file ? below_root(o, frame->file) : -1;

	for (size_t i = 0; frame->function && i < sizeof machines / sizeof *machines; i++)
		if (gt_text_begins(frame->function, machines[i]))
			return false;
	if (root >= 0 || !frame->file)
		return root >= 0 ? root : frame->function != NULL;
	return !gt_text_begins(frame->file, "node:") && !is_system_source(frame->file);
}

/* Of Debian's builders: "/build/reproducible-path/gcc-12-12.2.0/…", "/build/gcc-AbC123/gcc-12/…".
 */
static bool is_distribution_source(const char *path)
{
	const char *rest = below(path, "/build"), *dash, *slash;

	if (!rest)
		return false;
	slash = strchr(rest, '/');
	dash = slash ? memrchr(rest, '-', (size_t)(slash - rest)) : NULL;
	return gt_text_begins(rest, "reproducible-path/") ||
	       (dash && slash - dash == 7 && !strncmp(rest, slash + 1, (size_t)(dash + 1 - rest)));
}

/* C, C++ and the like, by the paths alone. */
static bool is_own_by_paths(struct gt_own *o, const struct gt_frame *frame)
{
	if (frame->file && *frame->file == '/') {
		int root = below_root(o, frame->file);

		if (root >= 0)
			return root;
		if (is_system_source(frame->file))
			return false;
	}
	if (!frame->module || !gt_own_has_module(o, frame->module))
		return false;
	/* what a distribution has built is its own where it is installed; elsewhere, linked in */
	return !frame->file || !is_distribution_source(frame->file) ||
	       gt_text_begins(frame->module, "/usr/") || is_system_folder(frame->module);
}

static uint64_t hash_text(uint64_t hash, const char *text)
{
	return (hash * 31 + 7) ^ (text ? gt_hash_bytes(text, strlen(text)) : 0);
}

static bool is_own_by_known_paths(struct gt_own *o, const struct gt_frame *frame)
{
	uint64_t key = hash_text(hash_text(1, frame->module), frame->file);
	uintptr_t *known = (uintptr_t *)gt_map_at(&o->known, key);

	if (!*known) {
		bool own = is_own_by_paths(o, frame);

		*known = own + 1u;
	}
	return *known - 1;
}

/* What compilers generate, and the standard libraries of C++ and Rust without debug information. */
static bool is_library_function(const struct gt_frame *frame)
{
	static const char *const names[] = {
		"std::",
		"__gnu_cxx::",
		"__cxxabiv1::",
		"core::ops::",
		"core::ptr::",
		"core::iter::",
		"core::result::",
		"core::option::",
		"alloc::vec::",
		"alloc::boxed::",
		"alloc::sync::",
		"alloc::rc::",
		"<alloc::",
		"<core::",
		"_cgo_",
		"_cgoexp_",
		"runtime.",
		"__rust_",
		"__static_initialization_",
	};
	const char *function = frame->function ? frame->function : "";

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (gt_text_begins(function, names[i]))
			return true;
	return strstr(function, "._Cfunc_") ||
	       (frame->file &&
		(strstr(frame->file, "_cgo_gotypes.go") || strstr(frame->file, "cgo-gcc-prolog")));
}

static bool matches_any(const char *const *patterns, const struct gt_frame *frame)
{
	for (; patterns && *patterns; patterns++)
		if ((frame->function && gt_pattern_matches(*patterns, frame->function)) ||
		    (frame->file && gt_pattern_matches(*patterns, frame->file)) ||
		    (frame->module && gt_pattern_matches(*patterns, frame->module)))
			return true;
	return false;
}

bool gt_own_is(struct gt_own *o, const struct gt_frame *frame)
{
	if (matches_any(o->rules.own, frame))
		return true;
	if (matches_any(o->rules.library, frame))
		return false;
	if (gt_frame_is_border(frame))
		return false;
	if (frame->module && !strcmp(frame->module, GT_PYTHON))
		return is_own_python(o, frame);
	if (gt_frame_is_phase(frame))
		return true;
	if (frame->module && !strcmp(frame->module, GT_JIT_MODULE))
		return is_own_jit(o, frame);
	return !is_library_function(frame) && is_own_by_known_paths(o, frame);
}

/* Folders that builds move sources to: what is below, and below so many folders more, is theirs. */
static const struct {
	const char *folder;
	unsigned more;
} moved[] = {
	{ "/usr/src/debug/", 1 },    { "/usr/src/", 1 },       { "/build/", 1 }, { "/builds/", 2 },
	{ "/home/runner/work/", 2 }, { "/proc/self/cwd/", 0 }, { "./", 0 },
};

static const char *below_moved(const char *path)
{
	for (size_t i = 0; i < sizeof moved / sizeof *moved; i++) {
		const char *rest = path + strlen(moved[i].folder);

		if (!gt_text_begins(path, moved[i].folder))
			continue;
		for (unsigned k = 0; k < moved[i].more && rest; k++)
			rest = strchr(rest, '/') ? strchr(rest, '/') + 1 : NULL;
		if (rest && *rest)
			return rest;
	}
	return path;
}

bool gt_own_has_roots(const struct gt_own *o)
{
	return o->rules.roots && *o->rules.roots;
}

const char *gt_own_file(struct gt_own *o, const struct gt_frame *frame)
{
	const char *path = frame->file, *shortest = path;

	for (size_t i = 0; path && i < o->roots.count; i++) {
		const char *rest = below(path, o->roots.list[i]);

		/* "/" as a root shortens nothing */
		if (rest && rest > path + 1 && rest > shortest)
			shortest = rest;
	}
	return path && shortest == path && gt_own_is(o, frame) ? below_moved(path) : shortest;
}
