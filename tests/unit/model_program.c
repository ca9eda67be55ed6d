/* SPDX-License-Identifier: MIT */
/* model_program.c - random programs, and what their drivers know of every object. */
#include "model_program.h"

#include <stdlib.h>
#include <string.h>

#include "test_random.h"

enum { PAGE = 0x1000, SLOT = 0x10000, RANGE_PAGES = 8, TRIES = 20 };

#define SORT(create_, retain_, end_, owner_, ...)                                                  \
	{                                                                                          \
		.create = GT_FN_##create_, .retain = GT_FN_##retain_, .end = GT_FN_##end_,         \
		.owner = (owner_), __VA_ARGS__                                                     \
	}

const struct model_sort model_sorts[MODEL_SORTS] = {
	[CL_CONTEXT] = SORT(clCreateContext, clRetainContext, clReleaseContext, -1),
	[CL_QUEUE] = SORT(clCreateCommandQueue, clRetainCommandQueue, clReleaseCommandQueue,
			  CL_CONTEXT, .tie = TIE_KEEPS),
	[CL_BUFFER] = SORT(clCreateBuffer, clRetainMemObject, clReleaseMemObject, CL_CONTEXT,
			   .tie = TIE_KEEPS, .has_size = true),
	[CL_SUBBUFFER] = SORT(clCreateSubBuffer, clRetainMemObject, clReleaseMemObject, CL_BUFFER,
			      .tie = TIE_HOLDS, .has_size = true),
	[CL_IMAGE] = SORT(clCreateImage, clRetainMemObject, clReleaseMemObject, CL_BUFFER,
			  .tie = TIE_HOLDS),
	[CL_PROGRAM] = SORT(clCreateProgramWithSource, clRetainProgram, clReleaseProgram,
			    CL_CONTEXT, .tie = TIE_KEEPS),
	[CL_KERNEL] =
		SORT(clCreateKernel, clRetainKernel, clReleaseKernel, CL_PROGRAM, .tie = TIE_KEEPS),
	[CL_EVENT] = SORT(clCreateUserEvent, clRetainEvent, clReleaseEvent, CL_CONTEXT,
			  .tie = TIE_KEEPS),
	[CL_SVM] = SORT(clSVMAlloc, NONE, clSVMFree, CL_CONTEXT, .has_size = true),
	[ZE_CONTEXT] = SORT(zeContextCreate, NONE, zeContextDestroy, -1),
	[ZE_MEMORY] = SORT(zeMemAllocDevice, NONE, zeMemFree, ZE_CONTEXT, .has_size = true,
			   .inside = true),
	[ZE_POOL] = SORT(zeEventPoolCreate, NONE, zeEventPoolDestroy, ZE_CONTEXT),
	[ZE_EVENT] = SORT(zeEventCreate, NONE, zeEventDestroy, ZE_POOL),
	[ZE_MAPPING] = SORT(zeVirtualMemMap, NONE, zeVirtualMemUnmap, -1, .has_size = true,
			    .ranged = true),
	[ZE_IPC] = SORT(zeMemGetIpcHandle, NONE, zeMemPutIpcHandle, ZE_MEMORY, .tie = TIE_TAKEN,
			.borrowed = true),
	[CU_CONTEXT] = SORT(cuCtxCreate_v2, NONE, cuCtxDestroy_v2, -1),
	[CU_MEMORY] = SORT(cuMemAlloc_v2, NONE, cuMemFree_v2, CU_CONTEXT, .tie = TIE_TAKEN,
			   .has_size = true),
	[CU_STREAM] = SORT(cuStreamCreate, NONE, cuStreamDestroy_v2, CU_CONTEXT, .tie = TIE_TAKEN),
	[CU_PHYSICAL] =
		SORT(cuMemCreate, cuMemRetainAllocationHandle, cuMemRelease, -1, .has_size = true),
	[CU_MAPPING] = SORT(cuMemMap, NONE, cuMemUnmap, CU_PHYSICAL, .tie = TIE_HOLDS,
			    .has_size = true, .ranged = true),
	[CU_GRAPH] = SORT(cuGraphCreate, NONE, cuGraphDestroy, -1, .borrowed = true),
};

uint64_t model_random(struct model_program *program, uint64_t most)
{
	return (random_word(&program->random) >> 16) % most;
}

bool model_is_alive(const struct model_process *p, const struct model_object *o)
{
	(void)p;
	return o->exists && (o->own || o->held);
}

static int api_of(int sort)
{
	return sort >= CU_CONTEXT ? 2 : sort >= ZE_CONTEXT ? 1 : 0;
}

/* The last address that became free is used first, as drivers do. */
static uint64_t take_handle(struct model_process *p, int api)
{
	if (p->free_count[api])
		return p->free_handles[api][--p->free_count[api]];
	return ((uint64_t)api + 1) << 40 | (uint64_t)++p->fresh[api] * SLOT;
}

static void give_handle(struct model_process *p, int api, uint64_t handle)
{
	p->free_handles[api][p->free_count[api]++] = handle;
}

static uint64_t take_range(struct model_program *g, struct model_process *p, int which)
{
	unsigned page = (unsigned)model_random(g, RANGE_PAGES);

	if (p->ranges[which] >> page & 1)
		return 0;
	p->ranges[which] |= (uint8_t)(1u << page);
	return ((uint64_t)which + 5) << 40 | (uint64_t)page * PAGE;
}

/* The driver is done with it: its handle may mean something else from now on. */
static void vanish(struct model_process *p, struct model_object *o)
{
	o->exists = false;
	o->own = 0;
	if (model_sorts[o->sort].ranged)
		p->ranges[o->sort == CU_MAPPING] &= (uint8_t) ~(1u << (o->handle % SLOT / PAGE));
	else
		give_handle(p, api_of(o->sort), o->handle);
	for (int i = 0; i < p->object_count; i++) {
		struct model_object *child = &p->objects[i];

		if (child->exists && child->owner == (int)(o - p->objects) &&
		    model_sorts[child->sort].tie == TIE_TAKEN)
			vanish(p, child);
	}
	if (o->owner >= 0) {
		struct model_object *owner = &p->objects[o->owner];
		enum model_tie tie = model_sorts[o->sort].tie;

		owner->kept -= tie == TIE_KEEPS || tie == TIE_HOLDS;
		owner->held -= tie == TIE_HOLDS;
		if (owner->exists && !owner->own && !owner->kept)
			vanish(p, owner);
	}
}

/*
 * A call of a free thread, whose effect is now, and which begins after `after`; NULL: all threads
 * are busy. Times are of this thread alone: no two events have the same.
 */
static struct model_call *make_call(struct model_program *g, struct model_process *p,
				    uint16_t function, uint64_t after)
{
	uint64_t began, first;
	struct model_call *call;
	int lane = (int)model_random(g, (uint64_t)p->lane_count);

	p->now += 1 + model_random(g, 90);
	first = (after > p->lane_until[lane] ? after : p->lane_until[lane]) / 16 + 1;
	if (first >= p->now || p->call_count == MODEL_CALLS)
		return NULL;
	call = &p->calls[p->call_count];
	began = p->now - 1 - model_random(g, p->now - first < 40 ? p->now - first : 40);
	call->lane = lane;
	call->returned_ns = (p->now + 1 + model_random(g, 40)) * 16 + (uint64_t)lane;
	call->event = (struct gt_event){
		.function = function,
		.tid = p->pid + (uint32_t)lane,
		.time_ns = gt_function_ends(&gt_functions[function]) ? began * 16 + (uint64_t)lane :
								       call->returned_ns,
	};
	call->frame = (uint64_t)p->pid << 32 | (uint32_t)(p->call_count + 0x1000);
	return call;
}

/* The call has been made. */
static void keep_call(struct model_process *p, const struct model_call *call)
{
	p->lane_until[call->lane] = call->returned_ns;
	p->call_count++;
}

/* The driver has no memory left, or says that nothing alive has this handle. */
static void fail(struct model_call *call, bool is_invalid)
{
	static const int32_t codes[GT_API_COUNT][2] = {
		[GT_OPENCL] = { -6, -34 },
		[GT_LEVELZERO] = { 0x70000002, 0x78000004 },
		[GT_CUDA] = { 2, 400 },
	};

	call->event.failed = 1;
	call->event.result = codes[gt_functions[call->event.function].api][is_invalid];
}

/* An object of this sort that the program may use; NULL: none. */
static struct model_object *pick(struct model_program *g, struct model_process *p, int sort,
				 bool (*fits)(const struct model_object *o))
{
	for (int i = 0; p->object_count && i < TRIES; i++) {
		struct model_object *o = &p->objects[model_random(g, (uint64_t)p->object_count)];

		if ((sort < 0 || o->sort == sort) && fits(o))
			return o;
	}
	return NULL;
}

static bool is_owned(const struct model_object *o)
{
	return o->own;
}

static bool can_be_retained(const struct model_object *o)
{
	return o->exists && model_sorts[o->sort].retain != GT_FN_NONE;
}

static bool can_be_ended_again(const struct model_object *o)
{
	return !o->own && o->was_ended_by_call && !model_sorts[o->sort].borrowed &&
	       !model_sorts[o->sort].ranged;
}

static void create(struct model_program *g, struct model_process *p)
{
	int number = (int)model_random(g, MODEL_SORTS);
	const struct model_sort *sort = &model_sorts[number];
	struct model_object *o = &p->objects[p->object_count], *owner = NULL;
	struct model_call *call;

	if (p->object_count == MODEL_OBJECTS)
		return;
	/* without an owner, it has to be made first */
	while (sort->owner >= 0 && !(owner = pick(g, p, sort->owner, is_owned))) {
		number = sort->owner;
		sort = &model_sorts[number];
	}
	call = make_call(g, p, sort->create, owner ? owner->used_until : 0);
	if (!call)
		return;
	*o = (struct model_object){ .sort = number,
				    .owner = owner ? (int)(owner - p->objects) : -1,
				    .time_ns = call->event.time_ns,
				    .used_until = call->returned_ns,
				    .own = 1,
				    .exists = true };
	if (sort->has_size)
		o->size = sort->ranged ? PAGE : 1 + model_random(g, SLOT - 1);
	/* several creations come from one place */
	if (model_random(g, 2))
		call->frame = (uint64_t)p->pid << 32 | (uint32_t)number;
	o->frame = call->frame;
	call->event.size = o->size;
	call->event.owner = owner ? owner->handle : 0;
	if (!model_random(g, 12)) {
		fail(call, false);
		keep_call(p, call);
		return;
	}
	o->handle = sort->ranged ? take_range(g, p, number == CU_MAPPING) :
				   take_handle(p, api_of(number));
	if (!o->handle)
		return;
	call->event.handle = o->handle;
	if (owner) {
		owner->kept += sort->tie == TIE_KEEPS || sort->tie == TIE_HOLDS;
		owner->held += sort->tie == TIE_HOLDS;
		owner->used_until = call->returned_ns;
	}
	p->object_count++;
	keep_call(p, call);
}

static void retain(struct model_program *g, struct model_process *p)
{
	struct model_object *o = pick(g, p, -1, can_be_retained);
	struct model_call *call =
		o ? make_call(g, p, model_sorts[o->sort].retain, o->used_until) : NULL;

	if (!call)
		return;
	call->event.handle = o->handle;
	if (model_random(g, 12)) {
		o->own++;
		o->used_until = call->returned_ns;
	} else {
		fail(call, false);
	}
	keep_call(p, call);
}

/* The mapped page after this one, as one call may end both; NULL: none. */
static struct model_object *next_page(struct model_process *p, const struct model_object *o)
{
	for (int i = 0; i < p->object_count; i++)
		if (p->objects[i].exists && p->objects[i].sort == o->sort &&
		    p->objects[i].handle == o->handle + PAGE)
			return &p->objects[i];
	return NULL;
}

/* Children of contexts are used until they end: a context is destroyed after that. */
static uint64_t children_until(const struct model_process *p, const struct model_object *o)
{
	uint64_t until = o->used_until;

	for (int i = 0; i < p->object_count; i++) {
		const struct model_object *child = &p->objects[i];

		if (child->owner != (int)(o - p->objects))
			continue;
		until = child->used_until > until ? child->used_until : until;
		until = child->ended_at > until ? child->ended_at : until;
	}
	return until;
}

static void end_object(struct model_process *p, struct model_object *o,
		       const struct model_call *call)
{
	o->own--;
	o->ended_at = call->returned_ns;
	if (o->own)
		return;
	o->was_ended_by_call = true;
	if (!o->kept)
		vanish(p, o);
}

static void end_one(struct model_program *g, struct model_process *p, struct model_object *o)
{
	bool is_context = model_sorts[o->sort].retain == GT_FN_NONE;
	struct model_object *next;
	struct model_call *call = make_call(g, p, model_sorts[o->sort].end,
					    is_context ? children_until(p, o) : o->used_until);

	if (!call)
		return;
	call->event.handle = o->handle;
	call->is_inside = model_sorts[o->sort].inside && o->size > 1 && !model_random(g, 8);
	if (call->is_inside)
		call->event.handle += 1 + model_random(g, o->size - 1);
	if (model_sorts[o->sort].ranged)
		call->event.size = PAGE;
	keep_call(p, call);
	if (!model_random(g, 20)) {
		/* the caller still has its reference, and nobody else may end it meanwhile */
		fail(call, false);
		o->used_until = call->returned_ns;
		return;
	}
	while (model_sorts[o->sort].ranged && (next = next_page(p, o)) &&
	       next->used_until < call->event.time_ns && model_random(g, 3)) {
		end_object(p, o, call);
		call->event.size += PAGE;
		o = next;
	}
	end_object(p, o, call);
}

static void end_any(struct model_program *g, struct model_process *p)
{
	struct model_object *o = pick(g, p, -1, is_owned);

	if (o)
		end_one(g, p, o);
}

/* Another object of the name space has the handle now: the driver would end that. */
static bool is_reused(const struct model_process *p, const struct model_object *o)
{
	for (int i = 0; i < p->object_count; i++)
		if (&p->objects[i] != o && p->objects[i].handle == o->handle &&
		    p->objects[i].time_ns > o->time_ns &&
		    model_sorts[p->objects[i].sort].end == model_sorts[o->sort].end)
			return true;
	return false;
}

static void end_again(struct model_program *g, struct model_process *p)
{
	struct model_object *o = pick(g, p, -1, can_be_ended_again);
	struct model_call *call;

	if (!o || is_reused(p, o))
		return;
	call = make_call(g, p, model_sorts[o->sort].end, o->ended_at);
	if (!call)
		return;
	call->event.handle = o->handle;
	call->is_mistake = true;
	if (model_random(g, 2) && !o->exists)
		fail(call, true);
	keep_call(p, call);
	o->ended_at = call->returned_ns;
}

/* A child may release what its parent has created: its own record knows nothing of it. */
static void end_inherited(struct model_program *g, struct model_process *p)
{
	struct model_call *call = make_call(g, p, GT_FN_clReleaseMemObject, 0);

	if (!call)
		return;
	call->event.handle = (UINT64_C(9) << 40) + (uint64_t)p->call_count * SLOT;
	keep_call(p, call);
}

/* Most programs clean up, and some forget a little. */
static void clean_up(struct model_program *g, struct model_process *p)
{
	uint64_t forgets = model_random(g, 4) ? 0 : 1 + model_random(g, 4);

	for (int round = 0; round < 8; round++)
		for (int i = p->object_count; i-- > 0;) {
			if (forgets && !model_random(g, 10)) {
				forgets--;
				continue;
			}
			for (int tries = 0; p->objects[i].own && tries < TRIES; tries++)
				end_one(g, p, &p->objects[i]);
		}
}

/* Threads that were inside a call when the process ended: nobody knows what became of it. */
static void leave_open(struct model_program *g, struct model_process *p)
{
	for (int lane = 0; lane < p->lane_count; lane++) {
		struct model_object *o = pick(g, p, -1, is_owned);
		const struct model_sort *sort;
		bool is_end = model_random(g, 2);

		if (model_random(g, 3) || !o)
			continue;
		sort = &model_sorts[is_end ? o->sort : (int)model_random(g, MODEL_SORTS)];
		p->is_open[lane] = true;
		p->open_frame[lane] = (uint64_t)p->pid << 32 | (uint32_t)(0x800 + lane);
		p->open[lane] = (struct gt_event){ .function = is_end ? sort->end : sort->create,
						   .handle = is_end ? o->handle : 0,
						   .tid = p->pid + (uint32_t)lane,
						   .time_ns = p->end_ns - 16 + (uint64_t)lane };
	}
}

static void make_process(struct model_program *g, struct model_process *p)
{
	uint64_t steps = 10 + model_random(g, model_random(g, 4) ? 150 : 800);

	p->lane_count = 1 + (int)model_random(g, MODEL_LANES);
	p->now = p->start_ns / 16 + 10;
	if (g->most_steps && steps > g->most_steps)
		steps = g->most_steps;
	for (uint64_t i = 0; i < steps; i++) {
		uint64_t dice = model_random(g, 100);

		if (dice < 45)
			create(g, p);
		else if (dice < 58)
			retain(g, p);
		else if (dice < 97)
			end_any(g, p);
		else if (dice < 99)
			end_again(g, p);
		else if (p->ppid != 1)
			end_inherited(g, p);
	}
	p->end = (enum model_end)model_random(g, 2 * MODEL_ENDS);
	if (p->end >= MODEL_ENDS)
		p->end = END_EXIT;
	if (model_random(g, 3))
		clean_up(g, p);
	for (int lane = 0; lane < p->lane_count; lane++)
		if (p->lane_until[lane] / 16 > p->now)
			p->now = p->lane_until[lane] / 16;
	p->end_ns = (p->now + 100) * 16;
	if (p->end != END_STOPPED && p->end != END_DETACHED && !model_random(g, 8))
		leave_open(g, p);
}

void model_program_make(struct model_program *program, uint64_t seed, uint64_t most_steps)
{
	memset(program, 0, sizeof *program);
	program->most_steps = most_steps;
	program->random = (seed + 1) * UINT64_C(0x9e3779b97f4a7c15);
	for (int i = 0; i < 4; i++)
		random_word(&program->random);
	program->process_count =
		model_random(program, 3) ? 1 : 2 + (int)model_random(program, MODEL_PROCESSES - 1);
	for (int i = 0; i < program->process_count; i++) {
		struct model_process *p = &program->processes[i];

		p->pid = 4000000000u + 100u * (uint32_t)i;
		p->ppid = i ? program->processes[0].pid : 1;
		p->start_ns = 1000000 + (i ? model_random(program, 20000) * 16 : 0);
		make_process(program, p);
	}
}
