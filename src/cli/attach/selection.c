/* SPDX-License-Identifier: MIT */
/* selection.c - processes by name, program, cgroup, container and user. */
#include "cli/attach/selection.h"

#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/format.h"
#include "base/identity.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/cli.h"

enum { ANCESTORS_MAX = 64, ID_LEAST = 4 };

static bool find_user(const char *name, uid_t *uid)
{
	uint64_t number;

	*uid = gt_count_parse(name, &number) && number < UINT32_MAX ? (uid_t)number :
								      (uid_t)gt_user_number(name);
	return *uid != (uid_t)-1;
}

int gt_selection_parse(struct gt_selection *s, const struct gt_syntax *syntax)
{
	s->uids = gt_alloc((s->users.count + 1) * sizeof *s->uids);
	for (size_t i = 0; i < s->users.count; i++)
		if (!find_user(s->users.items[i], &s->uids[i]))
			return gt_syntax_wrong(syntax,
					       "there is no user '%s' in /etc/passwd: give "
					       "the number",
					       s->users.items[i]);
	for (size_t i = 0; i < s->containers.count; i++)
		if (strlen(s->containers.items[i]) < ID_LEAST)
			return gt_syntax_wrong(syntax,
					       "--container takes at least %d characters of the "
					       "id, not '%s'",
					       ID_LEAST, s->containers.items[i]);
	return 0;
}

void gt_selection_fini(struct gt_selection *s)
{
	gt_texts_fini(&s->comms);
	gt_texts_fini(&s->exes);
	gt_texts_fini(&s->cgroups);
	gt_texts_fini(&s->containers);
	gt_texts_fini(&s->users);
	free(s->uids);
}

bool gt_selection_is_given(const struct gt_selection *s)
{
	return s->comms.count || s->exes.count || s->cgroups.count || s->containers.count ||
	       s->users.count;
}

/* What /proc says of a process. */
struct process {
	uint32_t parent;
	uid_t uid;
	char comm[64], exe[PATH_MAX], cgroups[4096];
};

static void look(struct process *p, uint32_t pid)
{
	char status[4096], link[64];
	const char *at;
	ssize_t n;

	*p = (struct process){ .uid = (uid_t)-1 };
	gt_proc_text(pid, "comm", p->comm, sizeof p->comm);
	p->comm[strcspn(p->comm, "\n")] = '\0';
	gt_proc_text(pid, "cgroup", p->cgroups, sizeof p->cgroups);
	gt_proc_text(pid, "status", status, sizeof status);
	at = strstr(status, "\nPPid:");
	p->parent = at ? (uint32_t)strtoul(at + 6, NULL, 10) : 0;
	at = strstr(status, "\nUid:");
	if (at)
		p->uid = (uid_t)strtoul(at + 5, NULL, 10);
	snprintf(link, sizeof link, "/proc/%u/exe", pid);
	n = readlink(link, p->exe, sizeof p->exe - 1);
	p->exe[n > 0 ? n : 0] = '\0';
	if (n > 10 && !strcmp(p->exe + n - 10, " (deleted)"))
		p->exe[n - 10] = '\0';
}

static bool matches_exe(const char *pattern, const char *exe)
{
	return *exe && !fnmatch(pattern, strchr(pattern, '/') ? exe : gt_path_name(exe), 0);
}

static bool matches_any(const struct gt_texts *patterns, const char *text,
			bool (*matches)(const char *pattern, const char *text))
{
	for (size_t i = 0; i < patterns->count; i++)
		if (matches(patterns->items[i], text))
			return true;
	return !patterns->count;
}

static bool matches_name(const char *pattern, const char *comm)
{
	return *comm && !fnmatch(pattern, comm, 0);
}

/* `path`: up to the end of its line. */
static bool is_in_cgroup(const char *wanted, const char *path)
{
	size_t size;

	if (gt_text_begins(wanted, "/sys/fs/cgroup/"))
		wanted += strlen("/sys/fs/cgroup");
	wanted += strspn(wanted, "/");
	path += strspn(path, "/");
	size = strlen(wanted);
	while (size && wanted[size - 1] == '/')
		size--;
	return !strncmp(path, wanted, size) && strchr("/\n", path[size]);
}

/* An id is a component of the path or its end: docker/ID, docker-ID.scope, pod-ID.slice. */
static bool is_in_container(const char *id, const char *path)
{
	const char *end = path + strcspn(path, "\n");

	for (const char *at = path; (at = strstr(at, id)) && at < end; at++)
		if (at > path && strchr("/-:_", at[-1]))
			return true;
	return false;
}

static bool matches_lines(const char *lines, const char *wanted,
			  bool (*matches)(const char *wanted, const char *path))
{
	/* "0::/system.slice/my.service"; several lines before version 2 */
	for (const char *line = lines; *line; line += *line == '\n') {
		const char *path = strchr(line, ':');

		path = path ? strchr(path + 1, ':') : NULL;
		if (path && matches(wanted, path + 1))
			return true;
		line += strcspn(line, "\n");
	}
	return false;
}

static bool matches_cgroup(const char *wanted, const char *lines)
{
	return matches_lines(lines, wanted, is_in_cgroup);
}

static bool matches_container(const char *id, const char *lines)
{
	return matches_lines(lines, id, is_in_container);
}

static bool matches_user(const struct gt_selection *s, uid_t uid)
{
	for (size_t i = 0; i < s->users.count; i++)
		if (s->uids[i] == uid && uid != (uid_t)-1)
			return true;
	return !s->users.count;
}

static bool is_match(const struct gt_selection *s, const struct process *p)
{
	return matches_any(&s->comms, p->comm, matches_name) &&
	       matches_any(&s->exes, p->exe, matches_exe) &&
	       matches_any(&s->cgroups, p->cgroups, matches_cgroup) &&
	       matches_any(&s->containers, p->cgroups, matches_container) &&
	       matches_user(s, p->uid);
}

bool gt_selection_matches(const struct gt_selection *s, const struct gt_process_facts *facts)
{
	struct process *p = gt_alloc(sizeof *p);
	bool found;

	look(p, facts->pid);
	/* it may have ended, even while we looked */
	if (!*p->comm && facts->comm)
		snprintf(p->comm, sizeof p->comm, "%.16s", facts->comm);
	if (p->uid == (uid_t)-1 && facts->comm)
		p->uid = facts->uid;
	if (!p->parent)
		p->parent = facts->parent;
	if (!*p->exe && facts->exe)
		snprintf(p->exe, sizeof p->exe, "%s", facts->exe);
	/* what an exec calls it */
	if (!*p->comm)
		snprintf(p->comm, sizeof p->comm, "%.15s", gt_path_name(p->exe));
	found = is_match(s, p);
	for (int i = 0; !found && !s->no_children && p->parent && i < ANCESTORS_MAX; i++) {
		look(p, p->parent);
		found = is_match(s, p);
	}
	free(p);
	return found;
}

static void append(char *text, size_t size, const char *words, const struct gt_texts *values)
{
	for (size_t i = 0; i < values->count; i++) {
		size_t used = strlen(text);

		snprintf(text + used, size - used, "%s%s", i ? " or " : words, values->items[i]);
	}
}

void gt_selection_name(const struct gt_selection *s, char *text, size_t size)
{
	snprintf(text, size, "processes");
	append(text, size, " called ", &s->comms);
	append(text, size, " that run ", &s->exes);
	append(text, size, " in cgroup ", &s->cgroups);
	append(text, size, " in container ", &s->containers);
	append(text, size, " of user ", &s->users);
}
