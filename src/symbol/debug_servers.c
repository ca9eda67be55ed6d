/* SPDX-License-Identifier: MIT */
/* debug_servers.c - asks debuginfod servers for files, and remembers which of them they lack. */
#include "symbol/debug_servers.h"

#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/containers.h"
#include "base/files.h"
#include "base/mem.h"
#include "base/tool.h"

/* A version that writes something else into the file counts it up. */
#define FILE_NAME "unserved1"

enum {
	/* a server's passing trouble (502, 503) reaches us as a missing file, too */
	REMEMBERED_S = 24 * 3600,
	UNSERVED_MAX = 4096,
	FILE_MAX = 1 << 20,
	BUILD_ID_MAX = 64,
	KEY_SIZE = 2 * BUILD_ID_MAX + sizeof "debug ",
};

typedef struct debuginfod_client client;
typedef int find_function(client *c, const unsigned char *build_id, int size, char **path);

struct gt_debug_servers {
	void *library;
	client *client;
	void (*end)(client *c);
	find_function *find[GT_SERVED_DEBUG + 1];
	char *urls, *folder;        /* folder: NULL if nothing is remembered */
	struct gt_intern *unserved; /* "FILE BUILDID" */
	int64_t *times;             /* when each was asked for, in seconds */
	size_t count, room;
	bool has_new;
};

/* During the last request; libdebuginfod 0.179 has no place for a context. */
static _Thread_local bool was_asked;

static const char *const file_words[] = {
	[GT_SERVED_PROGRAM] = "code", [GT_SERVED_DEBUG] = "debug"
};

/* The servers on one line. */
static char *list_servers(void)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	char *list;

	if (!urls || !urls[strspn(urls, " \t\r\n")])
		return NULL;
	list = gt_strdup(urls);
	for (char *c = list; *c; c++)
		if (isspace((unsigned char)*c))
			*c = ' ';
	return list;
}

static void add(struct gt_debug_servers *s, const char *key, int64_t when)
{
	uint32_t number = gt_intern(s->unserved, key, strlen(key));

	if (number == s->count) {
		GT_GROW(s->times, s->count, s->room);
		s->count++;
	}
	s->times[number] = when;
}

/* A time to come was written by a clock that was wrong. */
static bool is_current(int64_t when, int64_t now)
{
	return when <= now && now - when < REMEMBERED_S;
}

static bool is_unserved(const struct gt_debug_servers *s, const char *key)
{
	return gt_intern_find(s->unserved, key, strlen(key)) < s->count;
}

static void list_path(const struct gt_debug_servers *s, char path[PATH_MAX])
{
	snprintf(path, PATH_MAX, "%s/" FILE_NAME, s->folder);
}

/* Other servers may have what those asked before do not: the list begins with their names. */
static void read_list(struct gt_debug_servers *s)
{
	size_t room = 0, size = strlen(s->urls);
	char path[PATH_MAX], *line = NULL;
	int64_t now = time(NULL);
	bool is_ours;
	FILE *in;

	list_path(s, path);
	in = gt_open_regular_file(path, FILE_MAX);
	is_ours = in && getline(&line, &room, in) > 0 && !strncmp(line, s->urls, size) &&
		  !strcmp(line + size, "\n");
	while (is_ours && getline(&line, &room, in) > 0) {
		char *space = strrchr(line, ' ');
		int64_t when = space ? strtoll(space, NULL, 10) : 0;

		if (!space || !is_current(when, now))
			continue;
		*space = '\0';
		add(s, line, when);
	}
	free(line);
	if (in)
		fclose(in);
}

static void write_list(FILE *out, const void *context)
{
	const struct gt_debug_servers *s = context;

	fprintf(out, "%s\n", s->urls);
	/* the latest are the last */
	for (size_t i = s->count > UNSERVED_MAX ? s->count - UNSERVED_MAX : 0; i < s->count; i++) {
		size_t size;
		const char *key = gt_intern_get(s->unserved, (uint32_t)i, &size);

		fprintf(out, "%.*s %" PRId64 "\n", (int)size, key, s->times[i]);
	}
}

/*
 * libdebuginfod calls this only while it waits for servers. Its own memory of what there is none
 * of does not say which servers it is about, and is not passed on to ours.
 */
static int note_request(client *c, long a, long b)
{
	(void)c, (void)a, (void)b;
	was_asked = true;
	return 0;
}

static bool take(struct gt_debug_servers *s, void *function, const char *name)
{
	void *found = dlsym(s->library, name);

	memcpy(function, &found, sizeof found);
	return found;
}

static bool start(struct gt_debug_servers *s)
{
	client *(*begin)(void);
	void (*set_progress)(client *, int (*)(client *, long, long));

	if (!take(s, &begin, "debuginfod_begin") || !take(s, &s->end, "debuginfod_end") ||
	    !take(s, &set_progress, "debuginfod_set_progressfn") ||
	    !take(s, &s->find[GT_SERVED_PROGRAM], "debuginfod_find_executable") ||
	    !take(s, &s->find[GT_SERVED_DEBUG], "debuginfod_find_debuginfo"))
		return false;
	s->client = begin();
	/* the user wants to see libdebuginfod's own line: it has room for one function */
	if (s->client && !getenv("DEBUGINFOD_PROGRESS"))
		set_progress(s->client, note_request);
	return s->client;
}

struct gt_debug_servers *gt_debug_servers_new(const char *folder)
{
	struct gt_debug_servers *s;
	const char *why;
	char *urls = list_servers();

	if (!urls)
		return NULL;
	s = gt_alloc(sizeof *s);
	*s = (struct gt_debug_servers){ .urls = urls, .unserved = gt_intern_new() };
	s->library = gt_tool_load("libdebuginfod.so.1", RTLD_LAZY | RTLD_LOCAL, &why);
	if (!s->library || !start(s)) {
		gt_debug_servers_free(s);
		return NULL;
	}
	if (folder) {
		s->folder = gt_strdup(folder);
		read_list(s);
	}
	return s;
}

void gt_debug_servers_free(struct gt_debug_servers *s)
{
	char path[PATH_MAX];

	if (!s)
		return;
	if (s->has_new && gt_make_own_folder(s->folder)) {
		list_path(s, path);
		gt_file_replace(path, write_list, s);
	}
	if (s->client)
		s->end(s->client);
	if (s->library)
		dlclose(s->library);
	gt_intern_free(s->unserved);
	free(s->times);
	free(s->folder);
	free(s->urls);
	free(s);
}

char *gt_debug_servers_find(struct gt_debug_servers *s, enum gt_served_file file,
			    const uint8_t *build_id, size_t size)
{
	char key[KEY_SIZE], *path = NULL;
	int used, fd;

	if (!size || size > BUILD_ID_MAX)
		return NULL;
	used = sprintf(key, "%s ", file_words[file]);
	for (size_t i = 0; i < size; i++)
		used += sprintf(key + used, "%02x", build_id[i]);
	if (is_unserved(s, key))
		return NULL;
	was_asked = false;
	fd = s->find[file](s->client, build_id, (int)size, &path);
	if (fd >= 0) {
		close(fd);
		return path;
	}
	/* any other error is a server's, or the network's */
	if (fd == -ENOENT && was_asked && s->folder) {
		add(s, key, time(NULL));
		s->has_new = true;
	}
	return NULL;
}
