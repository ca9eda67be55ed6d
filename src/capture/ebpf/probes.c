/* SPDX-License-Identifier: MIT */
/* probes.c - the BPF programs in the kernel: loaded once, attached to any number of libraries. */
#include "capture/ebpf/probes.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/machine.h"
#include "base/mem.h"
#include "calls.skel.h"
#include "capture/ebpf/bpf_log.h"
#include "capture/ebpf/links.h"
#include "capture/ebpf/obstacle.h"
#include "capture/ebpf/unwind_tables.h"

enum {
	ATTACH_MULTI = 48,    /* BPF_TRACE_UPROBE_MULTI, which older headers lack … */
	ATTACH_SESSION = 57,  /* … and BPF_TRACE_UPROBE_SESSION */
	FLAG_RETURN = 1,      /* BPF_F_UPROBE_MULTI_RETURN */
	LOOP = 181,           /* BPF_FUNC_loop */
	NEWS_BYTES = 1 << 20, /* some seconds of hundreds of processes a second */
	FIRST_NAMESPACE = (int)0xeffffffc, /* PROC_PID_INIT_INO */
};

/* clang-format off */
const char *const gt_probe_way_names[] = {
	[GT_PROBES_BEST] = "auto", [GT_PROBES_SESSION] = "session", [GT_PROBES_MULTI] = "multi",
	[GT_PROBES_PERF] = "perf", NULL,
};
/* clang-format on */

const char *const gt_unwinding_names[] = {
	[GT_UNWIND_AUTO] = "auto",
	[GT_UNWIND_FP] = "fp",
	[GT_UNWIND_DWARF] = "dwarf",
	NULL,
};

struct gt_probes {
	struct calls_bpf *skeleton;
	struct gt_surroundings surroundings;
	enum gt_probe_way way;
	enum gt_unwinding unwinding;
	bool has_python;
	struct gt_plan *plans; /* GT_FN_COUNT */
	unsigned ring_count;
	struct gt_rings calls;
	struct gt_ring news;
	struct gt_links links;
};

/* The namespace of our pids; 0 for the initial one. */
static uint32_t own_namespace(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) || st.st_ino == (ino_t)(uint32_t)FIRST_NAMESPACE ?
		       0 :
		       (uint32_t)st.st_ino;
}

static void configure(struct gt_probes *p, const struct gt_probes_options *options)
{
	struct calls_bpf *s = p->skeleton;

	gt_bpf_log_shorten(s->obj);
	s->rodata->everyone = options->everyone;
	s->rodata->selects = options->selects;
	s->rodata->no_children = options->no_children;
	s->rodata->namespace = own_namespace();
	s->rodata->own_pid = (uint32_t)getpid();
	s->rodata->table = gt_functions_digest();
	/* later than what it needs */
	s->rodata->can_hold = p->way == GT_PROBES_SESSION;
	s->rodata->frames_max =
		options->frames < GT_PROBE_FRAMES ? options->frames : GT_PROBE_FRAMES;
	s->rodata->has_python = p->has_python && options->frames;
	s->rodata->stack_bytes =
		options->frames && p->unwinding != GT_UNWIND_FP ? options->stack_bytes : 0;
	s->rodata->unwinds_by_tables = options->frames && p->unwinding == GT_UNWIND_AUTO;
	if (!s->rodata->unwinds_by_tables) {
		bpf_map__set_max_entries(s->maps.shards, 1);
		bpf_map__set_max_entries(s->maps.rules, 1);
	}
#if defined(__aarch64__)
	s->rodata->code_bits = gt_code_address(UINT64_MAX >> 9);
#endif
	s->rodata->ring_mask = p->ring_count - 1;
	s->rodata->ring_bytes = options->ring_bytes / p->ring_count;
	/* later where others still have room: each wake-up costs us as well */
	s->rodata->ring_wake = s->rodata->ring_bytes / (p->ring_count > 1 ? 2 : 4);
	bpf_map__set_max_entries(s->maps.news, NEWS_BYTES);
	bpf_program__set_autoload(s->progs.call_session, p->way == GT_PROBES_SESSION);
	bpf_program__set_autoload(s->progs.call_entered, p->way != GT_PROBES_SESSION);
	bpf_program__set_autoload(s->progs.call_left, p->way != GT_PROBES_SESSION);
	if (p->way == GT_PROBES_SESSION)
		bpf_program__set_expected_attach_type(s->progs.call_session,
						      (enum bpf_attach_type)ATTACH_SESSION);
	if (p->way == GT_PROBES_MULTI) {
		bpf_program__set_expected_attach_type(s->progs.call_entered,
						      (enum bpf_attach_type)ATTACH_MULTI);
		bpf_program__set_expected_attach_type(s->progs.call_left,
						      (enum bpf_attach_type)ATTACH_MULTI);
	}
}

/* For tests, a number can be asked for. */
static unsigned ring_count(size_t bytes)
{
	const char *wanted = getenv("GPUTRACK_RINGS");
	long processors = sysconf(_SC_NPROCESSORS_ONLN), page = sysconf(_SC_PAGESIZE);
	unsigned count = 1, most = wanted ? (unsigned)strtoul(wanted, NULL, 10) : 0;

	if (!most)
		return gt_rings_count(bytes, processors > 0 ? (unsigned)processors : 1);
	while (2 * count <= most && count < GT_PROBE_RINGS && bytes / (2 * count) >= (size_t)page)
		count *= 2;
	return count;
}

/* Loads the programs for one way of attaching; -errno, with nothing to free. */
static int load(struct gt_probes *p, const struct gt_probes_options *options)
{
	int e;

	p->skeleton = calls_bpf__open();
	if (!p->skeleton)
		return -errno;
	configure(p, options);
	e = calls_bpf__load(p->skeleton);
	if (e) {
		calls_bpf__destroy(p->skeleton);
		p->skeleton = NULL;
	}
	return e;
}

static int link_multi(const struct gt_probes *p, const struct bpf_program *program, bool at_return,
		      const char *path, const uint64_t *offsets, const uint64_t *cookies,
		      size_t count)
{
	/* union bpf_attr's link_create with uprobe_multi, which older headers lack */
	struct {
		uint32_t program, target, type, flags;
		uint64_t path, offsets, counters, cookies;
		uint32_t count, probe_flags, pid, unused;
	} attr = {
		.program = (uint32_t)bpf_program__fd(program),
		.type = p->way == GT_PROBES_SESSION ? ATTACH_SESSION : ATTACH_MULTI,
		.path = (uint64_t)(uintptr_t)path,
		.offsets = (uint64_t)(uintptr_t)offsets,
		.cookies = (uint64_t)(uintptr_t)cookies,
		.count = (uint32_t)count,
		.probe_flags = at_return ? FLAG_RETURN : 0,
	};
	int fd = (int)syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof attr);

	return fd < 0 ? -errno : fd;
}

/* The type of user probes for perf_event_open. */
static int uprobe_type(void)
{
	FILE *file = fopen("/sys/bus/event_source/devices/uprobe/type", "re");
	int type = -1;

	if (file && fscanf(file, "%d", &type) != 1)
		type = -1;
	if (file)
		fclose(file);
	return type;
}

/*
 * A kernel that supports this way of attaching accepts the program's type and then rejects the
 * path; another kernel rejects the type.
 */
static bool can_attach(const struct gt_probes *p)
{
	const uint64_t zero = 0;
	const struct bpf_program *program = p->way == GT_PROBES_SESSION ?
						    p->skeleton->progs.call_session :
						    p->skeleton->progs.call_entered;
	int e;

	if (p->way == GT_PROBES_PERF)
		return uprobe_type() >= 0;
	e = link_multi(p, program, false, "/", &zero, &zero, 1);
	return e == -EBADF || e == -EISDIR || e == -ENOENT;
}

/* Loads for the way that was requested, or for the best that works. */
static int load_best(struct gt_probes *p, const struct gt_probes_options *options)
{
	int e = -ENOSYS;

	for (int way = GT_PROBES_SESSION; way <= GT_PROBES_PERF; way++) {
		if (options->way != GT_PROBES_BEST && options->way != (enum gt_probe_way)way)
			continue;
		p->way = (enum gt_probe_way)way;
		e = load(p, options);
		/* more than the kernel checks: no way of attaching makes it less */
		if (e == -E2BIG || (!e && can_attach(p)))
			return e;
		if (!e) {
			calls_bpf__destroy(p->skeleton);
			p->skeleton = NULL;
			e = -EOPNOTSUPP;
		}
	}
	return e;
}

static int fill_rows(struct gt_probes *p)
{
	int fd = bpf_map__fd(p->skeleton->maps.rows);

	_Static_assert((int)GT_FN_COUNT <= (int)GT_PROBE_ASKED, "rows must fit the map");
	p->plans = gt_alloc(GT_FN_COUNT * sizeof *p->plans);
	for (uint32_t i = 0; i < GT_FN_COUNT; i++)
		if (gt_plan_make(&p->plans[i], (enum gt_function_id)i) &&
		    bpf_map_update_elem(fd, &i, &p->plans[i].row, BPF_ANY))
			return -errno;
	for (uint32_t i = 0; i < GT_ASKED_COUNT; i++) {
		struct gt_probe_row row = gt_plan_asked((enum gt_probe_asked)i);
		uint32_t number = GT_PROBE_ASKED + i;

		if (bpf_map_update_elem(fd, &number, &row, BPF_ANY))
			return -errno;
	}
	return 0;
}

/* Makes the rings, in which the programs look for that of their processor. */
static int open_rings(struct gt_probes *p, size_t bytes)
{
	int fds = bpf_map__fd(p->skeleton->maps.calls), e = 0;

	p->calls.time_of = gt_probe_record_time;
	for (uint32_t i = 0; i < p->ring_count && !e; i++) {
		int fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "gt_calls", 0, 0, (uint32_t)bytes,
					NULL);

		if (fd < 0)
			return -errno;
		if (bpf_map_update_elem(fds, &i, &fd, BPF_ANY))
			e = -errno;
		else
			e = gt_rings_add(&p->calls, fd, bytes);
		if (e)
			close(fd);
	}
	return e;
}

/* Attaches the programs that follow processes, which run from here on. */
static int attach_followers(struct gt_probes *p)
{
	struct calls_bpf *s = p->skeleton;

	s->links.forked = bpf_program__attach(s->progs.forked);
	s->links.execed = bpf_program__attach(s->progs.execed);
	s->links.exited = bpf_program__attach(s->progs.exited);
	return s->links.forked && s->links.execed && s->links.exited ? 0 : -errno;
}

int gt_probes_new(struct gt_probes **out, const struct gt_probes_options *options,
		  struct gt_error *error)
{
	struct gt_probes *p = gt_alloc(sizeof *p);
	const char *what = "load programs into the kernel";
	int e;

	gt_surroundings_look(&p->surroundings);
	e = gt_obstacle_before(&p->surroundings, error);
	if (e) {
		free(p);
		return e;
	}
	gt_bpf_log_begin();
	p->unwinding = options->unwinding;
	p->has_python = options->python;
	p->ring_count = ring_count(options->ring_bytes);
	if (p->unwinding == GT_UNWIND_AUTO &&
	    (!options->frames ||
	     libbpf_probe_bpf_helper(BPF_PROG_TYPE_KPROBE, (enum bpf_func_id)LOOP, NULL) != 1))
		p->unwinding = GT_UNWIND_FP;
	e = load_best(p, options);
	/* a kernel that does not accept the walk of a stack may accept the rest */
	if (e && p->unwinding == GT_UNWIND_AUTO) {
		p->unwinding = GT_UNWIND_FP;
		e = load_best(p, options);
	}
	if (e && p->has_python) {
		p->has_python = false;
		e = load_best(p, options);
	}
	if (!e)
		e = fill_rows(p);
	if (!e) {
		what = "map the ring";
		e = open_rings(p, options->ring_bytes / p->ring_count);
	}
	if (!e)
		e = gt_ring_open(&p->news, bpf_map__fd(p->skeleton->maps.news), NEWS_BYTES);
	if (!e) {
		what = "follow processes";
		e = attach_followers(p);
	}
	if (e) {
		gt_obstacle_after(&p->surroundings, e, what, gt_bpf_log_last(), error);
		gt_probes_free(p);
		return e;
	}
	/* return the megabytes that reading the kernel's types took */
	malloc_trim(0);
	*out = p;
	return 0;
}

void gt_probes_stop(struct gt_probes *p)
{
	__atomic_store_n(&p->skeleton->bss->off, 1, __ATOMIC_RELAXED);
	/* the processes are let go while we write the end of their traces */
	if (p->way != GT_PROBES_PERF)
		gt_links_begin_close(&p->links);
}

/*
 * Removing a perf probe takes the kernel a tenth of a second, one after another. So a child process
 * keeps them, now idle, until we have exited: its exit takes long, and ours does not.
 */
static void leave_to_child(void)
{
	int wait[2];
	char end;

	if (pipe(wait) || fork())
		return;
	close(wait[1]);
	for (int fd = 0; fd < 3; fd++)
		close(fd);
	setsid();
	prctl(PR_SET_NAME, "gputrack-detach");
	(void)!read(wait[0], &end, 1);
	/* the last to close them waits: that should be us */
	usleep(200 * 1000);
	_exit(0);
}

void gt_probes_free(struct gt_probes *p)
{
	if (p->way == GT_PROBES_PERF && p->links.count)
		leave_to_child();
	gt_links_close(&p->links);
	gt_rings_close(&p->calls);
	gt_ring_close(&p->news);
	calls_bpf__destroy(p->skeleton);
	free(p->plans);
	free(p);
}

const struct gt_plan *gt_probes_plan(const struct gt_probes *p, unsigned row)
{
	return row < GT_FN_COUNT && p->plans[row].row.effects ? &p->plans[row] : NULL;
}

int gt_probes_target(struct gt_probes *p, uint32_t pid)
{
	struct gt_probe_target none = { 0 };
	int fd = bpf_map__fd(p->skeleton->maps.targets);

	return bpf_map_update_elem(fd, &pid, &none, BPF_NOEXIST) && errno != EEXIST ? -errno : 0;
}

bool gt_probes_has_target(const struct gt_probes *p, uint32_t pid)
{
	struct gt_probe_target target;

	return !bpf_map_lookup_elem(bpf_map__fd(p->skeleton->maps.targets), &pid, &target);
}

void gt_probes_untarget(struct gt_probes *p, uint32_t pid)
{
	bpf_map_delete_elem(bpf_map__fd(p->skeleton->maps.targets), &pid);
}

bool gt_probes_is_idle(const struct gt_probes *p)
{
	uint32_t first;

	return bpf_map_get_next_key(bpf_map__fd(p->skeleton->maps.targets), NULL, &first) != 0;
}

void gt_probes_ignore(struct gt_probes *p, uint32_t pid)
{
	struct gt_probe_target ignored = { .is_ignored = 1 };

	/* it may have ended */
	bpf_map_update_elem(bpf_map__fd(p->skeleton->maps.targets), &pid, &ignored, BPF_EXIST);
}

void gt_probes_tapped(struct gt_probes *p, uint32_t pid, uint32_t doors)
{
	int fd = bpf_map__fd(p->skeleton->maps.targets);
	struct gt_probe_target target = { 0 };

	/* the others probe every return */
	if (p->way != GT_PROBES_SESSION)
		return;
	bpf_map_lookup_elem(fd, &pid, &target);
	target.doors |= doors;
	/* where not every process is followed, this must not make it a target */
	bpf_map_update_elem(fd, &pid, &target, p->skeleton->rodata->everyone ? BPF_ANY : BPF_EXIST);
	/* it may have ended meanwhile: the number is another's next */
	if (kill((pid_t)pid, 0) && errno == ESRCH)
		gt_probes_untarget(p, pid);
}

void gt_probes_python(struct gt_probes *p, uint32_t pid, const struct gt_probe_python *row)
{
	/* where there is no room, its frames are the interpreter's own */
	bpf_map_update_elem(bpf_map__fd(p->skeleton->maps.pythons), &pid, row, BPF_ANY);
	__atomic_store_n(&p->skeleton->bss->pythons_known, 1, __ATOMIC_RELEASE);
}

void gt_probes_python_entry(struct gt_probes *p, uint32_t number,
			    const struct gt_probe_python_entry *entry)
{
	bpf_map_update_elem(bpf_map__fd(p->skeleton->maps.python_entries), &number, entry, BPF_ANY);
}

struct gt_probe_losses gt_probes_lost(const struct gt_probes *p, uint32_t pid)
{
	const struct gt_probe_slot *slots = p->skeleton->bss->slots;
	struct gt_probe_losses sum = { 0 };
	struct gt_probe_lost of = { 0 };

	if (pid)
		bpf_map_lookup_elem(bpf_map__fd(p->skeleton->maps.lost_of), &pid, &of);
	for (unsigned i = 0; i < GT_PROBE_SLOTS; i++)
		gt_probe_losses_add(&sum, pid ? &of.slots[i].losses : &slots[i].stray);
	return sum;
}

uint64_t gt_probes_lost_total(const struct gt_probes *p, uint64_t *news)
{
	uint64_t lost = 0;

	if (news)
		*news = __atomic_load_n(&p->skeleton->bss->news_lost, __ATOMIC_RELAXED);
	for (unsigned i = 0; i < GT_PROBE_SLOTS; i++)
		lost += __atomic_load_n(&p->skeleton->bss->slots[i].lost, __ATOMIC_RELAXED);
	return lost;
}

static int attach_multi(struct gt_probes *p, const char *path, const struct gt_probe_point *points,
			size_t count)
{
	uint64_t *offsets = gt_alloc(count * sizeof *offsets);
	uint64_t *cookies = gt_alloc(count * sizeof *cookies);
	bool session = p->way == GT_PROBES_SESSION;
	int fds[2] = { -1, -1 }, e = 0;

	for (size_t i = 0; i < count; i++) {
		offsets[i] = points[i].offset;
		cookies[i] = points[i].row;
	}
	for (int i = 0; i < (session ? 1 : 2) && !e; i++) {
		const struct bpf_program *program = session ? p->skeleton->progs.call_session :
						    i       ? p->skeleton->progs.call_entered :
							      p->skeleton->progs.call_left;

		/* returns first: no call may be seen to begin but not to end */
		fds[i] = link_multi(p, program, !session && !i, path, offsets, cookies, count);
		if (fds[i] < 0)
			e = fds[i];
	}
	for (int i = 0; i < 2; i++) {
		if (fds[i] < 0)
			continue;
		if (e) {
			close(fds[i]);
			continue;
		}
		gt_links_add(&p->links, fds[i]);
	}
	free(offsets);
	free(cookies);
	return e;
}

static int link_perf(const struct gt_probes *p, int type, bool at_return, const char *path,
		     const struct gt_probe_point *at)
{
	struct perf_event_attr attr = { .type = (uint32_t)type,
					.size = sizeof attr,
					.config = at_return, /* bit 0, in every kernel so far */
					.config1 = (uint64_t)(uintptr_t)path,
					.config2 = at->offset };
	LIBBPF_OPTS(bpf_link_create_opts, opts, .perf_event.bpf_cookie = at->row);
	const struct bpf_program *program =
		at_return ? p->skeleton->progs.call_left : p->skeleton->progs.call_entered;
	int event = (int)syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC), fd;

	if (event < 0)
		return -errno;
	fd = bpf_link_create(bpf_program__fd(program), event, BPF_PERF_EVENT, &opts);
	if (fd >= 0 && ioctl(event, PERF_EVENT_IOC_ENABLE, 0)) {
		int e = -errno;

		close(fd);
		fd = e;
	}
	/* the link keeps the event */
	close(event);
	return fd;
}

static int attach_perf(struct gt_probes *p, const char *path, const struct gt_probe_point *points,
		       size_t count)
{
	size_t before = p->links.count;
	int type = uprobe_type();

	if (type < 0)
		return -ENOSYS;
	/* returns first, here too */
	for (size_t i = 0; i < 2 * count; i++) {
		int fd = link_perf(p, type, i < count, path, &points[i % count]);

		if (fd < 0) {
			gt_links_cut(&p->links, before);
			return fd;
		}
		gt_links_add(&p->links, fd);
	}
	return 0;
}

int gt_probes_attach(struct gt_probes *p, int fd, const char *name,
		     const struct gt_probe_point *points, size_t count, struct gt_error *error)
{
	struct gt_probe_point *wanted;
	char path[64], what[200];
	size_t n = 0;
	int e;

	/* by descriptor: it works for any name, in any container */
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	wanted = gt_alloc(count * sizeof *wanted);
	/* others than calls are of use only where the return need not be probed */
	for (size_t i = 0; i < count; i++)
		if (p->way == GT_PROBES_SESSION || points[i].row < GT_PROBE_ROWS)
			wanted[n++] = points[i];
	e = !n                       ? 0 :
	    p->links.is_closing      ? -ECANCELED :
	    p->way == GT_PROBES_PERF ? attach_perf(p, path, wanted, n) :
				       attach_multi(p, path, wanted, n);
	free(wanted);
	if (!e)
		return 0;
	snprintf(what, sizeof what, "attach to %.150s", name);
	return gt_obstacle_after(&p->surroundings, e, what, "", error);
}

struct gt_rings *gt_probes_calls(struct gt_probes *p)
{
	return &p->calls;
}

uint64_t *gt_probes_backlog(struct gt_probes *p)
{
	return &p->skeleton->bss->backlog;
}

struct gt_ring *gt_probes_news(struct gt_probes *p)
{
	return &p->news;
}

bool gt_probes_has_python(const struct gt_probes *p)
{
	return p->has_python;
}

enum gt_unwinding gt_probes_unwinding(const struct gt_probes *p)
{
	return p->unwinding;
}

struct gt_unwind_maps gt_probes_unwind_maps(const struct gt_probes *p)
{
	const struct calls_bpf *s = p->skeleton;

	return (struct gt_unwind_maps){ .space_of = bpf_map__fd(s->maps.space_of),
					.spaces = bpf_map__fd(s->maps.spaces),
					.shards = bpf_map__fd(s->maps.shards),
					.rules = bpf_map__fd(s->maps.rules),
					.chunks = bpf_map__fd(s->maps.chunks) };
}
