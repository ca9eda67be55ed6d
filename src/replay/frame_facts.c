/* SPDX-License-Identifier: MIT */
/* frame_facts.c - what the rules of places and of plumbing ask of a frame, as flags and hashes. */
#include "replay/frame_facts.h"

#include <stdlib.h>
#include <string.h>

#include "api/functions.h"
#include "base/bytes.h"
#include "base/function_name.h"
#include "base/mem.h"
#include "base/text.h"
#include "replay/jit_names.h"
#include "replay/phase.h"
#include "replay/place.h"
#include "replay/process_text.h"

/* CUDA's runtime inside a program that was linked with it: it has names, but no lines. */
static bool is_cuda_runtime(const struct gt_frame *frame)
{
	static const char *const names[] = { "libcudart_static_", "__cudart", "cudart::", "__cuda",
					     "_cuda" };

	if (!frame->function || frame->file)
		return false;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (gt_text_begins(frame->function, names[i]))
			return true;
	return gt_text_begins(frame->function, "cuda") && frame->function[4] >= 'A' &&
	       frame->function[4] <= 'Z';
}

/* Between the program's call and us: loaders, drivers' front ends, our own library. */
static bool is_inner_plumbing(const struct gt_frame *frame)
{
	static const char *const libraries[] = {
		"libze_validation_layer.so",
		"libcupti",
		"libcudart",
		"libgputrack",
		"libffi.so",
		"_ctypes.",
	};

	/* what tells us the blocks of a program's own pools: gputrack/pool.h, Python's, NVTX */
	if ((frame->function && (gt_text_begins(frame->function, "gputrack_pool_") ||
				 gt_text_begins(frame->function, "nvtxMem"))) ||
	    (frame->file && !strcmp(gt_path_name(frame->file), "gputrack_pool.py")))
		return true;
	/* the C++ face of CUDA's runtime: templates that call the function of the same name */
	if (frame->file && gt_text_begins(gt_path_name(frame->file), "cuda_runtime"))
		return true;
	if (!frame->module)
		return false;
	for (int i = 0; i < GT_API_COUNT; i++)
		if (gt_text_begins(gt_path_name(frame->module), gt_api_libraries[i]))
			return true;
	for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++)
		if (gt_text_begins(gt_path_name(frame->module), libraries[i]))
			return true;
	return is_cuda_runtime(frame);
}

static bool is_libc_path(const char *path)
{
	const char *name = gt_path_name(path);

	return gt_text_begins(name, "libc.so") || gt_text_begins(name, "libpthread.so") ||
	       gt_text_begins(name, "ld-linux");
}

static bool is_libc(const struct gt_frame *frame)
{
	return frame->module && is_libc_path(frame->module);
}

/* What starts a program or a thread. The C library's own frames have names only with symbols. */
static bool is_outer_plumbing(const struct gt_frame *frame)
{
	/* clang-format off */
	static const char *const functions[] = {
		"_start", "__libc_start_main", "__libc_start_call_main", "start_thread", "clone",
		"clone3", "__clone", "__clone3", "_dl_start_user",
	};
	/* clang-format on */

	if (!frame->function)
		return is_libc(frame);
	if (gt_text_begins(frame->function, "__libc_start_main"))
		return true;
	for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
		if (!strcmp(frame->function, functions[i]))
			return true;
	return false;
}

/* "cudaMalloc", "cuMemAlloc_v2": the API's own function, and no template that calls it. */
static bool is_cuda_call(const struct gt_frame *frame)
{
	const char *name = frame->function ? frame->function : "";
	size_t head = gt_text_begins(name, "cuda") ? 4 : gt_text_begins(name, "cu") ? 2 : 0;

	return head && name[head] >= 'A' && name[head] <= 'Z' && !strpbrk(name, " <(:");
}

static uint32_t start_of(const struct gt_frame *frame)
{
	const char *name = frame->function;

	if (!name)
		return 0;
	return (!strcmp(name, "main") ? GT_FRAME_MAIN : 0) |
	       (!strcmp(name, "main") && !frame->file ? GT_FRAME_MADE_MAIN : 0) |
	       (gt_text_begins(name, "std::rt::lang_start") ? GT_FRAME_RUST : 0);
}

uint32_t gt_frame_plumbing(const struct gt_frame *frame)
{
	/* a range may have any name */
	if (gt_frame_is_phase(frame))
		return GT_FRAME_NAMED;
	return start_of(frame) | (frame->function ? GT_FRAME_NAMED : 0) |
	       (is_inner_plumbing(frame) ? GT_FRAME_INNER : 0) |
	       (is_outer_plumbing(frame) ? GT_FRAME_OUTER : 0) |
	       (is_libc(frame) ? GT_FRAME_LIBC : 0) | (is_cuda_call(frame) ? GT_FRAME_CALL : 0);
}

struct gt_fold gt_frame_fold(const struct gt_frame_facts *frames, size_t count, bool keep_call)
{
	size_t first = 0, call, end = count;

	while (first < end && frames[first].flags & GT_FRAME_INNER)
		first++;
	for (call = keep_call ? first : 0; call > 0; call--)
		if (frames[call - 1].flags & GT_FRAME_CALL)
			break;
	if (call)
		first--;
	/* the nameless caller of the C library's start is _start of a stripped program */
	if (end - first > 2 && !(frames[end - 1].flags & GT_FRAME_NAMED) &&
	    frames[end - 2].flags & GT_FRAME_LIBC && frames[end - 2].flags & GT_FRAME_OUTER)
		end--;
	while (end > first && frames[end - 1].flags & GT_FRAME_OUTER)
		end--;
	if (end - first > 1 && frames[end - 1].flags & GT_FRAME_MADE_MAIN &&
	    frames[end - 2].flags & GT_FRAME_RUST)
		end--;
	if (first == end)
		return (struct gt_fold){ .first = 0, .end = count, .call = 0 };
	return (struct gt_fold){ .first = first, .end = end, .call = call ? call - 1 : first };
}

static bool is_in_libc(const struct gt_recording *r, uint32_t frame)
{
	uint32_t module = gt_recording_frame(r, frame)->module;

	return module < gt_recording_module_count(r) &&
	       is_libc_path(gt_recording_module(r, module)->path);
}

struct gt_stack_start gt_stack_start(const struct gt_recording *r, uint32_t stack,
				     const uint32_t *numbers, size_t count)
{
	size_t first = count ? count - 1 : 0;
	bool is_libc_last = count && is_in_libc(r, numbers[first]);

	while (first > 0 && is_in_libc(r, numbers[first - 1]))
		first--;
	if (!is_libc_last && first + 1 >= count)
		first = count;
	return (struct gt_stack_start){ .first = first,
					.is_thread = is_libc_last && first && count - first == 2 &&
						     !gt_recording_stack_cut(r, stack) };
}

bool gt_frame_is_border(const struct gt_frame *frame)
{
	return frame->module && !strcmp(frame->module, GT_AUTOGRAD);
}

bool gt_frame_is_python(const struct gt_frame *frame)
{
	return frame->module && !strcmp(frame->module, GT_PYTHON);
}

/* "_cl.cpython-311-x86_64-linux-gnu.so" -> "_cl.so" */
static char *module_name(const char *path)
{
	const char *name = gt_path_name(path), *tag = strstr(name, ".cpython-"), *end;
	char *text;

	if (!tag)
		tag = strstr(name, ".abi3.");
	end = tag ? strstr(tag, ".so") : NULL;
	if (!end || asprintf(&text, "%.*s%s", (int)(tag - name), name, end) < 0)
		return gt_strdup(name);
	return text;
}

/* Names of library functions: their last two parts tell enough. */
char *gt_frame_via(const struct gt_frame *frame)
{
	char *name, *tail;

	if (!frame->function)
		return module_name(frame->module ? frame->module : "");
	name = gt_place_function(frame);
	if (gt_frame_is_python(frame))
		return name;
	tail = gt_strdup(gt_function_tail(name));
	free(name);
	return tail;
}

static bool is_cxx_library(const struct gt_frame *frame)
{
	return frame->function && (gt_text_begins(frame->function, "std::") ||
				   gt_text_begins(frame->function, "__gnu_cxx::"));
}

static bool is_plain_library(const struct gt_frame *frame)
{
	static const char *const common[] = { "libc.so", "libpthread.so", "ld-linux", "libffi.so",
					      "_ctypes." };

	if (!frame->module || !strstr(gt_path_name(frame->module), ".so") ||
	    gt_is_interpreter(frame->module))
		return false;
	for (size_t i = 0; i < sizeof common / sizeof *common; i++)
		if (gt_text_begins(gt_path_name(frame->module), common[i]))
			return false;
	return true;
}

static uint32_t flags_of(struct gt_own *own, const struct gt_frame *frame)
{
	const char *module = frame->module;

	return gt_frame_plumbing(frame) | (gt_own_is(own, frame) ? GT_FRAME_OWN : 0) |
	       (is_cxx_library(frame) ? GT_FRAME_CXX : 0) |
	       (module && gt_is_interpreter(module) ? GT_FRAME_INTERPRETER : 0) |
	       (is_plain_library(frame) ? GT_FRAME_LIBRARY : 0) |
	       (module && !strcmp(module, GT_JIT_MODULE) ? GT_FRAME_JIT : 0) |
	       (gt_frame_is_border(frame) ? GT_FRAME_BORDER : 0) |
	       (!module || gt_own_is_program(own, module) ? GT_FRAME_PROGRAM : 0);
}

uint64_t gt_facts_add(uint64_t hash, uint64_t number)
{
	return gt_mix64(hash * 31 ^ number);
}

uint64_t gt_facts_add_word(uint64_t hash, const char *word)
{
	return gt_facts_add(hash, word ? gt_hash_bytes(word, strlen(word)) : 1);
}

struct gt_frame_facts gt_frame_facts_of(struct gt_own *own, const struct gt_frame *frame)
{
	const char *module = frame->module ? gt_path_name(frame->module) : NULL;
	char *name = gt_place_function(frame), *via = gt_frame_via(frame);
	struct gt_frame_facts facts = { .name = gt_facts_add_word(1, name),
					.via = (uint32_t)gt_facts_add_word(1, via),
					.flags = flags_of(own, frame) };

	facts.words = facts.name;
	facts.site = gt_facts_add_word(2, module);
	if (frame->function) {
		facts.words = gt_facts_add_word(facts.words, frame->file ? frame->file : module);
		facts.words = gt_facts_add(facts.words, frame->line);
		facts.site =
			gt_facts_add_word(facts.name, frame->file ? gt_path_name(frame->file) : "");
	}
	if (frame->module)
		facts.module = (uint32_t)gt_facts_add_word(3, frame->module) | 1;
	free(name);
	free(via);
	return facts;
}
