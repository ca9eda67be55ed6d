/*
 * static_dtor: objects that C++ destructors release after main() has returned.
 *
 * A tracker that judged what is left in an atexit handler would call them leaks; there are none.
 * With --leak, a buffer of 4320 bytes leaks in gpu::cache<float>::allocate(), below two inlined
 * functions.
 */
#include "cl_common.h"

namespace gpu {

/* Owns a context, a queue and a buffer until it is destroyed. */
class session {
public:
	void open(cl_choice choice, size_t size_bytes)
	{
		cl_int err;

		context = cl_context_on(choice);
		queue = clCreateCommandQueue(context, choice.device, 0, &err);
		MUST(err);
		buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, size_bytes, nullptr, &err);
		MUST(err);
	}

	/* No MUST here: exit() must not be called while it already runs. */
	~session()
	{
		if (!context)
			return;
		if (clReleaseMemObject(buffer) || clReleaseCommandQueue(queue) ||
		    clReleaseContext(context)) {
			fputs("a release in a destructor failed\n", stderr);
			_Exit(STATUS_FAILED);
		}
	}

	cl_context context = nullptr;

private:
	cl_command_queue queue = nullptr;
	cl_mem buffer = nullptr;
};

__attribute__((always_inline)) inline cl_mem raw_buffer(cl_context context, size_t size_bytes)
{
	cl_int err;
	cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, size_bytes, nullptr, &err);

	MUST(err);
	return buffer;
}

template <typename T>
__attribute__((always_inline)) inline cl_mem typed_buffer(cl_context context, size_t count)
{
	return raw_buffer(context, count * sizeof(T));
}

template <typename T> struct cache {
	__attribute__((noinline)) static size_t allocate(cl_context context)
	{
		size_t size_bytes = 0;

		/* a call after it keeps this frame on the stack */
		MUST(clGetMemObjectInfo(typed_buffer<T>(context, 1080), CL_MEM_SIZE,
					sizeof(size_bytes), &size_bytes, nullptr));
		return size_bytes;
	}
};

} /* namespace gpu */

/* Constructed before main(), so destroyed last of all. */
static gpu::session global_session;

/* Constructed when main() gets here, after the driver was loaded, so destroyed earlier. */
static gpu::session &local_session()
{
	static gpu::session session;

	return session;
}

int main(int argc, char **argv)
{
	const char *platform = arg_take(&argc, argv, "--platform");
	bool leak = arg_flag(&argc, argv, "--leak");

	arg_none_left(argc, argv);
	global_session.open(cl_pick(platform), 1024);
	local_session().open(cl_pick(platform), 2048);
	if (leak)
		printf("leaked %zu bytes\n", gpu::cache<float>::allocate(global_session.context));
	puts("main returns");
	return STATUS_OK;
}
