/* SPDX-License-Identifier: MIT */
/* obstacle.c - why BPF programs cannot be used here; drops privileges once they are loaded. */
#include "capture/ebpf/obstacle.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/text.h"

enum { KERNEL_MAJOR = 5, KERNEL_MINOR = 15 }; /* the first with cookies of probes */

#define BIT(capability) (UINT64_C(1) << (capability))

static bool file_has(const char *path, const char *text)
{
	char line[256];
	FILE *file = fopen(path, "re");
	bool found = false;

	while (file && !found && fgets(line, sizeof line, file))
		found = strstr(line, text);
	if (file)
		fclose(file);
	return found;
}

static uint64_t status_number(const char *key, int base)
{
	char line[256];
	FILE *file = fopen("/proc/self/status", "re");
	uint64_t value = 0;

	while (file && fgets(line, sizeof line, file))
		if (gt_text_begins(line, key))
			value = strtoull(line + strlen(key), NULL, base);
	if (file)
		fclose(file);
	return value;
}

void gt_surroundings_look(struct gt_surroundings *s)
{
	struct utsname system;

	*s = (struct gt_surroundings){ 0 };
	if (!uname(&system))
		sscanf(system.release, "%u.%u", &s->kernel_major, &s->kernel_minor);
	s->has_types = !access("/sys/kernel/btf/vmlinux", R_OK);
	s->locked_down = file_has("/sys/kernel/security/lockdown", "[confidentiality]");
	s->seccomp = status_number("Seccomp:", 10) == 2;
	s->capabilities = status_number("CapEff:", 16);
}

static bool has(const struct gt_surroundings *s, unsigned capability)
{
	return s->capabilities & (BIT(CAP_SYS_ADMIN) | BIT(capability));
}

bool gt_may_look_at_others(const struct gt_surroundings *s)
{
	return s->capabilities & BIT(CAP_SYS_PTRACE);
}

static void set_need(struct gt_need *n, bool is_met, int code, const char *text, const char *remedy)
{
	n->is_met = is_met;
	n->code = is_met ? 0 : code;
	n->remedy = remedy;
	snprintf(n->text, sizeof n->text, "%s", text);
}

static void look_at_kernel(const struct gt_surroundings *s, struct gt_need *n)
{
	bool is_met = s->kernel_major > KERNEL_MAJOR ||
		      (s->kernel_major == KERNEL_MAJOR && s->kernel_minor >= KERNEL_MINOR);
	char text[100];

	snprintf(text, sizeof text,
		 is_met ? "Linux %3$u.%4$u; %1$d.%2$d or later is needed" :
			  "attaching needs Linux %1$d.%2$d or later, this is %3$u.%4$u",
		 KERNEL_MAJOR, KERNEL_MINOR, s->kernel_major, s->kernel_minor);
	set_need(n, is_met, -ENOSYS, text,
		 "update the kernel, or start the program with `gputrack run`");
}

static void look_at_privileges(const struct gt_surroundings *s, struct gt_need *n)
{
	bool is_met = has(s, CAP_BPF) && has(s, CAP_PERFMON);

	set_need(n, is_met, -EPERM,
		 !is_met ? "attaching needs privileges (CAP_BPF, CAP_PERFMON, CAP_SYS_PTRACE)" :
		 s->capabilities & BIT(CAP_SYS_ADMIN) ?
			   "CAP_SYS_ADMIN: programs may be loaded" :
			   "CAP_BPF and CAP_PERFMON: programs may be loaded",
		 "run it as root, with sudo; `gputrack run` needs none");
}

static void look_at_lockdown(const struct gt_surroundings *s, struct gt_need *n)
{
	set_need(n, !s->locked_down, -EPERM,
		 s->locked_down ?
			 "the kernel is locked down (confidentiality), so nobody may read a "
			 "program's memory" :
			 "none that keeps programs from reading memory",
		 "boot without lockdown=confidentiality, or start the program with `gputrack run`");
}

static void look_at_types(const struct gt_surroundings *s, struct gt_need *n)
{
	set_need(n, s->has_types, -ENOENT,
		 s->has_types ?
			 "/sys/kernel/btf/vmlinux (BTF)" :
			 "this kernel does not describe its types (no /sys/kernel/btf/vmlinux)",
		 "use one built with CONFIG_DEBUG_INFO_BTF, or start the program with `gputrack "
		 "run`");
}

static const struct {
	const char *name;
	void (*look)(const struct gt_surroundings *s, struct gt_need *n);
} needs[GT_NEED_COUNT] = {
	{ "kernel", look_at_kernel },
	{ "privileges", look_at_privileges },
	{ "lockdown", look_at_lockdown },
	{ "kernel types", look_at_types },
};

void gt_needs_look(const struct gt_surroundings *s, struct gt_need out[GT_NEED_COUNT])
{
	for (size_t i = 0; i < GT_NEED_COUNT; i++) {
		out[i] = (struct gt_need){ .name = needs[i].name };
		needs[i].look(s, &out[i]);
	}
}

int gt_obstacle_before(const struct gt_surroundings *s, struct gt_error *error)
{
	struct gt_need found[GT_NEED_COUNT];

	gt_needs_look(s, found);
	for (size_t i = 0; i < GT_NEED_COUNT; i++)
		if (!found[i].is_met)
			return gt_error_set(error, found[i].code, "%s: %s", found[i].text,
					    found[i].remedy);
	return 0;
}

/* ENOTSUPP, which is the kernel's own but reaches user space. */
enum { NOT_SUPPORTED = 524 };

int gt_obstacle_after(const struct gt_surroundings *s, int code, const char *what,
		      const char *detail, struct gt_error *error)
{
	if (code == -EPERM && s->seccomp)
		return gt_error_set(error, code,
				    "cannot %s: a seccomp filter forbids it, as in most "
				    "containers: run gputrack on the host, or the container with "
				    "--privileged",
				    what);
	if (code == -EPERM)
		return gt_error_set(error, code,
				    "cannot %s: %s; run gputrack on the host as root, or its "
				    "container with --privileged%s%s",
				    what, strerror(-code), *detail ? ": " : "", detail);
	if (code == -ENOMEM)
		return gt_error_set(error, code,
				    "cannot %s: out of memory: try a smaller --ring-size", what);
	return gt_error_set(
		error, code, "cannot %s: %s%s%s; `gputrack run` needs no kernel's help", what,
		code == -NOT_SUPPORTED ? "there is code that cannot be probed" : strerror(-code),
		*detail ? ": " : "", detail);
}

int gt_privileges_drop(uint64_t also)
{
	static const int needed[] = { CAP_BPF, CAP_PERFMON, CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH,
				      CAP_CHECKPOINT_RESTORE };
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct now[2] = { 0 }, then[2] = { 0 };

	if (syscall(SYS_capget, &head, now))
		return -errno;
	for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
		also |= UINT64_C(1) << needed[i];
	then[0].permitted = (uint32_t)also;
	then[1].permitted = (uint32_t)(also >> 32);
	for (int i = 0; i < 2; i++) {
		then[i].permitted &= now[i].permitted;
		then[i].effective = then[i].permitted;
	}
	/* programs that we run get no more either; failing to shrink the set is harmless */
	for (int i = 0; i <= CAP_LAST_CAP; i++)
		if (!(then[i / 32].permitted >> i % 32 & 1))
			prctl(PR_CAPBSET_DROP, i, 0, 0, 0);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -errno;
	return syscall(SYS_capset, &head, then) ? -errno : 0;
}
