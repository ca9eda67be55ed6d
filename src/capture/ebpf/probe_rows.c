/* SPDX-License-Identifier: MIT */
/* probe_rows.c - what the BPF programs record of a call, and its reconstruction as a call. */
#include "capture/ebpf/probe_rows.h"

#include "api/levelzero_device.h"
#include "capture/ebpf/pool_calls.h"
#include "capture/ebpf/python_records.h"

/* Signatures as written: "((ze_context_handle_t, hContext), (ze_ipc_mem_handle_t, handle))". */
static const char *const signatures[GT_FN_COUNT] = {
#define FN(fn, ret, args, ...) [GT_FN_##fn] = #args,
#define ALSO(...)
#include "api/apis.def"
#undef FN
#undef ALSO
};

/* Structures passed by value: how those of more than two words are passed, a convention says. */
static const struct {
	const char *type;
	unsigned words;
} by_value[] = {
	{ "ze_ipc_mem_handle_t", 8 }, { "ze_ipc_event_pool_handle_t", 8 },
	{ "gt_ze_ipc_handle", 8 },    { "CUipcMemHandle", 8 },
	{ "CUipcEventHandle", 8 },    { "ze_group_count_t", 2 },
	{ "gt_ze_group_size", 2 },
};

static const char *skip(const char *text, const char *word)
{
	size_t size = strlen(word);

	return strncmp(text, word, size) ? text : text + size;
}

/* Words that an argument takes; `text` is at its type. */
static unsigned words_of(const char *text)
{
	size_t size;

	text = skip(text, "const ");
	size = strcspn(text, ",");
	for (size_t i = 0; i < sizeof by_value / sizeof *by_value; i++)
		if (strlen(by_value[i].type) == size && !strncmp(by_value[i].type, text, size))
			return by_value[i].words;
	return 1;
}

const struct gt_calling gt_callings[GT_CALLING_COUNT] = {
	[GT_CALLING_X86_64] = { .registers = 6 },
	[GT_CALLING_AARCH64] = { .registers = 8, .large_is_behind = true, .fills_in_order = true },
};

uint8_t gt_plan_where_by(const struct gt_calling *calling, enum gt_function_id function,
			 unsigned argument)
{
	const char *at = signatures[function];
	unsigned registers = 0, stack = 0, words, where = 0, behind = 0;

	for (unsigned i = 0; i <= argument; i++) {
		at = strchr(at + 1, '(');
		if (!at)
			return GT_PROBE_NONE;
		words = words_of(at + 1);
		behind = calling->large_is_behind && words > 2 ? GT_PROBE_BEHIND : 0;
		if (behind)
			words = 1;
		if (words <= 2 && registers + words <= calling->registers) {
			where = registers;
			registers += words;
		} else {
			where = calling->registers + stack;
			stack += words;
			if (calling->fills_in_order)
				registers = calling->registers;
		}
	}
	return (uint8_t)(where | behind);
}

uint8_t gt_plan_where(enum gt_function_id function, unsigned argument)
{
	return gt_plan_where_by(&gt_callings[GT_CALLING_HERE], function, argument);
}

/* The index of an argument among the words kept. */
static uint8_t keep_word(struct gt_plan *plan, enum gt_function_id function, uint8_t argument)
{
	struct gt_plan_argument *a = &plan->arguments[argument];

	if (a->how == GT_PLAN_UNUSED) {
		if (plan->row.words == GT_PROBE_WORDS)
			return GT_PROBE_NONE;
		a->how = GT_PLAN_WORD;
		a->word = plan->row.words++;
		plan->row.where[a->word] = gt_plan_where(function, argument);
	}
	return a->word;
}

/* Keeps `size` bytes at an offset of what the argument points to. */
static uint8_t keep_copy(struct gt_plan *plan, enum gt_function_id function, uint8_t argument,
			 uint8_t offset, uint8_t size)
{
	uint8_t word = keep_word(plan, function, argument);

	if (word == GT_PROBE_NONE || plan->row.copies == GT_PROBE_COPIES)
		return GT_PROBE_NONE;
	plan->arguments[argument].how = GT_PLAN_COPY;
	plan->arguments[argument].copy = plan->row.copies;
	plan->arguments[argument].offset = offset;
	plan->row.copy[plan->row.copies++] =
		(struct gt_probe_copy){ .word = word, .offset = offset, .size = size };
	return word;
}

static uint8_t keep_array(struct gt_plan *plan, enum gt_function_id function,
			  const struct gt_ref *ref)
{
	bool after = ref->from == GT_OUTS;

	plan->row.array = keep_word(plan, function, ref->arg);
	plan->row.array_count = keep_word(plan, function, ref->count);
	plan->row.array_after = after;
	if (ref->room < gt_functions[function].argc)
		plan->row.array_room = keep_word(plan, function, ref->room);
	plan->arguments[ref->arg].how = GT_PLAN_ARRAY;
	plan->arguments[ref->count].how = after ? GT_PLAN_COUNT_AT : GT_PLAN_COUNT;
	return plan->row.array;
}

static void plan_effect(struct gt_plan *plan, enum gt_function_id function,
			const struct gt_function *fn)
{
	uint8_t handle = GT_PROBE_NONE, unless = GT_PROBE_NONE;

	switch ((enum gt_from)fn->handle.from) {
	case GT_IN: handle = keep_word(plan, function, fn->handle.arg); break;
	case GT_OUT: handle = keep_copy(plan, function, fn->handle.arg, 0, 8); break;
	case GT_INS:
	case GT_OUTS: handle = keep_array(plan, function, &fn->handle); break;
	case GT_ASK:
	case GT_AT:
	case GT_RET:
	case GT_NONE: break;
	}
	/* device 0 is a valid device */
	if (gt_contexts_by_device(fn))
		handle = GT_PROBE_NONE;
	if (fn->handle.unless < fn->argc)
		unless = keep_word(plan, function, fn->handle.unless);
	if (fn->size.from == GT_IN)
		keep_word(plan, function, fn->size.arg);
	else if (fn->size.from == GT_AT)
		keep_copy(plan, function, fn->size.arg, fn->size.offset, 8);
	if (fn->effect == GT_CREATE) {
		if (fn->owner.from == GT_IN)
			keep_word(plan, function, fn->owner.arg);
		else if (fn->owner.from == GT_INS) {
			keep_word(plan, function, fn->owner.count);
			keep_copy(plan, function, fn->owner.arg, 0, 8);
		}
	}
	if (plan->row.effects < GT_PROBE_EFFECTS) {
		plan->row.handle[plan->row.effects] = handle;
		plan->row.only_if[plan->row.effects] = fn->handle.only_if;
		plan->row.unless[plan->row.effects++] = unless;
	}
}

/* The words that the size is inferred from. */
static void keep_layout(struct gt_plan *plan, enum gt_function_id function)
{
	const struct gt_layout *layout = &gt_layouts[function];
	struct gt_probe_row *row = &plan->row;

	for (size_t i = 0; i < layout->count; i++) {
		const struct gt_layout_word *w = &layout->words[i];
		uint8_t word = keep_word(plan, function, w->argument);

		if (word == GT_PROBE_NONE || (w->is_behind && row->copies == GT_PROBE_COPIES))
			return;
		plan->layout[i] = w->is_behind ? row->copies : word;
		if (w->is_behind)
			row->copy[row->copies++] = (struct gt_probe_copy){ .word = word,
									   .offset = w->offset,
									   .size = w->bytes };
		plan->layout_count++;
	}
}

/* Arguments that cost nothing to keep: only a call in which the process ends uses them. */
static void keep_registers(struct gt_plan *plan, enum gt_function_id function)
{
	for (uint8_t i = 0; i < gt_functions[function].argc; i++)
		if (gt_plan_where(function, i) < GT_PROBE_ARGUMENTS)
			keep_word(plan, function, i);
}

static const struct {
	const char *name;
	enum gt_api api;
	uint16_t cookie;
} unrecorded[] = {
	{ "clSetMemObjectDestructorCallback", GT_OPENCL, GT_PROBE_ROWS },
	{ "clSetContextDestructorCallback", GT_OPENCL, GT_PROBE_ROWS + 1 },
	{ "clSetProgramReleaseCallback", GT_OPENCL, GT_PROBE_ROWS + 2 },
	{ "clGetPlatformIDs", GT_OPENCL, GT_PROBE_ASKED + GT_ASKED_PLATFORMS },
	{ "clGetPlatformInfo", GT_OPENCL, GT_PROBE_ASKED + GT_ASKED_PLATFORM_NAME },
	{ "zeDeviceGet", GT_LEVELZERO, GT_PROBE_ASKED + GT_ASKED_DEVICES },
	{ "zeDeviceGetSubDevices", GT_LEVELZERO, GT_PROBE_ASKED + GT_ASKED_SUB_DEVICES },
	{ "zeDeviceGetProperties", GT_LEVELZERO, GT_PROBE_ASKED + GT_ASKED_DEVICE_NAME },
	{ "cuCtxSetCurrent", GT_CUDA, GT_PROBE_CONTEXTS + GT_CURRENT_SET },
	{ "cuCtxPushCurrent", GT_CUDA, GT_PROBE_CONTEXTS + GT_CURRENT_PUSH },
	{ "cuCtxPushCurrent_v2", GT_CUDA, GT_PROBE_CONTEXTS + 8 + GT_CURRENT_PUSH },
	{ "cuCtxPopCurrent", GT_CUDA, GT_PROBE_CONTEXTS + GT_CURRENT_POP },
	{ "cuCtxPopCurrent_v2", GT_CUDA, GT_PROBE_CONTEXTS + 8 + GT_CURRENT_POP },
};

_Static_assert(sizeof unrecorded / sizeof *unrecorded == GT_PLAN_UNRECORDED,
	       "points must fit their array");

uint16_t gt_plan_unrecorded(enum gt_api api, const char *name)
{
	for (size_t i = 0; i < GT_PLAN_UNRECORDED; i++)
		if (unrecorded[i].api == api && !strcmp(unrecorded[i].name, name))
			return unrecorded[i].cookie;
	return 0;
}

struct gt_probe_row gt_plan_asked(enum gt_probe_asked asked)
{
	/* arguments are words of the same number */
	struct gt_probe_row row = { .words = 4,
				    .where = { 0, 1, 2, 3 },
				    .effects = 1,
				    .unless = { GT_PROBE_NONE },
				    .array = GT_PROBE_NONE,
				    .array_count = GT_PROBE_NONE,
				    .array_room = GT_PROBE_NONE };

	switch (asked) {
	case GT_ASKED_PLATFORMS:
		row.handle[0] = row.array = 1;
		row.array_count = 2;
		row.array_room = 0;
		row.array_after = 1;
		break;
	case GT_ASKED_PLATFORM_NAME:
		row.handle[0] = 3;
		row.driver = 1;
		for (row.copies = 0; row.copies < GT_PROBE_COPIES; row.copies++)
			row.copy[row.copies] =
				(struct gt_probe_copy){ 3, (uint8_t)(8 * row.copies), 8 };
		break;
	case GT_ASKED_DEVICES:
	case GT_ASKED_SUB_DEVICES:
		row.handle[0] = row.array = 2;
		row.array_count = 1;
		row.array_after = 1;
		break;
	case GT_ASKED_DEVICE_NAME:
		row.handle[0] = 1;
		row.copy[row.copies++] = (struct gt_probe_copy){ 1, GT_ZE_PROPERTIES_TYPE, 4 };
		for (uint8_t at = 0; at < GT_ZE_DEVICE_NAME; at += 8)
			row.copy[row.copies++] =
				(struct gt_probe_copy){ 1, GT_ZE_PROPERTIES_NAME + at, 8 };
		break;
	case GT_ASKED_COUNT: break;
	}
	return row;
}

/* The object whose driver is that of what an effect of an OpenCL call creates; 0: none. */
static uint8_t object_of(struct gt_plan *plan, enum gt_function_id function,
			 const struct gt_function *fn)
{
	enum gt_kind kind = (enum gt_kind)fn->kind;
	bool is_address = kind == GT_SVM || gt_kinds[kind].family == GT_DEVICE_MEMORY;
	uint8_t word;

	if (fn->api != GT_OPENCL || fn->effect != GT_CREATE)
		return 0;
	if (fn->handle.from == GT_RET && !is_address)
		return GT_PROBE_NONE;
	word = fn->owner.from == GT_IN ? keep_word(plan, function, fn->owner.arg) : GT_PROBE_NONE;
	return word == GT_PROBE_NONE ? 0 : word + 1;
}

/* Contexts are made current where they are created, and no longer are where they end. */
static enum gt_probe_current change_of_current(const struct gt_function *fn)
{
	if (fn->kind != GT_CUDA_CONTEXT)
		return GT_CURRENT_SAME;
	return fn->effect == GT_CREATE ? GT_CURRENT_PUSH : GT_CURRENT_END;
}

bool gt_plan_make(struct gt_plan *plan, enum gt_function_id function)
{
	const struct gt_function *fn = &gt_functions[function];

	*plan = (struct gt_plan){ .row = { .array = GT_PROBE_NONE,
					   .array_count = GT_PROBE_NONE,
					   .array_room = GT_PROBE_NONE } };
	if (function == GT_FN_NONE || fn->also ||
	    (fn->effect == GT_APPEND && fn->api != GT_PYTORCH))
		return false;
	/* no library that we probe exports a function with such an array */
	if (fn->handle.stride)
		return false;
	if (fn->code < fn->argc)
		keep_copy(plan, function, fn->code, 0, 4);
	do {
		if (!plan->row.driver)
			plan->row.driver = object_of(plan, function, fn);
		plan_effect(plan, function, fn++);
	} while (fn < gt_functions + GT_FN_COUNT && fn->also);
	plan->row.current = change_of_current(&gt_functions[function]);
	plan->row.door = gt_functions[function].api == GT_OPENCL ||
					 gt_functions[function].api == GT_LEVELZERO ?
				 (uint8_t)(1u << gt_functions[function].api) :
				 0;
	plan->row.may_call_back = gt_functions[function].api == GT_OPENCL &&
				  gt_functions[function].effect == GT_RELEASE;
	keep_layout(plan, function);
	keep_registers(plan, function);
	return true;
}

uint32_t gt_plan_arguments(const struct gt_plan *plan, const struct gt_probe_call *record,
			   uint64_t argv[GT_ARGS_MAX])
{
	uint32_t count = 0;

	while (count < gt_functions[record->row].argc &&
	       plan->arguments[count].how != GT_PLAN_UNUSED) {
		argv[count] = record->words[plan->arguments[count].word];
		count++;
	}
	return count;
}

static uint64_t address_of(const void *at)
{
	return (uint64_t)(uintptr_t)at;
}

uint64_t gt_probe_record_time(const void *record, size_t size)
{
	const struct gt_probe_call *c = record;

	if (size >= sizeof(struct gt_probe_python_head) && !c->begun_ns)
		return ((const struct gt_probe_python_head *)record)->time_ns;
	return size >= sizeof *c ? c->ended_ns : 0;
}

bool gt_probe_call_is_whole(const struct gt_probe_call *c, size_t size)
{
	size_t tail = size - sizeof *c;

	if (size < sizeof *c || c->array > GT_PROBE_ARRAY || c->frames > GT_PROBE_FRAMES)
		return false;
	if (c->has_copy)
		return tail >= sizeof(struct gt_probe_stack) + GT_PROBE_ARRAY * sizeof(uint64_t) +
				       c->stack_bytes;
	return tail >= (c->array + (size_t)c->frames) * sizeof(uint64_t);
}

const uint64_t *gt_probe_call_array(const struct gt_probe_call *c)
{
	const struct gt_probe_stack *stack = (const struct gt_probe_stack *)(c + 1);

	return (const uint64_t *)(c->has_copy ? stack + 1 : stack);
}

void gt_replica_make(struct gt_replica *r, const struct gt_plan *plan,
		     const struct gt_probe_call *record, const uint64_t *array)
{
	const struct gt_function *fn = &gt_functions[record->row];

	r->count = record->array;
	r->current = record->current;
	r->lost = record->array_count > record->array ? record->array_count - record->array : 0;
	for (unsigned i = 0; i < fn->argc; i++) {
		const struct gt_plan_argument *a = &plan->arguments[i];
		uint64_t word = record->words[a->word];

		switch ((enum gt_plan_how)a->how) {
		case GT_PLAN_UNUSED: r->argv[i] = 0; break;
		case GT_PLAN_WORD: r->argv[i] = word; break;
		case GT_PLAN_ARRAY: r->argv[i] = word ? address_of(array) : 0; break;
		case GT_PLAN_COUNT: r->argv[i] = r->count; break;
		case GT_PLAN_COUNT_AT: r->argv[i] = address_of(&r->count); break;
		case GT_PLAN_COPY:
			r->argv[i] = word ? address_of(&record->copies[a->copy]) - a->offset : 0;
			/* an unreadable handle or size is lost; an unreadable error code is 0 */
			if (record->unread >> a->copy & 1 && i != fn->code)
				r->lost++;
			break;
		}
	}
	if (gt_contexts_by_device(fn))
		r->argv[fn->handle.arg] = GT_CONTEXTS_DEVICE | (uint32_t)r->argv[fn->handle.arg];
	memset(r->words, 0, sizeof r->words);
	for (unsigned i = 0; i < plan->layout_count; i++) {
		const struct gt_layout_word *w = &gt_layouts[record->row].words[i];

		r->words[i] = (w->is_behind ? record->copies : record->words)[plan->layout[i]];
		/* the upper half of a register is undefined for a 4-byte argument */
		if (w->bytes == 4)
			r->words[i] = (uint32_t)r->words[i];
	}
	r->call = (struct gt_call){ .function = (enum gt_function_id)record->row,
				    .argv = r->argv,
				    .ret = record->ret,
				    .begun_ns = record->begun_ns,
				    .ended_ns = record->ended_ns,
				    .tid = record->tid };
	r->report = (struct gt_pool_report){ 0 };
	if (fn->api == GT_PYTORCH && gt_pool_read(&r->report, r->call.function, r->argv)) {
		r->call.function = gt_pool_call(&r->report, r->argv);
		r->call.ret = r->report.block ? 0 : GT_POOL_OUT_OF_MEMORY;
	}
	/* a failed call has nothing to lose */
	if (!gt_call_succeeded(&r->call))
		r->lost = 0;
}
