/* SPDX-License-Identifier: MIT */
/* symbolizer.c - function, file and line of addresses in this process, from the gputrack tool. */
#include "tracker/symbolizer.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/guest_file.h"
#include "guest/loaded_modules.h"

struct address {
	size_t first, count; /* symbols */
};

struct gt_symbol_set {
	struct address *addresses;
	struct gt_symbol *symbols;
	size_t symbol_count, symbol_room;
};

/* What the dynamic linker knows: module and offset, and often a name. */
static struct gt_symbol plain_symbol(uint64_t address)
{
	struct gt_symbol s = { .offset = address };
	struct link_map *map = NULL;
	char path[PATH_MAX];
	Dl_info info;

	if (!dladdr1((void *)(uintptr_t)(address - 1), &info, (void **)&map, RTLD_DL_LINKMAP))
		return s;
	s.offset = address - (map ? map->l_addr : (uintptr_t)info.dli_fbase);
	/* the program's name may be relative to a directory that is no longer the current one */
	if (map && !map->l_name[0]) {
		gt_modules_program(path);
		s.module = strdup(path);
	} else {
		s.module = info.dli_fname ? realpath(info.dli_fname, NULL) : NULL;
	}
	s.function = info.dli_sname ? strdup(info.dli_sname) : NULL;
	return s;
}

/* The program of this library: where GPUTRACK_TOOL says, beside the library, or in its prefix. */
static bool find_tool(char path[PATH_MAX])
{
	static const char *const places[] = { "gputrack", "../gputrack", "../../bin/gputrack",
					      "../../../bin/gputrack" };
	const char *configured = secure_getenv("GPUTRACK_TOOL");
	char *folder, *slash;
	Dl_info info;

	if (configured && snprintf(path, PATH_MAX, "%s", configured) < PATH_MAX &&
	    !access(path, X_OK))
		return true;
	if (!dladdr((void *)(uintptr_t)gt_symbols_resolve, &info))
		return false;
	folder = realpath(info.dli_fname, NULL);
	slash = folder ? strrchr(folder, '/') : NULL;
	if (slash)
		*slash = '\0';
	for (size_t i = 0; slash && i < sizeof places / sizeof *places; i++)
		if (snprintf(path, PATH_MAX, "%s/%s", folder, places[i]) < PATH_MAX &&
		    !access(path, X_OK)) {
			free(folder);
			return true;
		}
	free(folder);
	return false;
}

/* Moves a descriptor above the standard streams, which the program may have closed. */
static int move_above_stderr(int fd)
{
	int high;

	if (fd < 0 || fd > STDERR_FILENO)
		return fd;
	high = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	close(fd);
	return high;
}

static void close_pipe(const int ends[2])
{
	for (int i = 0; i < 2; i++)
		if (ends[i] >= 0)
			close(ends[i]);
}

static bool open_pipe(int ends[2])
{
	if (pipe2(ends, O_CLOEXEC))
		return false;
	for (int i = 0; i < 2; i++)
		ends[i] = move_above_stderr(ends[i]);
	if (ends[0] >= 0 && ends[1] >= 0)
		return true;
	close_pipe(ends);
	return false;
}

/* Runs `gputrack symbolize` between two pipes. No SIGCHLD: the program may wait for its own. */
static pid_t start_tool(FILE **to, FILE **from)
{
	char path[PATH_MAX];
	char *const argv[] = { path, "symbolize", NULL };
	char libraries[PATH_MAX + 32];
	char *const environment[] = { "LC_ALL=C.UTF-8", libraries, NULL };
	const char *configured = secure_getenv("LD_LIBRARY_PATH");
	int in[2], out[2];
	pid_t child;

	if (!find_tool(path) || !open_pipe(in))
		return -1;
	if (!open_pipe(out)) {
		close_pipe(in);
		return -1;
	}
	snprintf(libraries, sizeof libraries, "LD_LIBRARY_PATH=%s", configured ? configured : "");
	child = (pid_t)syscall(SYS_clone, 0, NULL, NULL, NULL, NULL);
	if (!child) {
		int nowhere = move_above_stderr(open("/dev/null", O_WRONLY | O_CLOEXEC));

		dup2(in[0], STDIN_FILENO);
		dup2(out[1], STDOUT_FILENO);
		dup2(nowhere, STDERR_FILENO);
		execve(path, argv, environment);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	*to = fdopen(in[1], "w");
	*from = fdopen(out[0], "r");
	if (child > 0 && *to && *from)
		return child;
	if (*to)
		fclose(*to);
	else
		close(in[1]);
	if (*from)
		fclose(*from);
	else
		close(out[0]);
	if (child > 0)
		waitpid(child, NULL, __WALL);
	return -1;
}

static void free_symbol(struct gt_symbol *s)
{
	free(s->function);
	free(s->file);
	free(s->module);
}

static bool add_symbol(struct gt_symbol_set *set, struct gt_symbol symbol)
{
	if (set->symbol_count == set->symbol_room) {
		size_t room = set->symbol_room ? set->symbol_room * 2 : 64;
		struct gt_symbol *more = realloc(set->symbols, room * sizeof *more);

		if (!more)
			return false;
		set->symbols = more;
		set->symbol_room = room;
	}
	set->symbols[set->symbol_count++] = symbol;
	return true;
}

static char *copy_field(const char *text)
{
	return *text ? strdup(text) : NULL;
}

/* One answer: lines "function TAB file TAB line TAB inlined", ended by an empty line. */
static bool read_answer(struct gt_symbol_set *set, FILE *from, const struct gt_symbol *plain)
{
	size_t before = set->symbol_count;
	char *line = NULL;
	size_t room = 0;
	bool ended = false;

	while (!ended && getline(&line, &room, from) > 0) {
		char *at = line, *function, *file, *number;
		struct gt_symbol s = { .offset = plain->offset };

		line[strcspn(line, "\n")] = '\0';
		ended = !*line;
		function = strsep(&at, "\t");
		file = strsep(&at, "\t");
		number = strsep(&at, "\t");
		if (ended || !number)
			continue;
		s.function = copy_field(function);
		s.file = copy_field(file);
		s.line = (unsigned)strtoul(number, NULL, 10);
		s.inlined = at && *at == '1';
		s.module = plain->module ? strdup(plain->module) : NULL;
		if (!add_symbol(set, s)) {
			free_symbol(&s);
			break;
		}
	}
	free(line);
	/* the module's file may be gone while the process still knows the name */
	if (set->symbol_count == before + 1 && !set->symbols[before].function && plain->function)
		set->symbols[before].function = strdup(plain->function);
	return set->symbol_count > before;
}

/* False when the tool is gone, whose SIGPIPE must not end the program. */
static bool send_query(FILE *to, const struct gt_symbol *plain)
{
	struct gt_held_signals held;
	bool asked;

	gt_signals_hold(&held);
	asked = fprintf(to, "%llx\t%s\n", (unsigned long long)plain->offset - 1, plain->module) >
			0 &&
		!fflush(to);
	gt_signals_release(&held);
	return asked;
}

static void stop_tool(pid_t tool, FILE *to, FILE *from)
{
	struct gt_held_signals held;

	gt_signals_hold(&held);
	fclose(to);
	fclose(from);
	gt_signals_release(&held);
	/* all answers are read; a child of the program may have inherited the pipe */
	kill(tool, SIGKILL);
	while (waitpid(tool, NULL, __WALL) < 0 && errno == EINTR)
		;
}

struct gt_symbol_set *gt_symbols_resolve(const uint64_t *addresses, size_t count)
{
	struct gt_symbol_set *set = calloc(1, sizeof *set);
	FILE *to = NULL, *from = NULL;
	bool asking;
	pid_t tool;

	if (!set || !(set->addresses = calloc(count ? count : 1, sizeof *set->addresses))) {
		free(set);
		return NULL;
	}
	tool = start_tool(&to, &from);
	asking = tool > 0;
	for (size_t i = 0; i < count; i++) {
		struct gt_symbol plain = plain_symbol(addresses[i]);
		bool answered;

		set->addresses[i].first = set->symbol_count;
		/* query and answer take turns, so that neither pipe can fill up */
		asking = asking && (!plain.module || send_query(to, &plain));
		answered = asking && plain.module && read_answer(set, from, &plain);
		asking = asking && (answered || !plain.module);
		if (answered || !add_symbol(set, plain))
			free_symbol(&plain);
		set->addresses[i].count = set->symbol_count - set->addresses[i].first;
	}
	if (tool > 0)
		stop_tool(tool, to, from);
	return set;
}

size_t gt_symbols_get(const struct gt_symbol_set *set, size_t index,
		      const struct gt_symbol **symbols)
{
	*symbols = set->symbols + set->addresses[index].first;
	return set->addresses[index].count;
}

void gt_symbols_free(struct gt_symbol_set *set)
{
	if (!set)
		return;
	for (size_t i = 0; i < set->symbol_count; i++)
		free_symbol(&set->symbols[i]);
	free(set->symbols);
	free(set->addresses);
	free(set);
}
