/* SPDX-License-Identifier: MIT */
/* make_hostile.c - recordings with harmful names, and damaged ones. */
#include "make_recordings.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "recording_maker.h"
#include "trace/layout.h"

/* Names that would harm a terminal, a table or a JSON reader that trusts them. */
void make_hostile(void)
{
	static const char command[] = "sh\0-c\0echo \"\xf0\x9f\x92\xa9\" \xed\xa0\x80\n";
	static char endless[1800];
	struct trace t = { .base = 0x10000000,
			   .start_ns = START,
			   .end_ns = START + 100 * MS,
			   .modules = { "/app/\033[31mred\033[0m/\"quoted\"\tname",
					"/app/bad\xff\xfe\xc3utf8\nline\\slash", endless,
					"/app/\xe2\x80\xae"
					"gnp.exe\xc2\x9b"
					"2J",
					"/app/日本語/プログラム" },
			   .module_count = 5 };
	uint32_t a, b, c;

	memset(endless, 'x', sizeof endless - 1);
	memcpy(endless, "/app/", 5);
	folder("hostile.gt");
	write_info("hostile.gt", "./bin/\033]0;owned\007 \"a\tb\" \xff\xfe <script>", "exit_status",
		   "0\033[2J");
	begin(&t, "hostile.gt", 500, 1, "/app/\033[5mblink", command, sizeof command - 1);
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
void make_markup(void)
{
	static const char script[] = "</script><script>window.owned=1</script>";
	static const char image[] = "<img src=x onerror=\"window.owned=1\">";
	struct trace t = { .base = 0x10000000,
			   .start_ns = START,
			   .end_ns = START + 100 * MS,
			   .modules = { "/app/<b>bold</b>/&amp;'\"`${window.owned=1}",
					"/app/--><svg/onload=window.owned=1>\xff\xfe\xe2\x80\xa8" },
			   .module_count = 2 };
	struct gt_text_frame frame = {
		.function = script, .file = image, .module = "<!--", .line = 7
	};
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
void make_damaged(void)
{
	int fd;

	folder("damaged.gt");
	write_info("damaged.gt", "./bin/damaged", "exit_status", "0");
	for (uint32_t pid = 600; pid < 603; pid++) {
		struct trace t = { .base = 0x10000000,
				   .modules = { "/app/bin/damaged" },
				   .module_count = 1,
				   .start_ns = START + (pid - 600) * MS,
				   .end_ns = START + 3000 * MS };
		uint32_t at;

		if (pid == 602) {
			t.state = GT_TRACE_STOPPED;
			t.error = ENOSPC;
		}
		begin(&t, "damaged.gt", pid, 1, "/app/bin/damaged", "./bin/damaged", 13);
		at = STACK(&t, { 0, 0x1100 }, { 0, 0x1200 });
		for (uint32_t i = 0; i < 1200; i++)
			CALL(&t, clCreateBuffer, i + pid - 600,
			     .handle = 0x100000 * (pid - 599) + i * 64, .size = 1024, .stack = at);
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
