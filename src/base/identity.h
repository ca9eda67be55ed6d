/* SPDX-License-Identifier: MIT */
/* identity.h - whose a process is: its user, container and pod, seen from outside. */
#pragma once

#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>

#define GT_UID_UNKNOWN UINT32_MAX

/* Texts are "" where nothing is known, or there is none. */
struct gt_identity {
	uint32_t uid;
	char user[40];      /* its name; its number if it has none */
	char runtime[16];   /* "docker", "containerd", "cri-o", "podman", …; may be unknown */
	char container[72]; /* its whole id, or name */
	char pod[64];       /* the id of its pod */
	char host[72]; /* the name of its host, if that is not this machine's: its pod's name */
};

/* Finds the container and the pod in the lines of /proc/PID/cgroup. */
void gt_identity_find_container(struct gt_identity *i, const char *cgroups);
/* Sets the user and its name. */
void gt_identity_set_user(struct gt_identity *i, uint32_t uid);
/* Reads all but the host's name from /proc, as far as the process is there. */
void gt_identity_read(struct gt_identity *i, uint32_t pid);

/* "pod trainer-0", "container 0123456789ab (host)", or "" for neither; in `text`. */
const char *gt_identity_container_text(const struct gt_identity *i, char *text, size_t size);

/*
 * Stands for the user and the container of a process: equal for equal ones, never 0; one number for
 * all processes that /proc says nothing of.
 */
uint64_t gt_identity_owner(uint32_t pid);

/* The number of a user; GT_UID_UNKNOWN if there is none of that name. */
uint32_t gt_user_number(const char *name);

/* The start of a file of /proc/PID, ended by NUL; its size, 0 if it cannot be read. */
size_t gt_proc_text(uint32_t pid, const char *name, char *text, size_t size);
