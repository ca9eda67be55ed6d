/*
 * make_recordings.c - writes small recordings with the real writer, the same at every run.
 *
 * Times, pids and addresses are invented; modules are files that do not exist, so that frames show
 * module and offset on every machine. Usage: make_recordings FOLDER
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/info.h"
#include "trace/layout.h"
#include "trace/writer.h"

#define MS 1000000ull
#define START 5000000000000ull           /* of the first process, on the monotonic clock */
#define START_REAL 1772366400000000000ull /* 2026-03-01T12:00:00Z */

enum { MODULES_MAX = 8 };

/* One process being written. */
struct trace {
	char path[4096];
	struct gt_writer *writer;
	struct gt_lane *lane;
	uint64_t base;                    /* where its modules begin */
	const char *modules[MODULES_MAX];
	int module_count;
	bool modules_written;
	uint64_t start_ns, end_ns;        /* end 0: it never ended */
	uint32_t state, error;
	uint64_t lost, lost_stacks;
};

static void die(const char *what)
{
	fprintf(stderr, "make_recordings: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* Module n lies at base + n MiB, and is as long. */
static void define_modules(struct gt_writer *w, void *context)
{
	static const uint8_t build_id[] = { 0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef };
	struct trace *t = context;

	for (int i = 0; !t->modules_written && i < t->module_count; i++)
		gt_writer_module(w, (uint32_t)i, &(struct gt_module){
			.start = t->base + ((uint64_t)i << 20), .size = 1 << 20,
			.bias = t->base + ((uint64_t)i << 20), .path = t->modules[i],
			.build_id = build_id, .build_id_size = sizeof build_id });
	t->modules_written = true;
}

static void folder(const char *name)
{
	if (mkdir(name, 0777) && errno != EEXIST)
		die(name);
}

/* `command` is `size` bytes: arguments with NUL bytes between them. */
static void begin(struct trace *t, const char *recording, uint32_t pid, uint32_t ppid,
		  const char *program, const char *command, size_t size)
{
	struct gt_writer_options options = { .pid = pid, .ppid = ppid, .modules = define_modules,
					     .context = t, .start_ns = t->start_ns,
					     .start_real_ns = START_REAL + (t->start_ns - START) };
	int e;

	snprintf(t->path, sizeof t->path, "%s/%u.trace", recording, pid);
	unlink(t->path);
	e = gt_writer_open(&t->writer, t->path, &options);
	if (e) {
		errno = -e;
		die(t->path);
	}
	gt_writer_info(t->writer, "program", program, strlen(program));
	gt_writer_info(t->writer, "command", command, size);
	t->lane = gt_lane_acquire(t->writer, pid, "main");
}

/* What only a real end could have stamped into the header is invented. */
static void end(struct trace *t)
{
	struct gt_trace_header h;
	int fd;

	if (t->end_ns)
		gt_writer_end(t->writer);
	gt_writer_free(t->writer);
	fd = open(t->path, O_RDWR);
	if (fd < 0 || pread(fd, &h, sizeof h, 0) != sizeof h)
		die(t->path);
	h.end_ns = t->end_ns;
	if (t->state)
		h.state = t->state;
	h.error = t->error;
	h.lost = t->lost;
	h.lost_stacks = t->lost_stacks;
	if (pwrite(fd, &h, sizeof h, 0) != sizeof h)
		die(t->path);
	close(fd);
}

/* A stack from (module, offset) pairs, innermost first; offsets are those of the calls. */
static uint32_t stack(struct trace *t, size_t count, const uint32_t pairs[][2])
{
	uint64_t frames[16];

	for (size_t i = 0; i < count; i++)
		frames[i] = t->base + ((uint64_t)pairs[i][0] << 20) + pairs[i][1] + 1;
	return gt_writer_stack(t->writer, frames, count);
}

#define STACK(t, ...)                                                                     \
	stack(t, sizeof((const uint32_t[][2]){ __VA_ARGS__ }) / sizeof(uint32_t[2]),      \
	      (const uint32_t[][2]){ __VA_ARGS__ })

/* An event at so many milliseconds after START. */
#define CALL(t, fn, ms, ...)                                                              \
	gt_lane_event((t)->lane, &(struct gt_event){ .function = GT_FN_##fn,              \
						     .time_ns = START + (ms) * MS, __VA_ARGS__ })

/* What every `info` has; the caller adds what is its own. */
static struct gt_info *begin_info(const char *command)
{
	struct gt_info *info = gt_info_new();

	gt_info_set(info, "gputrack", "0.1.0");
	gt_info_set(info, "command", command);
	gt_info_set(info, "directory", "/app");
	gt_info_set(info, "host", "lab3");
	gt_info_set(info, "started", "2026-03-01T12:00:00+0000");
	gt_info_set(info, "duration_ns", "2500000000");
	return info;
}

static void end_info(struct gt_info *info, const char *recording)
{
	struct gt_error error;
	char path[4096];

	snprintf(path, sizeof path, "%s/info", recording);
	if (gt_info_write(info, path, &error)) {
		fprintf(stderr, "make_recordings: %s\n", error.text);
		exit(1);
	}
	gt_info_free(info);
}

static void write_info(const char *recording, const char *command, const char *end_key,
		       const char *end_value)
{
	struct gt_info *info = begin_info(command);

	gt_info_set(info, end_key, end_value);
	end_info(info, recording);
}

/*
 * A minute of a service: a cache that fills and empties, a list that never shrinks from the tenth
 * second on, events of which one in ten is forgotten, a start that allocates and stays, and what
 * grows until the end gives it all back.
 */
static void make_growing(void)
{
	struct trace t = { .base = 0x10000000, .modules = { "/app/bin/service" }, .module_count = 1,
			   .start_ns = START, .end_ns = START + 61000 * MS };
	uint32_t cache, list, tick, start, session;
	uint64_t frames[2];

	folder("growing.gt");
	write_info("growing.gt", "./bin/service", "exit_status", "0");
	begin(&t, "growing.gt", 150, 1, "/app/bin/service", "./bin/service", 13);
	cache = STACK(&t, { 0, 0x1100 }, { 0, 0x1000 });
	tick = STACK(&t, { 0, 0x1300 }, { 0, 0x1000 });
	start = STACK(&t, { 0, 0x1400 }, { 0, 0x1000 });
	session = STACK(&t, { 0, 0x1500 }, { 0, 0x1000 });
	frames[0] = t.base + 0x1201;
	frames[1] = gt_writer_text_frame(t.writer, &(struct gt_text_frame){
		.function = "train", .file = "/app/train.py", .line = 88 });
	list = gt_writer_stack(t.writer, frames, 2);
	for (unsigned i = 0; i < 8; i++)
		CALL(&t, clCreateBuffer, 10 + i, .handle = 0x1000 + i, .size = 8 << 20,
		     .stack = start);
	for (unsigned i = 0; i < 600; i++) {
		unsigned ms = 100 + i * 100;

		CALL(&t, clCreateBuffer, ms, .handle = 0x10000 + i, .size = 1 << 20,
		     .stack = cache);
		for (unsigned k = 0; i % 50 == 49 && k < 50; k++)
			CALL(&t, clReleaseMemObject, ms + 1, .handle = 0x10000 + i - k,
			     .stack = cache);
		if (ms >= 10000)
			CALL(&t, clCreateBuffer, ms + 2, .handle = 0x20000 + i, .size = 128 << 10,
			     .stack = list);
		CALL(&t, clCreateUserEvent, ms + 3, .handle = 0x30000 + i, .stack = tick);
		if (i % 10)
			CALL(&t, clReleaseEvent, ms + 4, .handle = 0x30000 + i, .stack = tick);
		CALL(&t, clCreateImage, ms + 5, .handle = 0x40000 + i, .size = 4096,
		     .stack = session);
	}
	for (unsigned i = 0; i < 600; i++)
		CALL(&t, clReleaseMemObject, 60500, .handle = 0x40000 + i, .stack = session);
	end(&t);
}

/* Everything is given back. */
static void make_clean(void)
{
	struct trace t = { .base = 0x10000000, .modules = { "/app/bin/clean" }, .module_count = 1,
			   .start_ns = START, .end_ns = START + 900 * MS };
	uint32_t at;

	folder("clean.gt");
	write_info("clean.gt", "./bin/clean", "exit_status", "0");
	begin(&t, "clean.gt", 100, 1,
	      "/app/bin/clean", "./bin/clean", 11);
	at = STACK(&t, { 0, 0x1100 }, { 0, 0x1200 });
	for (unsigned i = 0; i < 20; i++) {
		CALL(&t, clCreateBuffer, 10 + i * 40, .handle = 0x1000, .size = (i % 7 + 1) << 20,
		     .stack = at);
		CALL(&t, clReleaseMemObject, 30 + i * 40, .handle = 0x1000, .stack = at);
	}
	end(&t);
}

/* Leaks of every sort: with and without bytes, retained, views, host memory, two platforms. */
static void make_leaks(void)
{
	struct trace t = { .base = 0x10000000, .start_ns = START, .end_ns = START + 2400 * MS,
			   .modules = { "/app/bin/demo", "/usr/lib/libOpenCL.so.1",
					"/usr/lib/libc.so.6" },
			   .module_count = 3 };
	uint32_t context, buffer, image, sub, host, tick, keep;

	folder("leaks.gt");
	write_info("leaks.gt", "./bin/demo --size 4", "exit_status", "3");
	begin(&t, "leaks.gt", 200, 1,
	      "/app/bin/demo", "./bin/demo\0--size\0004", 19);
	gt_writer_place(t.writer, 1, GT_OPENCL, "Portable Computing Language");
	gt_writer_place(t.writer, 2, GT_OPENCL, "Intel(R) OpenCL Graphics");
	context = STACK(&t, { 1, 0x500 }, { 0, 0x1000 }, { 2, 0x300 }, { 0, 0x100 });
	buffer = STACK(&t, { 1, 0x600 }, { 0, 0x1111 }, { 0, 0x1200 }, { 0, 0x1300 }, { 2, 0x300 });
	image = STACK(&t, { 0, 0x2111 }, { 0, 0x1300 });
	sub = STACK(&t, { 0, 0x2222 }, { 0, 0x1300 });
	host = STACK(&t, { 0, 0x2333 }, { 0, 0x1300 });
	tick = STACK(&t, { 0, 0x3111 }, { 0, 0x1300 });
	keep = STACK(&t, { 0, 0x4111 }, { 0, 0x1300 });
	CALL(&t, clCreateContext, 10, .handle = 0xc0, .place = 1, .stack = context);
	CALL(&t, clRetainContext, 11, .handle = 0xc0, .stack = keep);
	CALL(&t, clRetainContext, 12, .handle = 0xc0, .stack = keep);
	CALL(&t, clReleaseContext, 13, .handle = 0xc0, .stack = tick);
	for (unsigned i = 0; i < 6; i++)
		CALL(&t, clCreateBuffer, 20 + i, .handle = 0x1000 + i * 0x100, .size = 1 << 20,
		     .owner = 0xc0, .place = 1 + i % 2, .stack = buffer);
	CALL(&t, clReleaseMemObject, 40, .handle = 0x1100, .stack = tick);
	CALL(&t, clCreateImage, 50, .handle = 0x2000, .size = 3000000, .owner = 0xc0, .place = 2,
	     .stack = image);
	CALL(&t, clCreateSubBuffer, 60, .handle = 0x3000, .size = 4096, .owner = 0x1000, .place = 1,
	     .stack = sub);
	CALL(&t, clHostMemAllocINTEL, 70, .handle = 0x4000, .size = 65536, .place = 2,
	     .stack = host);
	CALL(&t, clCreateBuffer, 500, .handle = 0x5000, .size = 64 << 20, .owner = 0xc0, .place = 1,
	     .stack = buffer);
	CALL(&t, clReleaseMemObject, 800, .handle = 0x5000, .stack = tick);
	for (unsigned i = 0; i < 120; i++)
		CALL(&t, clEnqueueNDRangeKernel, 900 + i * 10, .handle = 0x9000 + i * 16,
		     .owner = 0xc0,
		     .stack = tick);
	CALL(&t, clCreateUserEvent, 2399, .handle = 0x8000, .owner = 0xc0); /* no stack */
	end(&t);
}

/* Redundant releases, failures, an end within a call, what was lost. */
static void make_mistakes(void)
{
	struct trace t = { .base = 0x10000000, .modules = { "/app/bin/wrong" }, .module_count = 1,
			   .start_ns = START, .lost = 12, .lost_stacks = 3 };
	uint32_t made, ended, again, other;

	folder("mistakes.gt");
	write_info("mistakes.gt", "./bin/wrong", "signal", "11");
	begin(&t, "mistakes.gt", 300, 1,
	      "/app/bin/wrong", "./bin/wrong", 11);
	made = STACK(&t, { 0, 0x1100 }, { 0, 0x1200 });
	ended = STACK(&t, { 0, 0x2100 }, { 0, 0x1200 });
	again = STACK(&t, { 0, 0x3100 }, { 0, 0x1200 });
	other = STACK(&t, { 0, 0x4100 }, { 0, 0x1200 });
	CALL(&t, clCreateBuffer, 10, .handle = 0x1000, .size = 4096, .stack = made);
	CALL(&t, clReleaseMemObject, 20, .handle = 0x1000, .stack = ended);
	CALL(&t, clReleaseMemObject, 30, .handle = 0x1000, .stack = again, .failed = 1,
	     .result = -38);
	CALL(&t, clReleaseMemObject, 31, .handle = 0x1000, .stack = again, .failed = 1,
	     .result = -38);
	CALL(&t, clReleaseMemObject, 32, .handle = 0x1000, .stack = other, .failed = 1,
	     .result = -38);
	CALL(&t, clReleaseEvent, 40, .handle = 0x7777, .stack = other);
	for (unsigned i = 0; i < 3; i++)
		CALL(&t, clCreateBuffer, 50 + i, .size = 8ull << 30, .stack = made, .failed = 1,
		     .result = -4);
	CALL(&t, clCreateKernel, 60, .stack = other, .failed = 1, .result = -46);
	CALL(&t, clCreateSampler, 61, .stack = other, .failed = 1, .result = -9999);
	CALL(&t, clCreateBuffer, 70, .handle = 0x1000, .size = 4096, .stack = made);
	CALL(&t, clCreateBuffer, 71, .handle = 0x1000, .size = 8192, .stack = other);
	gt_lane_enter(t.lane, &(struct gt_event){ .function = GT_FN_clReleaseMemObject,
						  .handle = 0x1000, .time_ns = START + 80 * MS,
						  .stack = ended }, NULL);
	end(&t);
}

/* A parent and eight children through the same code, loaded elsewhere in each of them. */
static void make_family(void)
{
	folder("family.gt");
	write_info("family.gt", "./bin/family", "exit_status", "0");
	for (uint32_t i = 0; i < 9; i++) {
		struct trace t = { .base = 0x10000000 * (i + 1), .modules = { "/app/bin/family" },
				   .module_count = 1, .start_ns = START + i * 100 * MS,
				   .end_ns = i == 4 ? 0 : START + (i * 100 + 950) * MS };
		uint32_t at;

		begin(&t, "family.gt", 400 + i, i ? 400 : 1,
		      "/app/bin/family", "./bin/family", 12);
		at = STACK(&t, { 0, 0x1100 }, { 0, 0x1200 });
		CALL(&t, clCreateBuffer, i * 100 + 1, .handle = 0x1000, .size = 1 << 20,
		     .stack = at);
		CALL(&t, clCreateBuffer, i * 100 + 50, .handle = 0x2000, .size = i << 16,
		     .stack = at);
		if (i % 2)
			CALL(&t, clReleaseMemObject, i * 100 + 900, .handle = 0x1000, .stack = at);
		end(&t);
	}
}

/* Names that would harm a terminal, a table or a JSON reader that trusts them. */
static void make_hostile(void)
{
	static const char command[] = "sh\0-c\0echo \"\xf0\x9f\x92\xa9\" \xed\xa0\x80\n";
	static char endless[1800];
	struct trace t = { .base = 0x10000000, .start_ns = START, .end_ns = START + 100 * MS,
			   .modules = { "/app/\033[31mred\033[0m/\"quoted\"\tname",
					"/app/bad\xff\xfe\xc3utf8\nline\\slash", endless,
					"/app/\xe2\x80\xae" "gnp.exe\xc2\x9b" "2J",
					"/app/日本語/プログラム" },
			   .module_count = 5 };
	uint32_t a, b, c;

	memset(endless, 'x', sizeof endless - 1);
	memcpy(endless, "/app/", 5);
	folder("hostile.gt");
	write_info("hostile.gt", "./bin/\033]0;owned\007 \"a\tb\" \xff\xfe <script>", "exit_status",
		   "0\033[2J");
	begin(&t, "hostile.gt", 500, 1,
	      "/app/\033[5mblink", command, sizeof command - 1);
	gt_writer_place(t.writer, 1, GT_OPENCL, "Evil \033[41m Platform \r\n\t\x7f \xc0\xaf");
	a = STACK(&t, { 0, 0x1100 }, { 1, 0x1200 });
	b = STACK(&t, { 2, 0x1100 }, { 3, 0x1200 }, { 4, 0x1300 });
	c = STACK(&t, { 0x900, 0x1100 }); /* in no module */
	CALL(&t, clCreateBuffer, 10, .handle = UINT64_MAX, .size = UINT64_MAX / 4, .place = 1,
	     .stack = a);
	CALL(&t, clCreateBuffer, 11, .handle = 0x2000, .size = 1000, .place = 1, .stack = b);
	CALL(&t, clCreateBuffer, 12, .handle = 0x3000, .size = 1, .place = 1, .stack = c);
	end(&t);
}

/* Names that would become markup or script in a page that trusts them, and what was measured. */
static void make_markup(void)
{
	static const char script[] = "</script><script>window.owned=1</script>";
	static const char image[] = "<img src=x onerror=\"window.owned=1\">";
	struct trace t = { .base = 0x10000000, .start_ns = START, .end_ns = START + 100 * MS,
			   .modules = { "/app/<b>bold</b>/&amp;'\"`${window.owned=1}",
					"/app/--><svg/onload=window.owned=1>\xff\xfe\xe2\x80\xa8" },
			   .module_count = 2 };
	struct gt_text_frame frame = { .function = script, .file = image, .module = "<!--",
				       .line = 7 };
	struct gt_series used = { .name = script, .unit = "bytes", .subject = image };
	uint64_t frames[2];
	uint32_t a, b;
	uint16_t series;

	folder("markup.gt");
	write_info("markup.gt", "./bin/</title></script><script>window.owned=1</script>\x01\x7f",
		   "exit_status", "0");
	begin(&t, "markup.gt", 800, 1, script, image, sizeof image - 1);
	gt_writer_place(t.writer, 1, GT_OPENCL, image);
	a = STACK(&t, { 0, 0x1100 }, { 1, 0x1200 });
	frames[0] = frames[1] = gt_writer_text_frame(t.writer, &frame);
	b = gt_writer_stack(t.writer, frames, 2);
	series = gt_writer_series(t.writer, &used);
	for (unsigned i = 0; i < 10; i++) {
		gt_lane_sample(t.lane, series, START + (10 + i) * MS, (i + 1) << 20);
		CALL(&t, clCreateBuffer, 10 + i, .handle = 0x1000 + i, .size = 4096, .place = 1,
		     .stack = i % 2 ? a : b);
	}
	CALL(&t, clCreateBuffer, 40, .size = 1 << 20, .stack = b, .failed = 1, .result = -4);
	end(&t);
}

/* One trace cut short, one with a block destroyed, one that stopped on a full disk. */
static void make_damaged(void)
{
	int fd;

	folder("damaged.gt");
	write_info("damaged.gt", "./bin/damaged", "exit_status", "0");
	for (uint32_t pid = 600; pid < 603; pid++) {
		struct trace t = { .base = 0x10000000, .modules = { "/app/bin/damaged" },
				   .module_count = 1, .start_ns = START + (pid - 600) * MS,
				   .end_ns = START + 3000 * MS };
		uint32_t at;

		if (pid == 602) {
			t.state = GT_TRACE_STOPPED;
			t.error = ENOSPC;
		}
		begin(&t, "damaged.gt", pid, 1,
		      "/app/bin/damaged", "./bin/damaged", 13);
		at = STACK(&t, { 0, 0x1100 }, { 0, 0x1200 });
		for (uint32_t i = 0; i < 1200; i++)
			CALL(&t, clCreateBuffer, i + pid - 600,
			     .handle = 0x100000 * (pid - 599) + i * 64,
			     .size = 1024, .stack = at);
		end(&t);
	}
	if (truncate("damaged.gt/600.trace", 16384))
		die("damaged.gt");
	/* the lane's second block */
	fd = open("damaged.gt/601.trace", O_WRONLY);
	if (fd < 0 || pwrite(fd, "\xde\xad\xbe\xef", 4, 12288) != 4)
		die("damaged.gt/601.trace");
	close(fd);
}

/* Nothing was tracked at all; a process was, but made no call that counts. */
/* Device memory measured while the program ran; a series of another unit belongs to no picture. */
static void make_sampled(void)
{
	struct trace t = { .base = 0x10000000, .modules = { "/app/bin/sampled" }, .module_count = 1,
			   .start_ns = START, .end_ns = START + 900 * MS };
	uint16_t used, files;
	uint32_t at;

	folder("sampled.gt");
	write_info("sampled.gt", "./bin/sampled", "exit_status", "0");
	begin(&t, "sampled.gt", 800, 1, "/app/bin/sampled", "./bin/sampled", 13);
	used = gt_writer_series(t.writer, &(struct gt_series){
		.name = "device memory used", .unit = "bytes", .subject = "GPU 0: NVIDIA H200" });
	files = gt_writer_series(t.writer, &(struct gt_series){
		.name = "open files", .unit = "files", .subject = "" });
	at = STACK(&t, { 0, 0x1100 }, { 0, 0x1200 });
	for (unsigned i = 0; i < 8; i++) {
		CALL(&t, clCreateBuffer, 10 + i * 100, .handle = 0x1000 + i, .size = 32 << 20,
		     .stack = at);
		gt_lane_sample(t.lane, used, START + (20 + i * 100) * MS, (450 + 32 * i) << 20);
		gt_lane_sample(t.lane, files, START + (20 + i * 100) * MS, 7);
	}
	end(&t);
}

/*
 * What attach leaves: a process that went on when it was let go, the same after another one had
 * ended, one whose trace has not all that was lost, and one with calls of which this gputrack knows
 * nothing.
 */
static void make_attached(void)
{
	static const struct {
		const char *name, *running, *lost;
		bool is_kept, is_foreign, has_another;
	} made[] = {
		{ .name = "attached.gt", .running = "1", .lost = "0", .is_kept = true },
		{ .name = "outlived.gt", .running = "1", .lost = "0", .is_kept = true,
		  .has_another = true },
		{ .name = "lossy.gt", .running = "0", .lost = "1009",
		  .has_another = true },
		{ .name = "foreign.gt", .running = "0", .lost = "0", .is_foreign = true },
	};

	for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
		struct trace t = { .base = 0x10000000, .modules = { "/app/bin/service" },
				   .module_count = 1, .start_ns = START,
				   .end_ns = START + 900 * MS };
		struct gt_info *info = begin_info("gputrack attach -p 900");
		uint32_t at;

		t.lost = strcmp(made[i].lost, "0") ? 2 : 0;
		gt_info_set(info, "capture", "attach");
		gt_info_set(info, "running", made[i].running);
		gt_info_set(info, "lost", made[i].lost);
		folder(made[i].name);
		end_info(info, made[i].name);
		begin(&t, made[i].name, 900, 1, "/app/bin/service", "./bin/service", 13);
		at = STACK(&t, { 0, 0x1100 }, { 0, 0x1200 });
		CALL(&t, cuMemAlloc_v2, 10, .handle = 0x1000, .size = 6 << 20, .stack = at);
		CALL(&t, cuMemAlloc_v2, 20, .handle = 0x2000, .size = 2 << 20, .stack = at);
		CALL(&t, cuMemFree_v2, 700, .handle = 0x1000, .stack = at);
		if (made[i].is_foreign)
			CALL(&t, NONE, 750, .handle = 0x3000, .stack = at);
		if (!made[i].is_kept)
			CALL(&t, cuMemFree_v2, 800, .handle = 0x2000, .stack = at);
		else
			gt_writer_info(t.writer, "went_on", "1", 1);
		end(&t);
		if (!made[i].has_another)
			continue;
		/* its losses are its own */
		t.lost = t.lost ? 500 : 0;
		begin(&t, made[i].name, 901, 1, "/app/bin/service", "./bin/service", 13);
		CALL(&t, cuMemAlloc_v2, 10, .handle = 0x1000, .size = 1 << 20);
		if (!made[i].is_kept)
			CALL(&t, cuMemFree_v2, 20, .handle = 0x1000);
		else
			gt_writer_info(t.writer, "residue", "6400 KB, CommandList 6400", 25);
		end(&t);
	}
}

static void make_nothing(void)
{
	struct trace t = { .start_ns = START, .end_ns = START + 5 * MS };

	folder("untracked.gt");
	write_info("untracked.gt", "/bin/true", "exit_status", "0");
	folder("silent.gt");
	write_info("silent.gt", "./bin/silent", "exit_status", "0");
	begin(&t, "silent.gt", 700, 1,
	      "/app/bin/silent", "./bin/silent", 12);
	end(&t);
}

/* A stack of two functions that are known by their words: what, and who called it. */
static uint32_t named(struct trace *t, const char *function, const char *file, uint32_t line)
{
	uint64_t frames[] = {
		gt_writer_text_frame(t->writer, &(struct gt_text_frame){
			.function = function, .file = file, .module = "/app/bin/game",
			.line = line }),
		gt_writer_text_frame(t->writer, &(struct gt_text_frame){
			.function = "main", .file = "/app/src/main.c", .module = "/app/bin/game",
			.line = 20 }),
	};

	return gt_writer_stack(t->writer, frames, 2);
}

static void leak(struct trace *t, uint32_t at, unsigned count, uint64_t size)
{
	static uint64_t handle = 0x1000;

	for (unsigned i = 0; i < count; i++, handle += 16) {
		uint64_t ms = (handle >> 4) % 500;

		if (size)
			CALL(t, clCreateBuffer, ms, .handle = handle, .size = size, .stack = at);
		else
			CALL(t, clCreateUserEvent, ms, .handle = handle, .stack = at);
	}
}

/* Two builds of one program: sites that stay with their lines moved, grow, shrink, come and go. */
static void make_builds(void)
{
	for (int after = 0; after < 2; after++) {
		const char *name = after ? "after.gt" : "before.gt";
		const char *root = after ? "/ci/42/src" : "/ci/41/src";
		struct trace t = { .start_ns = START, .end_ns = START + 600 * MS };
		char file[64];

		folder(name);
		write_info(name, "./bin/game", "exit_status", "0");
		begin(&t, name, 800, 1, "/app/bin/game", "./bin/game", 10);
		snprintf(file, sizeof file, "%s/texture.c", root);
		leak(&t, named(&t, "load_texture", file, after ? 52 : 40), 2, 4 << 20);
		snprintf(file, sizeof file, "%s/loop.c", root);
		leak(&t, named(&t, "tick", file, 10), after ? 50 : 5, 0);
		snprintf(file, sizeof file, "%s/cache.c", root);
		leak(&t, named(&t, "cache::fill<int*>", file, 7), after ? 1 : 3, 65536);
		snprintf(file, sizeof file, "%s/%s.c", root, after ? "upload" : "scratch");
		leak(&t, named(&t, after ? "upload" : "make_scratch", file, 99), 1, 1 << 20);
		end(&t);
	}
}

/* More call sites than GitHub shows, with names that try to be something else. */
static void make_many(void)
{
	static const char *const names[] = {
		"=cmd|' /C calc'!A0", "a;b", "x\" onload=\"y", "<script>&amp;", "::error::no%0A",
		"line\nbreak", "tab\there", "\033[31mred", "bad\xff\xfeutf8", ("\xe2\x80\xae" "rtl"),
		"operator*", "^anchors$", "nul\001one",
	};
	struct trace t = { .start_ns = START, .end_ns = START + 600 * MS };

	folder("many.gt");
	write_info("many.gt", "./bin/many \"quoted\" \\ \n", "exit_status", "0");
	begin(&t, "many.gt", 900, 1, "/app/bin/many", "./bin/many", 10);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		leak(&t, named(&t, names[i], i % 2 ? "/app/src/a, b:c%d.c" : "/app/src/plain.c",
			       (uint32_t)i + 1), 1, (i + 1) * 1000);
	end(&t);
}

/* Four ranks of one job, and what started them. */
static void make_ranks(void)
{
	folder("ranks.gt");
	write_info("ranks.gt", "mpirun -n 4 ./solver", "exit_status", "0");
	for (uint32_t i = 0; i < 5; i++) {
		static const char launch[] = "python3\0-u\0launch.py";
		struct trace t = { .start_ns = START + i * MS, .end_ns = START + (500 + i) * MS };
		char rank[16];

		if (i)
			begin(&t, "ranks.gt", 1000 + i, 1000, "/app/bin/solver", "./solver", 8);
		else
			begin(&t, "ranks.gt", 1000, 1, "/usr/bin/python3.11", launch,
			      sizeof launch - 1);
		snprintf(rank, sizeof rank, "%u", i - 1);
		if (i) {
			gt_writer_info(t.writer, "rank", rank, strlen(rank));
			leak(&t, named(&t, "solve", "/app/src/solve.c", 3), i == 3, 4096);
		}
		end(&t);
	}
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: make_recordings FOLDER\n");
		return 2;
	}
	if (chdir(argv[1]))
		die(argv[1]);
	make_clean();
	make_growing();
	make_leaks();
	make_mistakes();
	make_family();
	make_hostile();
	make_damaged();
	make_sampled();
	make_markup();
	make_attached();
	make_nothing();
	make_builds();
	make_many();
	make_ranks();
	return 0;
}
