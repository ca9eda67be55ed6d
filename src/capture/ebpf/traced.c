/* SPDX-License-Identifier: MIT */
/* traced.c - traced processes: the trace of each, its threads' lanes, its stacks; and their set. */
#include "capture/ebpf/traced.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/process.h"
#include "capture/ebpf/ze_devices.h"
#include "trace/stacks.h"

enum {
	LOOK_NS = 100 * 1000 * 1000, /* how often mappings are read for unknown addresses */
	LOSS_NS = 1000 * 1000,       /* how exactly it is known when calls were lost */
	POOL_NS = 10 * 1000 * 1000,  /* how often a pool's totals are recorded */
};

struct gt_traced_lane {
	uint32_t tid;
	struct gt_lane *lane; /* NULL until its first event */
	char name[17];
	bool is_over;    /* its thread has ended; calls that it made may still arrive */
	bool is_in_call; /* its process has ended in a call of this thread */
};

void gt_traced_free(struct gt_traced *p)
{
	if (p->writer) {
		gt_writer_end(p->writer);
		gt_writer_free(p->writer);
	}
	gt_modules_fini(&p->modules);
	gt_ze_devices_free(p->ze_devices);
	free(p->lanes);
	gt_traced_stacks_fini(&p->stacks);
	gt_traced_python_free(p->python);
	free(p);
}

void gt_traced_name(struct gt_traced *p, const char *thread)
{
	char link[64], path[PATH_MAX];
	const char *slash;
	ssize_t n;

	snprintf(link, sizeof link, "/proc/%u/exe", p->pid);
	n = readlink(link, path, sizeof path - 1);
	path[n > 0 ? n : 0] = '\0';
	slash = strrchr(path, '/');
	snprintf(p->name, sizeof p->name, "%s", slash ? slash + 1 : thread);
}

static void write_link(const struct gt_traced *p, struct gt_writer *w, const char *key,
		       const char *file)
{
	char link[64], path[PATH_MAX];
	ssize_t n;

	snprintf(link, sizeof link, "/proc/%u/%s", p->pid, file);
	n = readlink(link, path, sizeof path);
	if (n > 0)
		gt_writer_info(w, key, path, (size_t)n);
}

static void write_text(struct gt_writer *w, const char *key, const char *text)
{
	if (*text)
		gt_writer_info(w, key, text, strlen(text));
}

static void write_identity(const struct gt_traced *p, struct gt_writer *w)
{
	char uid[16] = "";

	if (p->who.uid != GT_UID_UNKNOWN)
		snprintf(uid, sizeof uid, "%u", p->who.uid);
	write_text(w, "uid", uid);
	write_text(w, "user", p->who.user);
	write_text(w, "container", p->who.container);
	if (*p->who.pod)
		write_text(w, "pod", *p->who.host ? p->who.host : p->who.pod);
}

void gt_traced_describe(const struct gt_traced *p, struct gt_writer *w, uint32_t stack_depth)
{
	static const char how[] = "attach";
	struct utsname system;
	char path[64], text[1024];
	ssize_t n;
	int fd;

	write_link(p, w, "program", "exe");
	snprintf(path, sizeof path, "/proc/%u/cmdline", p->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof text);
	if (fd >= 0)
		close(fd);
	if (n > 0)
		gt_writer_info(w, "command", text, (size_t)n);
	else
		gt_writer_info(w, "command", p->name, strlen(p->name));
	write_link(p, w, "directory", "cwd");
	write_identity(p, w);
	if (!uname(&system))
		gt_writer_info(w, "host", system.nodename, strlen(system.nodename));
	gt_writer_info(w, "boot", gt_boot_id(), strlen(gt_boot_id()));
	if (p->is_late)
		gt_writer_info(w, "late", "1", 1);
	gt_writer_info(w, "capture", how, sizeof how - 1);
	snprintf(text, sizeof text, "%u", stack_depth);
	gt_writer_info(w, "stack_depth", text, strlen(text));
	gt_writer_info(w, "gputrack", GT_VERSION, strlen(GT_VERSION));
}

static void look(struct gt_traced *p)
{
	p->looked_ns = gt_now_ns();
	p->has_moved |= gt_modules_look(&p->modules, p->images, p->pid);
}

/* Before a new stack is defined: an address in no known module may be in a new one. */
static void look_for_new(struct gt_traced *p)
{
	const struct gt_mapped *at = NULL;
	bool is_due = false;

	for (size_t i = 0; i < p->defining_count && !is_due; i++) {
		/* a frame of Python is no address */
		if (p->defining[i] >= GT_TEXT_FRAMES)
			continue;
		at = gt_modules_find_near(&p->modules, at, p->defining[i]);
		is_due = !at;
	}
	if (is_due && gt_now_ns() - p->looked_ns > LOOK_NS)
		look(p);
}

/* For the writer. */
static void write_modules(struct gt_writer *w, void *context)
{
	struct gt_traced *p = context;

	look_for_new(p);
	gt_modules_write(&p->modules, w, p->pid);
}

int gt_traced_open(struct gt_traced *p, struct gt_traced_place *place)
{
	uint64_t now = gt_now_ns(), real = gt_clock_ns(CLOCK_REALTIME);
	/* clang-format off */
	struct gt_writer_options options = {
		.pid = p->pid, .ppid = p->parent, .start_ns = p->first_ns,
		.start_real_ns = real - (now - p->first_ns),
		.max_bytes = place->max_bytes, .taken = &place->taken,
		.modules = write_modules, .context = p,
	};
	/* clang-format on */
	int e = gt_writer_open_in(&p->writer, place->folder, &options);

	if (!e)
		gt_traced_describe(p, p->writer, place->stack_depth);
	return e;
}

static void write_pool(struct gt_lane *lane, struct gt_traced_pool *pool)
{
	gt_lane_sample(lane, pool->reserved_series, pool->time_ns, (int64_t)pool->reserved);
	gt_lane_sample(lane, pool->allocated_series, pool->time_ns, (int64_t)pool->allocated);
	pool->written_ns = pool->time_ns;
}

/* The last totals, which were too close to the ones before. */
static void write_last_pools(struct gt_traced *p)
{
	for (unsigned i = 0; i < GT_TRACED_POOLS; i++)
		if (p->pools[i].written_ns != p->pools[i].time_ns)
			write_pool(gt_traced_lane(p, p->pid), &p->pools[i]);
}

void gt_traced_pool(struct gt_traced *p, struct gt_lane *lane, const struct gt_pool_report *r,
		    uint64_t time_ns)
{
	unsigned device = (uint8_t)r->device.index % GT_TRACED_POOLS;
	struct gt_traced_pool *pool = &p->pools[device];
	struct gt_series series = { GT_SERIES_POOL_RESERVED, "bytes", pool->name };
	bool is_due = pool->reserved != r->reserved || time_ns - pool->written_ns >= POOL_NS;

	if (!r->reserved || !lane)
		return;
	if (!*pool->name) {
		snprintf(pool->name, sizeof pool->name, "GPU %u, process %u", device, p->pid);
		pool->reserved_series = gt_writer_series(p->writer, &series);
		series.name = GT_SERIES_POOL_ALLOCATED;
		pool->allocated_series = gt_writer_series(p->writer, &series);
	}
	pool->reserved = r->reserved;
	pool->allocated = r->allocated;
	pool->time_ns = time_ns;
	if (is_due)
		write_pool(lane, pool);
}

static void write_exit(struct gt_writer *w, int status)
{
	char text[16];

	snprintf(text, sizeof text, "%d",
		 WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	gt_writer_info(w, WIFSIGNALED(status) ? "signal" : "exit_status", text, strlen(text));
}

void gt_traced_exit(struct gt_traced *p, int status)
{
	if (!p->writer)
		return;
	write_last_pools(p);
	write_exit(p->writer, status);
}

void gt_traced_describe_end(const struct gt_traced *p, struct gt_writer *w)
{
	if (p->has_exited)
		write_exit(w, p->exit_code);
	else
		gt_writer_info(w, p->has_execed ? "exec" : "went_on", "1", 1);
}

void gt_traced_let_go(struct gt_traced *p)
{
	if (!p->writer)
		return;
	write_last_pools(p);
	gt_writer_info(p->writer, "went_on", "1", 1);
}

void gt_traced_exec(struct gt_traced *p)
{
	if (p->writer)
		gt_writer_info(p->writer, "exec", "1", 1);
}

void gt_traced_late(struct gt_traced *p)
{
	if (!p->is_late && p->writer)
		gt_writer_info(p->writer, "late", "1", 1);
	p->is_late = true;
}

void gt_traced_lose(struct gt_traced *p, const struct gt_probe_losses *lost)
{
	uint64_t first_ns = lost->first_ns, last_ns = lost->last_ns;

	/* two processors that lose a call at the same time may overwrite each other's times */
	if (lost->count > 1) {
		first_ns -= first_ns < LOSS_NS ? 0 : LOSS_NS;
		last_ns += LOSS_NS;
	}
	p->lost += lost->count;
	if (p->writer)
		gt_writer_lose_between(p->writer, lost->count, first_ns, last_ns);
}

static struct gt_traced_lane *lane_at(const struct gt_traced *p, uint32_t tid)
{
	/* the newest first: it is likely to make the next call */
	for (size_t i = p->lane_count; i-- > 0;)
		if (p->lanes[i].tid == tid)
			return &p->lanes[i];
	return NULL;
}

bool gt_traced_has_thread(const struct gt_traced *p, uint32_t tid)
{
	return lane_at(p, tid) != NULL;
}

void gt_traced_thread(struct gt_traced *p, uint32_t tid, const char *name)
{
	struct gt_traced_lane *lane = lane_at(p, tid);

	if (!lane) {
		GT_GROW(p->lanes, p->lane_count, p->lane_room);
		lane = &p->lanes[p->lane_count++];
		*lane = (struct gt_traced_lane){ .tid = tid };
	}
	/* the tid may have been reused */
	lane->is_over = false;
	snprintf(lane->name, sizeof lane->name, "%.16s", name);
}

bool gt_traced_thread_end(struct gt_traced *p, uint32_t tid)
{
	struct gt_traced_lane *lane = lane_at(p, tid);

	if (lane)
		lane->is_over = true;
	return lane;
}

void gt_traced_end_threads(struct gt_traced *p)
{
	for (size_t i = p->lane_count; i-- > 0;) {
		/* a lane that is released forgets the call that its thread ended in */
		if (!p->lanes[i].is_over || p->lanes[i].is_in_call)
			continue;
		if (p->lanes[i].lane)
			gt_lane_release(p->lanes[i].lane);
		p->lanes[i] = p->lanes[--p->lane_count];
	}
}

struct gt_lane *gt_traced_lane(struct gt_traced *p, uint32_t tid)
{
	struct gt_traced_lane *lane = lane_at(p, tid);

	if (!p->writer)
		return NULL;
	if (!lane) {
		gt_traced_thread(p, tid, "");
		lane = lane_at(p, tid);
	}
	if (!lane->lane)
		lane->lane = gt_lane_acquire(p->writer, tid, lane->name);
	return lane->lane;
}

void gt_traced_enter(struct gt_traced *p, const struct gt_event *call, const uint64_t *argv,
		     uint32_t count)
{
	struct gt_lane *lane = gt_traced_lane(p, call->tid);

	if (!lane)
		return;
	gt_lane_enter(lane, call, argv, count, NULL);
	lane_at(p, call->tid)->is_in_call = true;
}

bool gt_traced_look_again(struct gt_traced *p)
{
	if (gt_now_ns() - p->looked_ns <= LOOK_NS)
		return false;
	look(p);
	return true;
}

void gt_traced_refresh(struct gt_traced *p, struct gt_images *images)
{
	p->images = images;
	if (p->modules.is_stale || !p->modules.count)
		look(p);
	/* an address may now belong to other code */
	if (p->has_moved) {
		gt_modules_forget_gone(&p->modules, p->writer);
		gt_traced_stacks_moved(&p->stacks);
	}
	p->has_moved = false;
}

size_t gt_traced_stack_trim(struct gt_traced *p, struct gt_images *images, const uint64_t *frames,
			    size_t count)
{
	gt_traced_refresh(p, images);
	for (size_t i = 1; i < count; i++) {
		uint64_t call = frames[i] - 1; /* the return address may be past its function */
		enum gt_ground ground = gt_modules_ground(&p->modules, call);

		if (ground == GT_GROUND_UNKNOWN && gt_now_ns() - p->looked_ns > LOOK_NS) {
			look(p);
			ground = gt_modules_ground(&p->modules, call);
			if (ground == GT_GROUND_UNKNOWN && !p->modules.is_gone)
				return i;
		}
		/* stack or heap; an address that could not be checked may be code */
		if (ground == GT_GROUND_DATA)
			return i;
	}
	return count;
}

/* Of a stack for which there is no memory. */
static uint32_t other_number(struct gt_traced *p)
{
	if (!p->writer) {
		p->other_stack = UINT32_MAX;
	} else if (!p->other_stack) {
		uint64_t frame = gt_writer_text_frame(
			p->writer, &(struct gt_text_frame){ .function = "other call sites" });

		p->other_stack = frame ? gt_writer_stack(p->writer, &frame, 1) : 0;
	}
	if (p->writer)
		gt_writer_lose_stack(p->writer);
	return p->other_stack;
}

uint32_t gt_traced_stack_number(struct gt_traced *p, struct gt_images *images,
				const uint64_t *frames, size_t count)
{
	uint64_t key = gt_stack_key(frames, count);
	uint32_t number, node;

	if (!count)
		return 0;
	gt_traced_refresh(p, images);
	number = gt_traced_stacks_recent(&p->stacks, key);
	if (number)
		return number;
	p->defining = frames;
	p->defining_count = count;
	look_for_new(p);
	node = gt_traced_stacks_node(&p->stacks, &p->modules, frames, count);
	if (!node)
		return other_number(p);
	number = gt_traced_stacks_number(&p->stacks, node);
	if (!number)
		number = p->writer ? gt_writer_new_stack(p->writer, frames, count) :
				     p->stacks.last + 1;
	if (number)
		gt_traced_stacks_set(&p->stacks, node, key, number);
	return number;
}

size_t gt_traced_stack(const struct gt_traced *p, uint32_t stack, struct gt_traced_frame *frames,
		       size_t most)
{
	size_t count =
		p->images ? gt_traced_stacks_get(&p->stacks, p->images, stack, frames, most) : 0;

	for (size_t i = 0; i < count; i++)
		if (!frames[i].image)
			frames[i].text = gt_traced_python_text(p->python, frames[i].address);
	return count;
}

static size_t bucket(uint32_t pid)
{
	return pid % GT_TRACED_BUCKETS;
}

struct gt_traced *gt_traced_set_find(const struct gt_traced_set *f, uint32_t pid, uint64_t start,
				     uint32_t exec)
{
	struct gt_traced *p = f->buckets[bucket(pid)];

	while (p && (p->pid != pid || p->start != start || p->exec != exec))
		p = p->next;
	return p;
}

struct gt_traced *gt_traced_set_by_pid(const struct gt_traced_set *f, uint32_t pid)
{
	struct gt_traced *p = f->buckets[bucket(pid)];

	while (p && p->pid != pid)
		p = p->next;
	return p;
}

struct gt_traced *gt_traced_set_add(struct gt_traced_set *f, uint32_t pid, uint64_t start,
				    uint32_t exec)
{
	struct gt_traced *p = gt_alloc(sizeof *p), **at = &f->buckets[bucket(pid)];

	p->pid = pid;
	p->start = start;
	p->exec = exec;
	p->next = *at;
	*at = p;
	f->count++;
	return p;
}

void gt_traced_set_over(struct gt_traced_set *f, struct gt_traced *p,
			const struct gt_probe_losses *lost)
{
	if (p->is_over)
		return;
	p->is_over = true;
	p->lost_at_end = *lost;
	f->over++;
}

void gt_traced_set_remove(struct gt_traced_set *f, struct gt_traced *p)
{
	struct gt_traced **link = &f->buckets[bucket(p->pid)];

	while (*link != p)
		link = &(*link)->next;
	*link = p->next;
	f->count--;
	f->over -= p->is_over;
}

struct gt_traced *gt_traced_set_next(const struct gt_traced_set *f, const struct gt_traced *p)
{
	if (p && p->next)
		return p->next;
	for (size_t i = p ? bucket(p->pid) + 1 : 0; i < GT_TRACED_BUCKETS; i++)
		if (f->buckets[i])
			return f->buckets[i];
	return NULL;
}
