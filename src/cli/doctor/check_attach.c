/* SPDX-License-Identifier: MIT */
/* check_attach.c - the doctor's check for attach: kernel, rights, probes, libraries. */
#include <fcntl.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/format.h"
#include "capture/ebpf/libraries.h"
#include "capture/ebpf/mapwatch.h"
#include "capture/ebpf/obstacle.h"
#include "cli/doctor/doctor.h"

enum { TRIAL_RING = 64 << 10, FOUND_MAX = 1 << 12 };

/* A kernel setting that, from `closed_from` on, denies something without a capability. */
struct guard {
	const char *name, *path, *setting, *prevents;
	long closed_from;
	unsigned capability;
};

static const struct guard guards[] = {
	{ "perf events", "/proc/sys/kernel/perf_event_paranoid", "kernel.perf_event_paranoid",
	  "noticing libraries as they are loaded", 1, CAP_PERFMON },
	{ "BPF", "/proc/sys/kernel/unprivileged_bpf_disabled", "kernel.unprivileged_bpf_disabled",
	  "probing running programs", 1, CAP_BPF },
	{ "ptrace scope", "/proc/sys/kernel/yama/ptrace_scope", "kernel.yama.ptrace_scope",
	  "inspecting programs other than our children", 1, CAP_SYS_PTRACE },
};

/* A number from a file of the kernel; false if there is none. */
static bool read_number(const char *path, long *out)
{
	char text[32] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);

	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return false;
	*out = strtol(text, NULL, 10);
	return true;
}

static void check_guard(struct gt_doctor *d, const struct gt_surroundings *s, const struct guard *g)
{
	bool is_exempt = s->capabilities >> g->capability & 1;
	long value;

	if (!read_number(g->path, &value)) {
		gt_doctor_say(d, GT_FINDING_NOTE, g->name, "this kernel has no %s", g->setting);
	} else if (value < g->closed_from || is_exempt) {
		gt_doctor_say(d, GT_FINDING_GOOD, g->name, "open to %s (%s is %ld)",
			      value < g->closed_from ? "all users" : "your privileges", g->setting,
			      value);
	} else {
		gt_doctor_say(d, GT_FINDING_NOTE, g->name, "%s is %ld, which prevents %s",
			      g->setting, value, g->prevents);
		gt_doctor_remedy(d, "not needed for gputrack run; otherwise run as root");
	}
}

static bool check_needs(struct gt_doctor *d, const struct gt_surroundings *s)
{
	struct gt_need needs[GT_NEED_COUNT];
	bool works = true;

	gt_needs_look(s, needs);
	for (size_t i = 0; i < GT_NEED_COUNT; i++) {
		const struct gt_need *n = &needs[i];

		gt_doctor_say(d, n->is_met ? GT_FINDING_GOOD : GT_FINDING_BAD, n->name, "%s",
			      n->text);
		if (!n->is_met)
			gt_doctor_remedy(d, "%s", n->remedy);
		works &= n->is_met;
	}
	return works;
}

/* In the child: loads the BPF programs as attach would, in every available way. */
static void explore(FILE *out, const void *unused)
{
	struct gt_mapwatch watch;

	(void)unused;
	for (int way = GT_PROBES_SESSION; way <= GT_PROBES_PERF; way++) {
		struct gt_probes_options how = { .frames = 1,
						 .stack_bytes = GT_PROBES_STACK,
						 .ring_bytes = TRIAL_RING,
						 .way = (enum gt_probe_way)way };
		struct gt_error error;
		struct gt_probes *probes;

		if (gt_probes_new(&probes, &how, &error)) {
			gt_child_tell(out, "refusal", error.text);
			continue;
		}
		gt_child_tell(out, "way", gt_probe_way_names[way]);
		if (gt_probes_unwinding(probes) == GT_UNWIND_AUTO)
			gt_child_tell(out, "tables", "");
		gt_probes_free(probes);
		fflush(out);
	}
	if (!gt_mapwatch_open(&watch)) {
		gt_child_tell(out, "watch", "");
		gt_mapwatch_close(&watch);
	}
}

/* Whether the kernel accepts our BPF programs. */
static bool check_probes(struct gt_doctor *d)
{
	static char text[FOUND_MAX];
	char way[32], refusal[sizeof(struct gt_error)] = "", list[100] = "", best[32] = "";
	int status = gt_child_explore(explore, NULL, text, sizeof text);
	const char *at;

	if (status) {
		gt_child_say_end(d, "probes", status);
		gt_doctor_remedy(d, "start programs with `gputrack run` instead");
		return false;
	}
	for (at = text; gt_child_next(&at, "way", way, sizeof way);) {
		size_t used = strlen(list);

		snprintf(list + used, sizeof list - used, "%s%s", used ? ", " : "", way);
		if (!used)
			memcpy(best, way, sizeof best);
	}
	gt_child_first(text, "refusal", refusal, sizeof refusal);
	if (!*best) {
		gt_doctor_say(d, GT_FINDING_BAD, "probes", "%s", refusal);
		gt_doctor_remedy(
			d, "see the kernel's messages: GPUTRACK_BPF_LOG=1 gputrack attach -c true");
		return false;
	}
	gt_doctor_say(d, GT_FINDING_GOOD, "probes", "the kernel supports %s; %s is used (--probes)",
		      list, best);
	if (gt_child_first(text, "tables", way, sizeof way)) {
		gt_doctor_say(d, GT_FINDING_GOOD, "stacks",
			      "unwound in the kernel, by the unwind tables of programs and "
			      "libraries");
	} else {
		gt_doctor_say(d, GT_FINDING_NOTE, "stacks",
			      "only by frame pointers: the kernel cannot unwind by tables (Linux "
			      "5.17)");
		gt_doctor_remedy(d, "attach --unwind dwarf, for programs without frame pointers");
	}
	if (gt_child_first(text, "watch", way, sizeof way))
		gt_doctor_say(d, GT_FINDING_GOOD, "new libraries", "noticed as they are loaded");
	else
		gt_doctor_say(d, GT_FINDING_NOTE, "new libraries",
			      "searched for once a second: perf events are not available");
	return true;
}

static void check_others(struct gt_doctor *d, const struct gt_surroundings *s)
{
	if (gt_may_look_at_others(s)) {
		gt_doctor_say(d, GT_FINDING_GOOD, "processes",
			      "those of all users can be inspected");
	} else {
		gt_doctor_say(d, GT_FINDING_BAD, "processes",
			      "those of other users cannot be inspected (CAP_SYS_PTRACE)");
		gt_doctor_remedy(d, "run attach as root, outside of containers");
	}
}

/* Which libraries of an API would be probed if no process were running. */
static void check_library(struct gt_doctor *d, const struct gt_libraries *l, enum gt_api api)
{
	const struct gt_library *first = NULL;
	size_t others = 0;
	char more[40] = "";

	for (size_t i = 0; i < l->count; i++)
		if (l->list[i].api == api && l->list[i].functions) {
			others += first != NULL;
			first = first ? first : &l->list[i];
		}
	if (!first) {
		gt_doctor_say(d, GT_FINDING_NOTE, gt_api_names[api],
			      "no %s.1 in the usual folders or in LD_LIBRARY_PATH",
			      gt_api_libraries[api]);
		gt_doctor_remedy(d,
				 "a process that has loaded its own copy is probed nevertheless");
		return;
	}
	if (others)
		snprintf(more, sizeof more, ", and %zu more", others);
	gt_doctor_say(d, GT_FINDING_GOOD, gt_api_names[api], "%s, %zu functions to probe%s",
		      first->path, first->functions, more);
}

/* Libraries that running processes have loaded, but that attach could not open. */
static void check_unopened(struct gt_doctor *d)
{
	struct gt_libraries mapped = { 0 };
	size_t count = 0;
	char more[40] = "";

	gt_libraries_everywhere(&mapped, NULL, NULL);
	for (size_t i = 0; i < mapped.count; i++)
		count += mapped.list[i].is_unopened;
	if (count > 1)
		snprintf(more, sizeof more, " (and %zu more)", count - 1);
	if (count) {
		gt_doctor_say(d, GT_FINDING_BAD, "loaded libraries", "%s%s", mapped.refusal.text,
			      more);
		gt_doctor_remedy(d, "until then attach does not see the calls of these processes");
	}
	gt_libraries_fini(&mapped);
}

bool gt_doctor_attach(struct gt_doctor *d)
{
	struct gt_surroundings s;
	struct gt_libraries libraries = { 0 };
	bool works;

	gt_surroundings_look(&s);
	works = check_needs(d, &s);
	if (works)
		works = check_probes(d);
	else
		gt_doctor_say(d, GT_FINDING_NOTE, "probes",
			      "not tested: something above is missing");
	check_others(d, &s);
	check_unopened(d);
	for (size_t i = 0; i < sizeof guards / sizeof *guards; i++)
		check_guard(d, &s, &guards[i]);
	gt_libraries_installed(&libraries, getenv("LD_LIBRARY_PATH"));
	/* PyTorch's lies in Python's folders: it is found where a process has it */
	for (int api = 0; api < GT_PYTORCH; api++)
		check_library(d, &libraries, (enum gt_api)api);
	gt_libraries_fini(&libraries);
	return works;
}
