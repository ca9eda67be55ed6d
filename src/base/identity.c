/* SPDX-License-Identifier: MIT */
/* identity.c - whose a process is: its user, container and pod, seen from outside. */
#include "base/identity.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/text.h"

enum {
	ID_LEAST = 32,  /* digits of a container's id */
	POD_DIGITS = 32 /* of a pod's, hyphens apart */
};

static const char digits[] = "0123456789abcdef";

/* Not getpwnam, which needs libraries at run time even in a static program. */
static struct passwd *next_user(FILE *file)
{
	return file ? fgetpwent(file) : NULL;
}

uint32_t gt_user_number(const char *name)
{
	FILE *file = fopen("/etc/passwd", "re");
	struct passwd *user;
	uint32_t uid = GT_UID_UNKNOWN;

	while ((user = next_user(file)) && strcmp(user->pw_name, name))
		;
	if (user)
		uid = user->pw_uid;
	if (file)
		fclose(file);
	return uid;
}

void gt_identity_set_user(struct gt_identity *i, uint32_t uid)
{
	FILE *file = fopen("/etc/passwd", "re");
	struct passwd *user;

	i->uid = uid;
	while ((user = next_user(file)) && user->pw_uid != uid)
		;
	if (user)
		snprintf(i->user, sizeof i->user, "%s", user->pw_name);
	else
		snprintf(i->user, sizeof i->user, "%u", uid);
	if (file)
		fclose(file);
}

/* What a component of the path begins with, and the runtime that calls its containers so. */
static const struct {
	const char *prefix, *runtime;
} runtimes[] = {
	{ "docker", "docker" },      { "cri-containerd", "containerd" },
	{ "crio", "cri-o" },         { "libpod", "podman" },
	{ "nerdctl", "containerd" }, { "containerd", "containerd" },
	{ "lxc.payload.", "lxc" },   { "machine-", "nspawn" },
};

static const char *runtime_of(const char *component)
{
	for (size_t i = 0; i < sizeof runtimes / sizeof *runtimes; i++)
		if (gt_text_begins(component, runtimes[i].prefix))
			return runtimes[i].runtime;
	return NULL;
}

static void set(char *to, size_t size, const char *text, size_t length)
{
	snprintf(to, size, "%.*s", (int)(length < size ? length : size - 1), text);
}

/* "pod6f1c…", "kubepods-burstable-pod6f1c_….slice": its digits, with hyphens or underscores. */
static void find_pod(struct gt_identity *i, const char *component)
{
	for (const char *at = component; (at = strstr(at, "pod")); at += 3) {
		const char *id = at + 3;
		size_t size = strspn(id, "0123456789abcdef-_"), count = 0;

		if (at > component && at[-1] != '-')
			continue;
		for (size_t k = 0; k < size; k++)
			count += strchr(digits, id[k]) != NULL;
		if (count != POD_DIGITS)
			continue;
		set(i->pod, sizeof i->pod, id, size);
		for (char *c = i->pod; *c; c++)
			*c = *c == '_' ? '-' : *c;
		return;
	}
}

/* The id at the end of "docker-4f5e….scope", or all of "4f5e…". */
static bool find_id(struct gt_identity *i, const char *component, const char *parent)
{
	const char *best = NULL, *runtime = runtime_of(component);
	size_t length = 0;

	for (const char *at = component; *at;) {
		size_t size = strspn(at, digits);

		if (size >= ID_LEAST && (at == component || strchr("-:", at[-1]))) {
			best = at;
			length = size;
		}
		at += size ? size : 1;
	}
	if (!best)
		return false;
	set(i->container, sizeof i->container, best, length);
	for (const char *at = component; !runtime && (at = strchr(at, ':')); at++)
		runtime = runtime_of(at + 1);
	if (!runtime)
		runtime = runtime_of(parent);
	snprintf(i->runtime, sizeof i->runtime, "%s", runtime ? runtime : "");
	return true;
}

/* Containers that have a name in place of an id; a virtual machine is none. */
static void find_name(struct gt_identity *i, const char *component, const char *parent)
{
	const char *name = NULL;

	if (gt_text_begins(component, "lxc.payload."))
		name = component + strlen("lxc.payload.");
	else if (!strcmp(parent, "lxc"))
		name = component;
	else if (gt_text_begins(component, "machine-") &&
		 !gt_text_begins(component, "machine-qemu") &&
		 !gt_text_begins(component, "machine-libpod"))
		name = component + strlen("machine-");
	if (!name || !*name)
		return;
	set(i->container, sizeof i->container, name, strcspn(name, "."));
	snprintf(i->runtime, sizeof i->runtime, "%s",
		 runtime_of(component) ? runtime_of(component) : "lxc");
}

static void find_in_path(struct gt_identity *i, char *path)
{
	const char *parent = "";
	char *component;

	while ((component = strsep(&path, "/"))) {
		find_pod(i, component);
		if (!find_id(i, component, parent))
			find_name(i, component, parent);
		parent = component;
	}
}

void gt_identity_find_container(struct gt_identity *i, const char *cgroups)
{
	char line[1024];

	/* "0::/system.slice/docker-4f5e….scope"; several lines before version 2 */
	while (*cgroups) {
		size_t size = strcspn(cgroups, "\n");
		char *path;

		set(line, sizeof line, cgroups, size);
		cgroups += size + (cgroups[size] == '\n');
		path = strchr(line, ':');
		path = path ? strchr(path + 1, ':') : NULL;
		if (path)
			find_in_path(i, path + 1);
	}
}

size_t gt_proc_text(uint32_t pid, const char *name, char *text, size_t size)
{
	char path[64];
	size_t n = 0;
	FILE *file;

	snprintf(path, sizeof path, "/proc/%u/%s", pid, name);
	file = fopen(path, "re");
	if (file) {
		n = fread(text, 1, size - 1, file);
		fclose(file);
	}
	text[n] = '\0';
	return n;
}

void gt_identity_read(struct gt_identity *i, uint32_t pid)
{
	char text[4096];
	const char *uid;

	*i = (struct gt_identity){ .uid = GT_UID_UNKNOWN };
	gt_proc_text(pid, "status", text, sizeof text);
	uid = strstr(text, "\nUid:");
	if (uid)
		gt_identity_set_user(i, (uint32_t)strtoul(uid + 5, NULL, 10));
	gt_proc_text(pid, "cgroup", text, sizeof text);
	gt_identity_find_container(i, text);
}

uint64_t gt_identity_owner(uint32_t pid)
{
	struct gt_identity who;

	gt_identity_read(&who, pid);
	return (gt_hash_bytes(who.container, strlen(who.container)) ^ who.uid) | UINT64_C(1) << 63;
}

const char *gt_identity_container_text(const struct gt_identity *i, char *text, size_t size)
{
	bool is_id = strspn(i->container, digits) == strlen(i->container);
	/* Docker calls the host by the container's id */
	bool has_name = *i->host && !gt_text_begins(i->container, i->host);

	if (*i->pod)
		snprintf(text, size, "pod %s", *i->host ? i->host : i->pod);
	else if (*i->container)
		snprintf(text, size, "container %.*s%s%s%s", is_id ? 12 : 71, i->container,
			 has_name ? " (" : "", has_name ? i->host : "", has_name ? ")" : "");
	else if (*i->host)
		snprintf(text, size, "host %s", i->host);
	else
		text[0] = '\0';
	return text;
}
