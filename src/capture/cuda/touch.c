/* SPDX-License-Identifier: MIT */
/*
 * touch.c - copies, sets and launches, recorded with the memory that they name: --touches.
 *
 * One wrapper per row of cuda_touch.def, made by the preprocessor; direct.c gives them out only if
 * they are asked for. A launch names what its arguments point to. The driver is asked once how long
 * the parameters of a kernel are; their words are then compared with a map of where memory has been
 * allocated, in steps of 2 MiB: whoever reads the trace knows the blocks exactly.
 */
#include "capture/cuda/touch.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "api/row_check.h"
#include "base/bytes.h"
#include "capture/cuda/direct.h"
#include "capture/cuda/first_launch.h"

enum {
	ADDRESS_BITS = 47,
	GRANULE_BITS = 21,
	MAP_BYTES = 1 << (ADDRESS_BITS - GRANULE_BITS - 3),
	GRANULES_MAX = 1 << 20, /* of one block */
	SLOTS = 1 << 13,        /* for kernels */
	PROBES = 32,
	KERNELS_MAX = 1 << 15, /* with those whose code has been unloaded */
	PARAMS_MAX = 1 << 12,
	WORDS_MAX = 1 << 12, /* looked at in a launch: the parameters of any kernel */
	NAME_MAX_BYTES = 640,
};

/* Where memory has been allocated, a bit for each granule; NULL: there was no space for it. */
static uint8_t *map;

static inline bool is_mapped(uint64_t address)
{
	return address >> ADDRESS_BITS == 0 &&
	       __atomic_load_n(&map[address >> (GRANULE_BITS + 3)], __ATOMIC_RELAXED) >>
			       (address >> GRANULE_BITS & 7) &
		       1;
}

static void add_to_map(uint64_t address, uint64_t size)
{
	uint64_t first = address >> GRANULE_BITS,
		 last = (address + (size ? size - 1 : 0)) >> GRANULE_BITS;

	if (!address || last < first || last >> (ADDRESS_BITS - GRANULE_BITS))
		return;
	for (uint64_t i = first; i <= last && i - first < GRANULES_MAX; i++)
		__atomic_fetch_or(&map[i >> 3], (uint8_t)(1u << (i & 7)), __ATOMIC_RELAXED);
}

static void touch(struct gt_guest_work *work, const struct gt_touched *touched, size_t count)
{
	gt_guest_touch(work, &(struct gt_naming){ .ranges = touched, .count = count });
}

void gt_cuda_touch_bound(const void *descriptor)
{
	enum { LINEAR = 2, PITCHED = 3 };
	static struct gt_guest_work work = { .work = { .kind = GT_WORK_SHARE,
						       .function = "cuTexObjectCreate" } };
	struct {
		int type;
		uint64_t address;
	} resource;

	if (!map || !descriptor)
		return;
	memcpy(&resource, descriptor, sizeof resource);
	if (resource.type == LINEAR || resource.type == PITCHED)
		touch(&work,
		      &(struct gt_touched){ .address = resource.address,
					    .access = GT_READS | GT_WRITES },
		      1);
}

void gt_cuda_touch_created(const struct gt_call *call, enum gt_function_id row, uint64_t handle)
{
	const struct gt_function *fn = &gt_functions[row];
	uint64_t size;

	switch ((int)gt_kinds[fn->kind].family) {
	case GT_DEVICE_MEMORY:
	case GT_HELD_MAPPING:
	case GT_OPENED_POINTER:
		size = fn->size.from == GT_IN ? call->argv[fn->size.arg] :
						gt_cuda_size(call, row, handle);
		add_to_map(handle, size);
		break;
	default: break;
	}
}

/* A kernel that has been launched. It stays: another thread may be looking at it. */
struct kernel {
	struct gt_guest_work work;
	_Atomic uint32_t generation; /* as it was when the driver was asked */
	uint32_t count;              /* parameters with at least one word */
	struct {
		uint16_t index, words;
	} params[];
};

static struct {
	_Atomic uint64_t function;
	_Atomic(struct kernel *) kernel;
} kernels[SLOTS];
static _Atomic uint32_t kernel_count, generation = 1;

static CUresult (*kernel_param)(void *kernel, size_t index, size_t *offset, size_t *size);
static CUresult (*function_param)(void *function, size_t index, size_t *offset, size_t *size);
static CUresult (*kernel_name)(const char **name, void *kernel);
static CUresult (*function_name)(const char **name, void *function);

void gt_cuda_touch_forget(void)
{
	atomic_fetch_add(&generation, 1);
}

/* A parameter's size; the runtime launches what the driver calls a kernel, not a function. */
static bool param_size(bool is_kernel, void *function, size_t index, size_t *size)
{
	CUresult (*ask)(void *, size_t, size_t *, size_t *) =
		is_kernel ? kernel_param : function_param;
	size_t offset;

	return ask && ask(function, index, &offset, size) == CUDA_SUCCESS;
}

static struct kernel *new_kernel(size_t params, const char *name)
{
	size_t length = name ? strnlen(name, NAME_MAX_BYTES - 1) : 0;
	struct kernel *k = NULL;
	char *text;

	if (atomic_fetch_add(&kernel_count, 1) < KERNELS_MAX)
		k = gt_guest_alloc(sizeof *k + params * sizeof k->params[0] + length + 1);
	if (!k)
		return NULL;
	text = (char *)&k->params[params];
	memcpy(text, name ? name : "", length);
	k->work.work = (struct gt_work){ .kind = GT_WORK_LAUNCH, .name = text };
	return k;
}

/* NULL if the driver does not tell the kernel's parameters. */
static struct kernel *ask(void *function, const char *caller)
{
	size_t size, params = 0, total = 0;
	bool is_kernel = param_size(true, function, 0, &size);
	const char *name = NULL;
	struct kernel *k;

	if (!is_kernel && !param_size(false, function, 0, &size))
		return NULL;
	for (size_t i = 0; i < PARAMS_MAX && param_size(is_kernel, function, i, &size); i++)
		params += size >= sizeof(uint64_t);
	if (is_kernel && kernel_name)
		kernel_name(&name, function);
	else if (!is_kernel && function_name)
		function_name(&name, function);
	k = new_kernel(params, name);
	if (!k)
		return NULL;
	k->work.work.function = caller;
	for (size_t i = 0;
	     i < PARAMS_MAX && k->count < params && param_size(is_kernel, function, i, &size);
	     i++) {
		size_t words = size / sizeof(uint64_t);

		if (!words)
			continue;
		total += words;
		if (total > WORDS_MAX) {
			k->work.work.is_blind = true;
			break;
		}
		k->params[k->count].index = (uint16_t)i;
		k->params[k->count++].words = (uint16_t)words;
	}
	return k;
}

/* Asks the driver, at the first launch and when code has been unloaded since. */
static __attribute__((noinline)) struct kernel *learn(size_t slot, void *function, uint32_t now,
						      const char *caller)
{
	struct kernel *old = atomic_load(&kernels[slot].kernel), *k = ask(function, caller);

	if (!k)
		return NULL;
	atomic_store(&k->generation, now);
	if (!atomic_compare_exchange_strong(&kernels[slot].kernel, &old, k)) {
		/* another thread was faster */
		gt_guest_free(k);
		k = atomic_load(&kernels[slot].kernel);
	}
	return k;
}

static struct kernel *find_kernel(void *function, const char *caller)
{
	uint64_t key = (uint64_t)(uintptr_t)function;
	uint32_t now = atomic_load_explicit(&generation, memory_order_relaxed);

	for (size_t i = gt_mix64(key), n = 0; n < PROBES; i++, n++) {
		size_t slot = i % SLOTS;
		uint64_t found =
			atomic_load_explicit(&kernels[slot].function, memory_order_relaxed);
		struct kernel *k;

		if (!found && atomic_compare_exchange_strong(&kernels[slot].function, &found, key))
			found = key;
		if (found != key)
			continue;
		k = atomic_load_explicit(&kernels[slot].kernel, memory_order_acquire);
		if (k && atomic_load_explicit(&k->generation, memory_order_relaxed) == now)
			return k;
		return learn(slot, function, now, caller);
	}
	return NULL;
}

/* What a launch names, recorded in parts if it is much. */
struct found {
	struct gt_guest_work *work;
	size_t count;
	bool is_recorded;
	struct gt_touched touched[GT_TOUCHED_MAX];
};

static void record(struct found *f)
{
	gt_guest_touch(f->work, &(struct gt_naming){ .ranges = f->touched,
						     .count = f->count,
						     .is_more = f->is_recorded });
	f->is_recorded = true;
	f->count = 0;
}

static void look_at(struct found *f, const void *words, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t word;

		memcpy(&word, (const char *)words + i * sizeof word, sizeof word);
		if (!is_mapped(word) || (f->count && f->touched[f->count - 1].address == word))
			continue;
		if (f->count == GT_TOUCHED_MAX)
			record(f);
		f->touched[f->count++] =
			(struct gt_touched){ .address = word, .access = GT_READS | GT_WRITES };
	}
}

/* The buffer of all arguments, if the caller has packed them itself. */
static const void *packed(void **extra, size_t *size)
{
	enum { END = 0, BUFFER = 1, SIZE = 2 };
	const void *buffer = NULL;

	*size = 0;
	for (int i = 0; extra && (uintptr_t)extra[i] != END && i < 8; i += 2) {
		if ((uintptr_t)extra[i] == BUFFER)
			buffer = extra[i + 1];
		if ((uintptr_t)extra[i] == SIZE && extra[i + 1])
			memcpy(size, extra[i + 1], sizeof *size);
	}
	return buffer;
}

/* `unknown` stands for kernels whose parameters the driver does not tell. */
static void uses(struct gt_guest_work *unknown, void *function, void **params, void **extra)
{
	struct kernel *k = find_kernel(function, unknown->work.function);
	struct found f;
	size_t size;
	const void *buffer = packed(extra, &size);

	f.count = 0;
	f.is_recorded = false;
	f.work = k ? &k->work : unknown;
	if (buffer)
		look_at(&f, buffer,
			size / sizeof(uint64_t) < WORDS_MAX ? size / sizeof(uint64_t) : WORDS_MAX);
	else if (k && params)
		for (uint32_t i = 0; i < k->count; i++)
			look_at(&f, params[k->params[i].index], k->params[i].words);
	if (f.count || !f.is_recorded)
		record(&f);
}

static struct gt_touched range(uint64_t address, uint64_t bytes)
{
	return (struct gt_touched){ .address = address, .size = bytes };
}

static struct gt_touched area(uint64_t address, uint64_t pitch, uint64_t width, uint64_t height)
{
	return range(address, width && height ? pitch * (height - 1) + width : 0);
}

static void moves(struct gt_guest_work *work, struct gt_touched to, struct gt_touched from)
{
	struct gt_touched touched[2];
	size_t count = 0;

	to.access = GT_WRITES;
	from.access = GT_READS;
	if (to.size && is_mapped(to.address))
		touched[count++] = to;
	if (from.size && is_mapped(from.address))
		touched[count++] = from;
	touch(work, touched, count);
}

static void moves_all(struct gt_guest_work *work, const CUdeviceptr *to, const CUdeviceptr *from,
		      const size_t *sizes, size_t count)
{
	for (size_t i = 0; to && from && sizes && i < count; i++)
		moves(work, range(to[i], sizes[i]), range(from[i], sizes[i]));
}

static void shares(struct gt_guest_work *work, uint64_t address)
{
	touch(work, &(struct gt_touched){ .address = address, .access = GT_READS | GT_WRITES }, 1);
}

/* The columns of cuda_touch.def */
#define RANGE(address, bytes)               range((uint64_t)(address), bytes)
#define ROWS(address, pitch, width, height) area((uint64_t)(address), pitch, width, height)
#define NOTHING                             range(0, 0)
#define IS_ARRAY(copy, side)                ((int)(copy)->side##MemoryType == 3)
#define BASE(copy, side)                                                                           \
	((int)(copy)->side##MemoryType == 1 ? (uint64_t)(uintptr_t)(copy)->side##Host :            \
					      (uint64_t)(copy)->side##Device)
#define PLANE(copy, side)                                                                          \
	(IS_ARRAY(copy, side) ? NOTHING :                                                          \
				area(BASE(copy, side) + (copy)->side##Y * (copy)->side##Pitch +    \
					     (copy)->side##XInBytes,                               \
				     (copy)->side##Pitch, (copy)->WidthInBytes, (copy)->Height))
#define CUBOID(copy, side)                                                                         \
	(IS_ARRAY(copy, side) ?                                                                    \
		 NOTHING :                                                                         \
		 area(BASE(copy, side) +                                                           \
			      (copy)->side##Pitch *                                                \
				      ((copy)->side##Z * (copy)->side##Height + (copy)->side##Y) + \
			      (copy)->side##XInBytes,                                              \
		      (copy)->side##Pitch, (copy)->WidthInBytes,                                   \
		      ((copy)->Depth ? (copy)->Depth - 1 : 0) * (copy)->side##Height +             \
			      (copy)->Height))
#define DO_MOVES(to, from)                       moves(&work, to, from)
#define DO_MOVES_ALL(to, from, sizes, count)     moves_all(&work, to, from, sizes, count)
#define DO_SETS(to)                              moves(&work, to, NOTHING)
#define DO_SHARES(address)                       shares(&work, address)
#define DO_USES(function, stream, params, extra) uses(&work, function, params, extra)
#define DO_UNKNOWN                               touch(&work, NULL, 0)
#define IS_BLIND_MOVES(...)                      false
#define IS_BLIND_MOVES_ALL(...)                  false
#define IS_BLIND_SETS(...)                       false
#define IS_BLIND_SHARES(...)                     false
#define IS_BLIND_USES(...)                       true
#define IS_BLIND_UNKNOWN                         true

static inline void *next_of(enum gt_cuda_entry entry)
{
	return gt_cuda_launch_wrappers[entry] ? gt_cuda_launch_wrappers[entry] :
						gt_cuda_entries.next[entry];
}

#ifdef GT_HAVE_CUDA_H
#define CHECK_ROW GT_CHECK_ROW
#else
#define CHECK_ROW(...)
#endif

#define FN(...)
#define ALSO(...)
#define TOUCH(fn, kind, args, touched)                                                             \
	CHECK_ROW(fn, STATUS(CUresult), args, NONE)                                                \
	UNCHECKED(fn, kind, args, touched)
#define UNCHECKED(fn, kind, args, touched) TOUCH_(fn, kind, touched, UNWRAP args)
#define TOUCH_(...)                        TOUCH__(__VA_ARGS__)
#define TOUCH__(fn, kind_, touched, ...)                                                           \
	static CUresult wrap_##fn(PARAMS(__VA_ARGS__))                                             \
	{                                                                                          \
		static struct gt_guest_work work = { .work = { .kind = GT_WORK_##kind_,            \
							       .is_blind = IS_BLIND_##touched,     \
							       .function = #fn } };                \
		CUresult (*next)(PARAMS(__VA_ARGS__)) = next_of(GT_ENTRY_##fn);                    \
		CUresult result = next(NAMES(__VA_ARGS__));                                        \
                                                                                                   \
		if (result == CUDA_SUCCESS)                                                        \
			DO_##touched;                                                              \
		return result;                                                                     \
	}
#include "api/cuda.def"
#undef TOUCH

void *const gt_cuda_touch_wrappers[GT_ENTRIES] = {
#define TOUCH(fn, ...) [GT_ENTRY_##fn] = (void *)wrap_##fn,
#include "api/cuda.def"
#undef TOUCH
#undef FN
#undef ALSO
};

bool gt_cuda_touch_start(void *(*find)(void *, const char *), void *handle)
{
	void *bytes = mmap(NULL, MAP_BYTES, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (bytes == MAP_FAILED)
		return false;
	map = bytes;
	*(void **)&kernel_param = find(handle, "cuKernelGetParamInfo");
	*(void **)&function_param = find(handle, "cuFuncGetParamInfo");
	*(void **)&kernel_name = find(handle, "cuKernelGetName");
	*(void **)&function_name = find(handle, "cuFuncGetName");
	gt_recorder_follow_touches();
	return true;
}
