/* SPDX-License-Identifier: MIT */
/*
 * live_api: the live-object extension as programs reach it, by asking for its functions.
 *
 *   --case lookup   which names are answered, for the platform and without one
 *   --case info     the extension string, its size, and the list with versions
 *   --case wrong    a NULL callback, platforms that are none: nothing happens
 *   --case release  a callback that releases what it is shown, and what it is to be shown next
 *   --case before   objects from before the tracking are not listed, and can be released
 *   --case counts   every type that is listed, with its reference count
 *   --case env      lists without ever having asked for tracking (ACL_TRACK_LEAKS)
 *   --case stacks   a buffer made by another thread, with its size, thread and place in this file
 *
 * What a case checks for itself ends the program with a line; the rest is printed.
 */
#include "cl_kinds.h"

#include <pthread.h>
#include <sys/syscall.h>

#include "gputrack/live_objects.h"

#define EXTENSION "cl_altera_live_object_tracking"
#define OBJECTS   10
#define SEEN_MAX  64

#define CHECK(condition)                                                                           \
	((condition) ? (void)0 : quit(STATUS_FAILED, "line %d: not so: %s", __LINE__, #condition))

static struct cl_choice chosen;

/* What one enumeration showed. */
static struct seen {
	int count;
	void *objects[SEEN_MAX];
	char types[SEEN_MAX][32];
	cl_uint refcounts[SEEN_MAX];
} seen;

static void *find(const char *name)
{
	return clGetExtensionFunctionAddressForPlatform(chosen.platform, name);
}

static void track(cl_platform_id platform)
{
	clTrackLiveObjectsIntelFPGA_fn function = find("clTrackLiveObjectsIntelFPGA");

	CHECK(function);
	function(platform);
}

static void report(cl_platform_id platform, gputrack_report_fn callback)
{
	clReportLiveObjectsIntelFPGA_fn function = find("clReportLiveObjectsIntelFPGA");

	CHECK(function);
	seen.count = 0;
	function(platform, callback, &seen);
}

static void CL_CALLBACK note(void *user_data, void *object, const char *type_name, cl_uint refcount)
{
	CHECK(user_data == &seen);
	CHECK(seen.count < SEEN_MAX);
	seen.objects[seen.count] = object;
	snprintf(seen.types[seen.count], sizeof(seen.types[0]), "%s", type_name);
	seen.refcounts[seen.count++] = refcount;
}

static cl_event make_event(cl_context context)
{
	cl_int err;
	cl_event event = clCreateUserEvent(context, &err);

	MUST(err);
	return event;
}

static void case_lookup(void)
{
	static const char *const names[] = {
		"clTrackLiveObjectsIntelFPGA",           "clTrackLiveObjectsAltera",
		"clReportLiveObjectsIntelFPGA",          "clReportLiveObjectsAltera",
		"clReportLiveObjectsWithStacksGPUTRACK", "clNoSuchFunctionAltera",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		printf("%s %s %s\n", names[i], find(names[i]) ? "found" : "missing",
		       clGetExtensionFunctionAddress(names[i]) ? "found" : "missing");
}

/* Asks by the rules and against them; what the answers are made of is printed. */
static void case_info(void)
{
	cl_platform_id p = chosen.platform;
	const cl_platform_info names = CL_PLATFORM_EXTENSIONS;
	const cl_platform_info versions = CL_PLATFORM_EXTENSIONS_WITH_VERSION;
	cl_name_version *list;
	size_t size = 0, again = 0;
	char *text;

	MUST(clGetPlatformInfo(p, names, 0, NULL, &size));
	text = malloc(size + 1);
	memset(text, 'x', size + 1);
	CHECK(clGetPlatformInfo(p, names, size - 1, text, NULL) == CL_INVALID_VALUE);
	CHECK(text[0] == 'x');
	MUST(clGetPlatformInfo(p, names, size, text, &again));
	CHECK(again == size);
	CHECK(strlen(text) + 1 == size);
	CHECK(text[size] == 'x'); /* nothing was written behind the answer */
	MUST(clGetPlatformInfo(p, names, size + 1, text, NULL));
	MUST(clGetPlatformInfo(p, names, size, text, NULL));
	printf("names %zu %s\n", size, text);
	free(text);

	size = 0;
	if (clGetPlatformInfo(p, versions, 0, NULL, &size) != CL_SUCCESS)
		return; /* the platform is older than OpenCL 3.0 */
	list = malloc(size);
	CHECK(size % sizeof(*list) == 0);
	CHECK(clGetPlatformInfo(p, versions, size - 1, list, NULL) == CL_INVALID_VALUE);
	MUST(clGetPlatformInfo(p, versions, size, list, &again));
	CHECK(again == size);
	for (size_t i = 0; i < size / sizeof(*list); i++)
		printf("version %#x %s\n", (unsigned)list[i].version, list[i].name);
	free(list);
}

/* Another platform that there may be has its own objects: none. */
static void check_other_platforms(void)
{
	cl_platform_id platforms[16];
	cl_uint count = 0;

	MUST(clGetPlatformIDs(16, platforms, &count));
	for (cl_uint i = 0; i < count; i++) {
		if (platforms[i] == chosen.platform)
			continue;
		report(platforms[i], note);
		track(platforms[i]);
		report(platforms[i], note);
		CHECK(seen.count == 0);
	}
	printf("%u platforms\n", (unsigned)count);
}

static void case_wrong(void)
{
	cl_context context;
	cl_event event;
	long garbage[64] = { 0 }; /* no platform, and nothing to follow a pointer into */

	track(NULL);
	track((cl_platform_id)garbage);
	track((cl_platform_id)(void *)16);
	context = cl_context_on(chosen);
	report(chosen.platform, note);
	CHECK(seen.count == 0); /* tracking has not begun yet */
	track(chosen.platform);
	track(chosen.platform);
	event = make_event(context);
	report(NULL, note);
	report((cl_platform_id)garbage, note);
	report((cl_platform_id)(void *)16, note);
	CHECK(seen.count == 0);
	report(chosen.platform, NULL);
	report(NULL, NULL);
	report(chosen.platform, note);
	CHECK(seen.count == 1);
	CHECK(seen.objects[0] == event);
	CHECK(!strcmp(seen.types[0], "cl_event"));
	check_other_platforms();
	MUST(clReleaseEvent(event));
	MUST(clReleaseContext(context));
	puts("nothing happened");
}

static cl_event events[OBJECTS];
static bool alive[OBJECTS];
static int last_shown;

static void give_back(int i)
{
	if (i < 0 || !alive[i])
		return;
	alive[i] = false;
	MUST(clReleaseEvent(events[i]));
}

/* Releases the one shown and the one after it, which is the next older. */
static void CL_CALLBACK release_two(void *user_data, void *object, const char *type_name,
				    cl_uint refcount)
{
	int i;

	(void)type_name;
	CHECK(refcount == 1);
	for (i = 0; i < OBJECTS && events[i] != object; i++)
		;
	CHECK(i < OBJECTS);
	CHECK(i < last_shown); /* the newest first, none of them twice */
	last_shown = i;
	(*(int *)user_data)++;
	if (i < 3)
		return; /* the oldest stay */
	give_back(i);
	give_back(i - 1 < 3 ? -1 : i - 1);
}

static void case_release(void)
{
	clReportLiveObjectsIntelFPGA_fn function = find("clReportLiveObjectsAltera");
	cl_context context = cl_context_on(chosen);
	int calls = 0;

	track(chosen.platform);
	for (int i = 0; i < OBJECTS; i++) {
		events[i] = make_event(context);
		alive[i] = true;
	}
	last_shown = OBJECTS;
	function(chosen.platform, release_two, &calls);
	CHECK(calls >= 3 && last_shown == 0);
	report(chosen.platform, note);
	CHECK(seen.count == 3);
	for (int i = 0; i < 3; i++) {
		CHECK(seen.objects[i] == events[2 - i]);
		give_back(2 - i);
	}
	report(chosen.platform, note);
	CHECK(seen.count == 0);
	MUST(clReleaseContext(context));
	puts("released while listing");
}

static void case_before(void)
{
	cl_context context = cl_context_on(chosen);
	cl_event older = make_event(context), newer, newest;

	MUST(clRetainEvent(older));
	track(chosen.platform);
	newer = make_event(context);
	newest = make_event(context);
	report(chosen.platform, note);
	CHECK(seen.count == 2);
	CHECK(seen.objects[0] == newest && seen.objects[1] == newer);
	MUST(clRetainEvent(older));
	MUST(clReleaseEvent(older));
	report(chosen.platform, note);
	CHECK(seen.count == 2);
	MUST(clReleaseEvent(older));
	MUST(clReleaseEvent(older));
	MUST(clReleaseEvent(newest));
	report(chosen.platform, note);
	CHECK(seen.count == 1 && seen.objects[0] == newer);
	MUST(clReleaseEvent(newer));
	MUST(clReleaseContext(context));
	report(chosen.platform, note);
	CHECK(seen.count == 0);
	puts("only what came after");
}

/* The newest first, as they will be listed; `references` is what each is left with. */
static void case_counts(void)
{
	static const char *source = "kernel void nothing(global int *data) { (void)data; }";
	struct thing {
		enum cl_kind kind;
		const char *type;
		void *handle;
		int references;
	} things[] = {
		{ .kind = KIND_CONTEXT, .type = "cl_context" },
		{ .kind = KIND_QUEUE, .type = "cl_command_queue" },
		{ .kind = KIND_BUFFER, .type = "cl_mem" },
		{ .kind = KIND_SAMPLER, .type = "cl_sampler" },
		{ .kind = KIND_PROGRAM, .type = "cl_program" },
		{ .kind = KIND_KERNEL, .type = "cl_kernel" },
		{ .kind = KIND_EVENT, .type = "cl_event" },
	};
	const int count = sizeof(things) / sizeof(things[0]);
	cl_context c;
	cl_program p;
	cl_int err;

	track(chosen.platform);
	c = things[0].handle = cl_context_on(chosen);
	things[1].handle = clCreateCommandQueue(c, chosen.device, 0, &err);
	MUST(err);
	things[2].handle = clCreateBuffer(c, CL_MEM_READ_WRITE, 64, NULL, &err);
	MUST(err);
	things[3].handle = clCreateSampler(c, CL_TRUE, CL_ADDRESS_CLAMP, CL_FILTER_NEAREST, &err);
	MUST(err);
	p = things[4].handle = clCreateProgramWithSource(c, 1, &source, NULL, &err);
	MUST(err);
	MUST(clBuildProgram(p, 1, &chosen.device, NULL, NULL, NULL));
	things[5].handle = clCreateKernel(p, "nothing", &err);
	MUST(err);
	things[6].handle = make_event(c);

	for (int i = 0; i < count; i++) {
		things[i].references = 1 + i;
		for (int n = 0; n < i + 2; n++)
			MUST(kind_retain(things[i].kind, things[i].handle));
		MUST(kind_release(things[i].kind, things[i].handle));
		MUST(kind_release(things[i].kind, things[i].handle));
	}
	report(chosen.platform, note);
	CHECK(seen.count == count);
	for (int i = 0; i < count; i++) {
		const struct thing *t = &things[count - 1 - i];

		printf("%s %u\n", seen.types[i], (unsigned)seen.refcounts[i]);
		CHECK(seen.objects[i] == t->handle);
		CHECK(!strcmp(seen.types[i], t->type));
		CHECK(seen.refcounts[i] == (cl_uint)t->references);
	}
	for (int i = count; i-- > 0;)
		for (int n = 0; n < things[i].references; n++)
			MUST(kind_release(things[i].kind, things[i].handle));
	report(chosen.platform, note);
	CHECK(seen.count == 0);
}

static void case_env(void)
{
	cl_context context = cl_context_on(chosen);
	cl_event event = make_event(context);

	report(chosen.platform, note);
	printf("listed %d\n", seen.count);
	if (seen.count) {
		CHECK(seen.count == 2);
		CHECK(seen.objects[0] == event && seen.objects[1] == context);
	}
	MUST(clReleaseEvent(event));
	MUST(clReleaseContext(context));
	report(chosen.platform, note);
	CHECK(seen.count == 0);
}

static cl_context shared_context;
static cl_mem made_elsewhere;

/* Not inlined, and with something behind the call: its frame has to be there. */
__attribute__((noinline)) static void make_in_thread(void)
{
	const int line = __LINE__ + 3;
	cl_int err;

	made_elsewhere = clCreateBuffer(shared_context, CL_MEM_READ_WRITE, 12345, NULL, &err);
	MUST(err);
	printf("expect thread %ld line %d\n", (long)syscall(SYS_gettid), line);
}

static void *thread_main(void *argument)
{
	make_in_thread();
	return argument;
}

static void CL_CALLBACK print_object(void *user_data, const gputrack_live_object *object)
{
	(*(int *)user_data)++;
	CHECK(object->struct_size >= sizeof(*object));
	CHECK(object->time_ns > 0);
	printf("object %p %s %s %s refcount %u size %zu thread %lu\n", object->object,
	       object->type_name, object->kind, object->created_by, (unsigned)object->refcount,
	       object->size, object->thread);
	CHECK(object->frame_count > 0);
	for (size_t i = 0; i < object->frame_count; i++) {
		const gputrack_frame *f = &object->frames[i];

		printf("frame %s %s:%u %s\n", f->function ? f->function : "?",
		       f->file ? f->file : "?", f->line, f->module ? f->module : "?");
	}
	if (object->object == made_elsewhere)
		MUST(clReleaseMemObject(made_elsewhere)); /* a callback may */
}

static void case_stacks(void)
{
	clReportLiveObjectsWithStacksGPUTRACK_fn function =
		find("clReportLiveObjectsWithStacksGPUTRACK");
	pthread_t thread;
	int calls = 0;

	CHECK(function);
	track(chosen.platform);
	shared_context = cl_context_on(chosen);
	if (pthread_create(&thread, NULL, thread_main, NULL))
		quit(STATUS_FAILED, "cannot start a thread");
	pthread_join(thread, NULL);
	printf("expect buffer %p\n", (void *)made_elsewhere);
	function(chosen.platform, NULL, &calls);
	function(NULL, print_object, &calls);
	CHECK(calls == 0);
	function(chosen.platform, print_object, &calls);
	CHECK(calls == 2); /* the buffer and the context */
	MUST(clReleaseContext(shared_context));
	function(chosen.platform, print_object, &calls);
	CHECK(calls == 2);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} cases[] = {
		{ "lookup", case_lookup },   { "info", case_info },     { "wrong", case_wrong },
		{ "release", case_release }, { "before", case_before }, { "counts", case_counts },
		{ "env", case_env },         { "stacks", case_stacks },
	};
	const char *platform = arg_take(&argc, argv, "--platform");
	const char *name = arg_take(&argc, argv, "--case");

	arg_none_left(argc, argv);
	chosen = cl_pick(platform);
	for (size_t i = 0; name && i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (strcmp(name, cases[i].name))
			continue;
		cases[i].run();
		return STATUS_OK;
	}
	quit(STATUS_FAILED, "--case is one of those at the top of live_api.c");
}
