/* SPDX-License-Identifier: MIT */
/* cupti_calls.c - one CUPTI callback for all rows of cuda.def. */
#include "capture/cuda/subscriber.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>

#include "api/row_check.h"
#include "base/thread_key.h"
#include "capture/cuda/statics.h"

/* The position of each argument in the parameter struct that CUPTI passes. */
struct argument {
	uint16_t offset, size;
};

struct row {
	uint32_t cbid;
	enum gt_function_id function;
	struct argument arguments[GT_ARGS_MAX];
};

#define ARGUMENT(fn, pair)  ARGUMENT_(fn, FOLD_NAME__ pair)
#define ARGUMENT_(fn, name) ARGUMENT__(fn, name)
#define ARGUMENT__(fn, name)                                                                       \
	{                                                                                          \
		offsetof(fn##_params, name), sizeof(((fn##_params *)0)->name)                      \
	}

static const struct row rows[] = {
#define FN(fn, ret, args, ...) FN_(fn, UNWRAP args)
#define FN_(...)               FN__(__VA_ARGS__)
#define FN__(fn, ...)                                                                              \
	{ CUPTI_DRIVER_TRACE_CBID_##fn, GT_FN_##fn, { FOLD(ARGUMENT, fn, __VA_ARGS__) } },
#define ALSO(...)
#include "api/cuda.def"
#undef FN
#undef FN__
#undef ALSO
};

/* Rows have the types of the header, and those of CUPTI's parameter structs. */
#define SAME(fn, pair) SAME_(fn, UNWRAP pair)
#define SAME_(...)     SAME__(__VA_ARGS__)
#define SAME__(fn, type, name)                                                                     \
	sizeof(char[__builtin_types_compatible_p(__typeof__(((fn##_params *)0)->name), type) ?     \
			    1 :                                                                    \
			    -1])
#define FN(fn, ret, args, effect, kind, handle, size, owner)                                       \
	GT_CHECK_ROW(fn, ret, args, size)                                                          \
	FN_(fn, UNWRAP args)
#define FN__(fn, ...)                                                                              \
	static const size_t same_##fn[] __attribute__((unused)) = { FOLD(SAME, fn, __VA_ARGS__) };
#define ALSO(...)
#include "api/cuda.def"
#undef FN
#undef ALSO

enum { ROWS = sizeof rows / sizeof *rows, CBIDS = CUPTI_DRIVER_TRACE_CBID_SIZE };

static const struct row *row_of[CBIDS];

/* The thread's calls in flight, innermost first. */
static __thread struct gt_cuda_call *in_flight __attribute__((tls_model("initial-exec")));
static pthread_key_t thread_end;
static bool have_thread_end;

static void free_calls(void *first)
{
	for (struct gt_cuda_call *call = first, *below; call; call = below) {
		below = call->below;
		gt_guest_free(call);
	}
	in_flight = NULL;
}

/*
 * The head of `in_flight` may be free: a finished call stays in the list for the next one, so that
 * a thread allocates once.
 */
static struct gt_cuda_call *take_call(void)
{
	struct gt_cuda_call *call = in_flight;

	if (call && call->free) {
		call->free = false;
		return call;
	}
	call = gt_guest_alloc(sizeof *call);
	if (!call)
		return NULL;
	call->below = in_flight;
	in_flight = call;
	if (have_thread_end)
		pthread_setspecific(thread_end, in_flight);
	return call;
}

/* The call that CUPTI reports the exit of. Calls above it never exit (longjmp): frees them. */
static struct gt_cuda_call *find_call(uint32_t correlation)
{
	struct gt_cuda_call *call = in_flight;

	while (call && (call->free || call->correlation != correlation))
		call = call->below;
	while (call && in_flight != call) {
		struct gt_cuda_call *above = in_flight;

		in_flight = above->below;
		gt_guest_free(above);
	}
	if (call && have_thread_end)
		pthread_setspecific(thread_end, in_flight);
	return call;
}

static const struct gt_cuda_call *cuda_call(const struct gt_call *call)
{
	return (const struct gt_cuda_call *)((const char *)call -
					     offsetof(struct gt_cuda_call, guest.call));
}

static uint64_t owner_of(const struct gt_call *call, enum gt_function_id row, uint64_t handle)
{
	return (uint64_t)(uintptr_t)cuda_call(call)->context;
}

static uint16_t place_of(const struct gt_call *call, enum gt_function_id row, uint64_t handle)
{
	return gt_cuda_place(call, row, cuda_call(call)->context, cuda_call(call)->in_driver);
}

static const struct gt_call_door door = { .size = gt_cuda_size,
					  .owner = owner_of,
					  .place = place_of };

/* Not inlined: the recorded stack starts at its caller, which is CUPTI. */
static __attribute__((noinline)) void enter(const struct row *row, const CUpti_CallbackData *data,
					    const void *caller)
{
	struct gt_cuda_call *call = take_call();

	if (!call)
		return;
	call->correlation = data->correlationId;
	call->context = data->context;
	for (size_t i = 0; i < gt_functions[row->function].argc; i++)
		call->argv[i] =
			gt_word_of((const char *)data->functionParams + row->arguments[i].offset,
				   row->arguments[i].size);
	gt_cuda_before(row->function, call->argv);
	gt_guest_begin(&call->guest, gt_cuda_row(row->function, call->argv), call->argv, caller);
}

static __attribute__((noinline)) void leave(const struct row *row, const CUpti_CallbackData *data,
					    const void *caller)
{
	struct gt_cuda_call *call = find_call(data->correlationId);
	CUresult result;

	if (!call)
		return;
	result = data->functionReturnValue ? *(const CUresult *)data->functionReturnValue :
					     CUDA_ERROR_UNKNOWN;
	/* of the exit, not of the entry: CUPTI calls us from two places */
	call->guest.caller = caller;
	if (data->context)
		call->context = data->context;
	gt_guest_end(&call->guest, (uint64_t)result, &door);
	if (result == CUDA_SUCCESS)
		gt_cuda_after(row->function, call->argv);
	call->free = true;
}

/* The module whose variables are reported, and what the door needs to know. */
struct module {
	uint32_t id;
	CUcontext context;
	const void *caller;
};

static void loaded(void *context, const struct gt_cuda_variable *v)
{
	const struct module *m = context;
	uint64_t argv[] = { gt_cuda_variable_address(m->id, v), v->bytes };
	struct gt_cuda_call call = { .context = m->context, .in_driver = true };

	gt_guest_begin(&call.guest,
		       v->managed ? GT_FN_cudaManagedVariable : GT_FN_cudaDeviceVariable, argv,
		       m->caller);
	gt_guest_end(&call.guest, 0, &door);
	gt_guest_name(&call.guest, argv[0], v->name);
}

static void unloaded(void *context, const struct gt_cuda_variable *v)
{
	const struct module *m = context;
	uint64_t argv[] = { gt_cuda_variable_address(m->id, v) };
	struct gt_cuda_call call = { .context = m->context, .in_driver = true };

	gt_guest_begin(&call.guest, GT_FN_cudaVariableGone, argv, m->caller);
	gt_guest_end(&call.guest, 0, &door);
}

static void module_called(CUpti_CallbackId cbid, const CUpti_ResourceData *data, const void *caller)
{
	const CUpti_ModuleResourceData *resource = data->resourceDescriptor;
	struct module module = { .context = data->context, .caller = caller };

	if (!resource)
		return;
	module.id = resource->moduleId;
	gt_cuda_variables(resource->pCubin, resource->cubinSize,
			  cbid == CUPTI_CBID_RESOURCE_MODULE_LOADED ? loaded : unloaded, &module);
}

void gt_cuda_called(void *userdata, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
		    const void *data)
{
	const struct row *row =
		domain == CUPTI_CB_DOMAIN_DRIVER_API && cbid < CBIDS ? row_of[cbid] : NULL;
	const CUpti_CallbackData *call = data;
	int saved = errno;

	(void)userdata;
	if (domain == CUPTI_CB_DOMAIN_RESOURCE)
		module_called(cbid, data, __builtin_return_address(0));
	if (row && call->callbackSite == CUPTI_API_ENTER)
		enter(row, call, __builtin_return_address(0));
	else if (row)
		leave(row, call, __builtin_return_address(0));
	errno = saved;
}

size_t gt_cuda_enable_rows(const struct gt_cupti *cupti, CUpti_SubscriberHandle subscriber)
{
	size_t enabled = 0;

	have_thread_end = gt_thread_key_create(&thread_end, free_calls);
	for (size_t i = 0; i < ROWS; i++)
		row_of[rows[i].cbid] = &rows[i];
	/* an older CUPTI does not know the newest functions; its driver lacks them too */
	for (size_t i = 0; i < ROWS; i++)
		if (!cupti->enable(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, rows[i].cbid))
			enabled++;
	/* a module's variables are read when it is loaded */
	cupti->enable(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_MODULE_LOADED);
	cupti->enable(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE,
		      CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING);
	return enabled;
}
