/* SPDX-License-Identifier: MIT */
/* make_builds.c - recordings for continuous integration: two builds of a program, many leaks. */
#include "make_recordings.h"

#include <stdio.h>

#include "recording_maker.h"

/*
 * Two builds of one program: sites stay with moved lines, grow, shrink, appear and disappear; the
 * first lacks some calls, the second has slightly smaller textures.
 */
void make_builds(void)
{
	static const struct {
		const char *name;
		bool after;
		uint64_t texture, lost;
	} builds[] = {
		{ "before.gt", false, 4 << 20, 0 },
		{ "after.gt", true, 4 << 20, 0 },
		{ "gappy.gt", false, 4 << 20, 7 },
		{ "smaller.gt", true, (4 << 20) - 1000, 0 },
	};

	for (size_t i = 0; i < sizeof builds / sizeof *builds; i++) {
		const char *name = builds[i].name;
		bool after = builds[i].after;
		const char *root = after ? "/ci/42/src" : "/ci/41/src";
		struct trace t = { .start_ns = START,
				   .end_ns = START + 600 * MS,
				   .lost = builds[i].lost };
		char file[64];

		folder(name);
		write_info(name, "./bin/game", "exit_status", "0");
		begin(&t, name, 800, 1, "/app/bin/game", "./bin/game", 10);
		snprintf(file, sizeof file, "%s/texture.c", root);
		leak(&t, named(&t, "load_texture", file, after ? 52 : 40), 2, builds[i].texture);
		snprintf(file, sizeof file, "%s/loop.c", root);
		leak(&t, named(&t, "tick", file, 10), after ? 50 : 5, 0);
		snprintf(file, sizeof file, "%s/cache.c", root);
		leak(&t, named(&t, "cache::fill<int*>", file, 7), after ? 1 : 3, 65536);
		snprintf(file, sizeof file, "%s/%s.c", root, after ? "upload" : "scratch");
		leak(&t, named(&t, after ? "upload" : "make_scratch", file, 99), 1, 1 << 20);
		end(&t);
	}
}

/* More call sites than GitHub shows, with names that imitate syntax. */
void make_many(void)
{
	/* clang-format off */
	static const char *const names[] = {
		"=cmd|' /C calc'!A0", "a;b", "x\" onload=\"y", "<script>&amp;", "::error::no%0A",
		"line\nbreak", "tab\there", "\033[31mred", "bad\xff\xfeutf8", ("\xe2\x80\xae" "rtl"),
		"operator*", "^anchors$", "nul\001one",
	};
	/* clang-format on */
	struct trace t = { .start_ns = START, .end_ns = START + 600 * MS };

	folder("many.gt");
	write_info("many.gt", "./bin/many \"quoted\" \\ \n", "exit_status", "0");
	begin(&t, "many.gt", 900, 1, "/app/bin/many", "./bin/many", 10);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		leak(&t,
		     named(&t, names[i], i % 2 ? "/app/src/a, b:c%d.c" : "/app/src/plain.c",
			   (uint32_t)i + 1),
		     1, (i + 1) * 1000);
	end(&t);
}
