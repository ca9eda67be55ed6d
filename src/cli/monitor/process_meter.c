/* SPDX-License-Identifier: MIT */
/* process_meter.c - processor time, memory and disk use of another process, from /proc. */
#include "cli/monitor/process_meter.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/process.h"
#include "base/text.h"

enum { COMM_MAX = 15 }; /* the kernel truncates names to this */

/* /proc/PID/FILE as text; -errno if it cannot be read. */
static ssize_t read_proc(pid_t pid, const char *file, char *text, size_t size)
{
	char path[64];
	ssize_t n = -1;
	int fd, e;

	snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		n = read(fd, text, size - 1);
	e = errno;
	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	return n < 0 ? -e : n;
}

/* The kernel truncates names; the command line has the rest. */
static void read_name(struct gt_process_meter *m)
{
	char comm[64], command[sizeof m->name];
	const char *base;
	ssize_t length = read_proc(m->pid, "comm", comm, sizeof comm);

	if (length <= 0)
		return;
	if (comm[length - 1] == '\n') /* the kernel's; others are the name's own */
		comm[length - 1] = '\0';
	snprintf(m->name, sizeof m->name, "%s", comm);
	if (strlen(comm) < COMM_MAX || read_proc(m->pid, "cmdline", command, sizeof command) <= 0)
		return;
	base = gt_path_name(command);
	if (gt_text_begins(base, comm))
		memmove(m->name, base, strlen(base) + 1);
}

static bool read_cpu(struct gt_process_meter *m, uint64_t *cpu_ns)
{
	struct timespec t;

	if (clock_gettime(m->clock, &t))
		return false;
	*cpu_ns = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
	return true;
}

static bool has_ended(const struct gt_process_meter *m)
{
	struct pollfd end = { .fd = m->fd, .events = POLLIN };
	struct gt_process_state state;

	if (m->fd >= 0 && poll(&end, 1, 0) > 0)
		return true;
	return !gt_process_state_read(&state, (uint32_t)m->pid) || state.has_ended ||
	       state.start_ticks != m->start_ticks;
}

static int no_process(struct gt_error *error, pid_t pid, int e)
{
	if (e == ESRCH || e == ENOENT || e == EINVAL)
		return gt_error_set(
			error, -ESRCH,
			"there is no process %d: `pgrep -a NAME` or `ps` shows the pids", (int)pid);
	return gt_error_set(error, -e, "cannot monitor process %d: %s", (int)pid, strerror(e));
}

int gt_process_meter_open(struct gt_process_meter *m, pid_t pid, struct gt_error *error)
{
	struct gt_process_state state;
	int e;

	*m = (struct gt_process_meter){ .pid = pid, .fd = -1 };
	if (pid <= 0 || !gt_process_state_read(&state, (uint32_t)pid))
		return no_process(error, pid, ESRCH);
	m->start_ticks = state.start_ticks;
#ifdef SYS_pidfd_open
	m->fd = (int)syscall(SYS_pidfd_open, pid, 0);
#endif
	/* the error differs between kernels */
	if (m->fd < 0 && (errno == EINVAL || errno == ENOENT))
		return gt_error_set(error, -EINVAL,
				    "%d is a thread, not a process: see Tgid in /proc/%d/status",
				    (int)pid, (int)pid);
	e = clock_getcpuclockid(pid, &m->clock);
	if (!e && !read_cpu(m, &m->cpu_ns))
		e = errno;
	if (!e && has_ended(m))
		e = ESRCH;
	if (e) {
		gt_process_meter_close(m);
		return no_process(error, pid, e);
	}
	m->time_ns = gt_now_ns();
	read_name(m);
	return 0;
}

void gt_process_meter_close(struct gt_process_meter *m)
{
	if (m->fd >= 0)
		close(m->fd);
	m->fd = -1;
}

/* The number after `key` in lines "key: number". */
static bool find_number(const char *text, const char *key, uint64_t *value)
{
	const char *at = strstr(text, key);

	return at && sscanf(at + strlen(key), ": %" SCNu64, value) == 1;
}

static void read_disk(pid_t pid, struct gt_process_reading *reading)
{
	char text[512];

	reading->has_disk = read_proc(pid, "io", text, sizeof text) > 0 &&
			    find_number(text, "\nread_bytes", &reading->read_bytes) &&
			    find_number(text, "\nwrite_bytes", &reading->write_bytes);
}

bool gt_process_meter_read(struct gt_process_meter *m, struct gt_process_reading *reading)
{
	uint64_t cpu_ns, now = gt_now_ns(), pages = 0;
	char text[128];

	*reading = (struct gt_process_reading){ 0 };
	if (!read_cpu(m, &cpu_ns))
		return false;
	if (read_proc(m->pid, "statm", text, sizeof text) > 0)
		sscanf(text, "%*u %" SCNu64, &pages);
	read_disk(m->pid, reading);
	read_name(m);
	/* checked last: the readings are this process's only if it still exists */
	if (has_ended(m))
		return false;
	reading->cpu_ns = cpu_ns;
	reading->rss_bytes = pages * (uint64_t)sysconf(_SC_PAGESIZE);
	if (now > m->time_ns && cpu_ns > m->cpu_ns)
		reading->cpu_percent =
			100.0 * (double)(cpu_ns - m->cpu_ns) / (double)(now - m->time_ns);
	m->cpu_ns = cpu_ns;
	m->time_ns = now;
	return true;
}

uint64_t gt_machine_memory_bytes(void)
{
	FILE *file = fopen("/proc/meminfo", "re");
	uint64_t kb = 0;

	if (file && fscanf(file, "MemTotal: %" SCNu64, &kb) != 1)
		kb = 0;
	if (file)
		fclose(file);
	return kb * 1024;
}
