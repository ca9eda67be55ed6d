/* SPDX-License-Identifier: MIT */
/* make_names.c - a recording whose functions have long names, and callers that look alike. */
#include "make_recordings.h"

#include "recording_maker.h"

#define HEADERS "/usr/include/c++/12/bits/"
#define BUFFER  "gpu::Buffer<float, gpu::Place<gpu::device, 256> >"
#define VECTOR  "std::vector<" BUFFER ", std::allocator<" BUFFER " > >"

/* Innermost first; ended by one without a function. */
struct call {
	const char *function, *file;
	uint32_t line;
};

static const struct call made = { BUFFER "::Buffer", "/app/src/buffer.hpp", 12 };
static const struct call constructed = { "std::allocator_traits<std::allocator<" BUFFER
					 " > >::construct<" BUFFER ", int>",
					 HEADERS "alloc_traits.h", 516 };
static const struct call inserted = { VECTOR "::_M_realloc_insert<int>", HEADERS "vector.tcc",
				      462 };
static const struct call added = { VECTOR "::emplace_back<int>", HEADERS "vector.tcc", 123 };
static const struct call grown = { "gpu::Pool::grow", "/app/src/pool.cpp", 21 };
static const struct call filled = { "make", "/app/src/make.c", 2 };
static const struct call shifted = {
	"render::operator<< <render::Pass<render::Stage<render::shadow, 4> >, gpu::Buffer<float> >",
	"/app/src/a/folder/with/a/rather/long/name/passes.hpp", 77
};

static uint32_t stack_of(struct trace *t, const struct call *calls)
{
	uint64_t frames[8];
	size_t count = 0;

	for (; calls[count].function; count++)
		frames[count] = gt_writer_text_frame(
			t->writer, &(struct gt_text_frame){ .function = calls[count].function,
							    .file = calls[count].file,
							    .line = calls[count].line,
							    .module = "/app/bin/names" });
	return gt_writer_stack(t->writer, frames, count);
}

static struct call from_main(uint32_t line)
{
	return (struct call){ "main", "/app/src/main.cpp", line };
}

#define LEAK(t, size, ...)                                                                         \
	leak(t, stack_of(t, (const struct call[]){ __VA_ARGS__, { 0 } }), 1, size)

void make_names(void)
{
	struct trace t = { .start_ns = START, .end_ns = START + 600 * MS };

	folder("names.gt");
	write_info("names.gt", "./bin/names", "exit_status", "0");
	begin(&t, "names.gt", 950, 1, "/app/bin/names", "./bin/names", 11);
	LEAK(&t, 9000, made, constructed, inserted, added, grown, from_main(30));
	LEAK(&t, 8000, made, constructed, added, grown, from_main(30));
	LEAK(&t, 7000, shifted, from_main(31));
	for (uint32_t i = 0; i < 3; i++)
		LEAK(&t, 6000 - i * 1000, filled, from_main(40 + i));
	LEAK(&t, 3000, filled, { "start", "/app/src/start.c", 5 }, from_main(43));
	LEAK(&t, 2000, constructed, added);
	/* of two stacks as deep as was recorded, one has its beginning */
	gt_writer_info(t.writer, "stack_depth", "6", 1);
	LEAK(&t, 1000, filled, grown, grown, grown, from_main(50), { "_start", NULL, 0 });
	end(&t);
}
