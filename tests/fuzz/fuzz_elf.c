/* SPDX-License-Identifier: MIT */
/* fuzz_elf.c - any bytes as a program: names and lines, segments, unwinding by its tables. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture/ebpf/modules.h"
#include "capture/ebpf/unwind.h"
#include "fuzz.h"
#include "symbol/symbol.h"

enum { ADDRESSES = 40 };

/* Addresses where programs have code, and some where they have none. */
static uint64_t address(unsigned i)
{
	return i < 32 ? 0x1000 + i * 0x20 : UINT64_C(1) << (i - 32) * 8;
}

static void name_all(const char *path)
{
	struct gt_symbolizer *s;
	const struct gt_frame *frames;
	int module;

	FUZZ_CHECK(!gt_symbolizer_new(&s, NULL));
	module = gt_symbolizer_module(s, &(struct gt_symbol_module){ .path = path });
	FUZZ_CHECK(module >= 0);
	for (unsigned i = 0; i < ADDRESSES; i++) {
		size_t count = gt_symbolizer_resolve(s, module, address(i), &frames);

		FUZZ_CHECK(count);
		for (size_t k = 0; k < count; k++)
			FUZZ_CHECK(frames[k].module);
	}
	gt_symbolizer_free(s);
}

static void unwind_all(const char *path)
{
	struct gt_images images = { .keep_open = true };
	struct gt_mapping map = {
		.start = 0x1000, .end = 0x100000, .is_code = true, .path = (char *)(uintptr_t)path
	};
	struct gt_image *image = gt_images_get(&images, &map, (uint32_t)getpid());
	struct gt_probe_stack from = { .other_count = 0 };
	uint64_t frames[32];
	uint8_t stack[2048];

	for (size_t i = 0; i < sizeof stack; i++)
		stack[i] = (uint8_t)(i * 7);
	for (unsigned i = 0; image && i < ADDRESSES; i++) {
		struct gt_mapped mapped = { .start = 0, .size = UINT64_MAX, .image = image };
		struct gt_modules modules = { .list = &mapped, .count = 1 };

		for (unsigned k = 0; k < GT_PROBE_REGISTERS; k++)
			from.registers[k] = 0x7fff0000 + k * 8;
		from.registers[16] = address(i);
		FUZZ_CHECK(gt_unwind_copy(&modules, &from, stack, sizeof stack, frames, 32) <= 32);
	}
	gt_images_fini(&images);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[64];

	/* by its number in this process: /proc/PID/root leads there too */
	snprintf(path, sizeof path, "%s", fuzz_file(data, size));
	name_all(path);
	unwind_all(path);
	return 0;
}
