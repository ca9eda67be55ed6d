/*
 * cuda_kinds.cu - memory and objects of each kind, kept or given back: [--keep] [--reset] KIND…
 *
 * Prints for each kind the bytes that were asked for. With --keep nothing is given back; with
 * --reset the device is reset at the end, which is when compute-sanitizer looks for leaks.
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <cuda.h>
#include <cuda_runtime.h>

__device__ int counters[1000];
__managed__ float table[500];
__constant__ double factors[16];

__global__ void add(int *values, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		values[i] += counters[i % 1000] + (int)table[i % 500] + (int)factors[i % 16];
}

static bool keep;

#define NEED(call)                                                                                \
	do {                                                                                      \
		int result_ = (int)(call);                                                        \
		if (result_) {                                                                    \
			std::fprintf(stderr, "%s failed: %d\n", #call, result_);                  \
			std::exit(3);                                                             \
		}                                                                                 \
	} while (0)
#define GIVE_BACK(call)                                                                           \
	do {                                                                                      \
		if (!keep)                                                                        \
			NEED(call);                                                               \
	} while (0)

static size_t device(void)
{
	void *p;

	NEED(cudaMalloc(&p, 123456)); // device
	GIVE_BACK(cudaFree(p));
	return 123456;
}

static size_t pitch(void)
{
	size_t row;
	void *p;

	NEED(cudaMallocPitch(&p, &row, 1000, 33));
	GIVE_BACK(cudaFree(p));
	return row * 33;
}

static size_t managed(void)
{
	int *p;

	NEED(cudaMallocManaged(&p, 70000));
	p[0] = 1;
	GIVE_BACK(cudaFree(p));
	return 70000;
}

static size_t pinned(void)
{
	void *p;

	NEED(cudaMallocHost(&p, 8000));
	GIVE_BACK(cudaFreeHost(p));
	return 8000;
}

static size_t registered(void)
{
	static char page[8192] __attribute__((aligned(4096)));

	NEED(cudaHostRegister(page, 8192, 0));
	GIVE_BACK(cudaHostUnregister(page));
	return 8192;
}

static size_t async(void)
{
	void *p;

	NEED(cudaMallocAsync(&p, 50000, 0));
	GIVE_BACK(cudaFreeAsync(p, 0));
	NEED(cudaDeviceSynchronize());
	return 50000;
}

static size_t pool(void)
{
	cudaMemPoolProps props = {};
	cudaMemPool_t made;
	void *p;

	props.allocType = cudaMemAllocationTypePinned;
	props.location.type = cudaMemLocationTypeDevice;
	NEED(cudaMemPoolCreate(&made, &props));
	NEED(cudaMallocFromPoolAsync(&p, 60000, made, 0));
	GIVE_BACK(cudaFreeAsync(p, 0));
	NEED(cudaDeviceSynchronize());
	GIVE_BACK(cudaMemPoolDestroy(made));
	return 60000;
}

/* Memory of the device, and the least of it that can be had. */
static size_t physical(CUmemAllocationProp *prop)
{
	size_t size;

	NEED(cudaFree(0));
	prop->type = CU_MEM_ALLOCATION_TYPE_PINNED;
	prop->location.type = CU_MEM_LOCATION_TYPE_DEVICE;
	NEED(cuMemGetAllocationGranularity(&size, prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
	return size;
}

static size_t virtuals(void)
{
	CUmemAllocationProp prop = {};
	CUmemGenericAllocationHandle handle;
	CUmemAccessDesc access = {};
	CUdeviceptr p;
	size_t size = physical(&prop);

	NEED(cuMemCreate(&handle, size, &prop, 0));
	NEED(cuMemAddressReserve(&p, size, 0, 0, 0));
	NEED(cuMemMap(p, size, 0, handle, 0));
	access.location = prop.location;
	access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
	NEED(cuMemSetAccess(p, size, &access, 1));
	GIVE_BACK(cuMemUnmap(p, size));
	GIVE_BACK(cuMemAddressFree(p, size));
	GIVE_BACK(cuMemRelease(handle));
	return size;
}

/* Two blocks side by side, given up while they are mapped, and unmapped by one call. */
static size_t striped(void)
{
	CUmemAllocationProp prop = {};
	CUmemGenericAllocationHandle handles[2];
	CUdeviceptr p;
	size_t size = physical(&prop);

	NEED(cuMemAddressReserve(&p, 2 * size, 0, 0, 0));
	for (int i = 0; i < 2; i++) {
		NEED(cuMemCreate(&handles[i], size, &prop, 0));
		NEED(cuMemMap(p + i * size, size, 0, handles[i], 0));
		NEED(cuMemRelease(handles[i]));
	}
	GIVE_BACK(cuMemUnmap(p, 2 * size));
	GIVE_BACK(cuMemAddressFree(p, 2 * size));
	return 2 * size;
}

static size_t array(void)
{
	cudaChannelFormatDesc format = cudaCreateChannelDesc<float4>();
	cudaArray_t a;

	NEED(cudaMallocArray(&a, &format, 64, 32));
	GIVE_BACK(cudaFreeArray(a));
	return 64 * 32 * 16;
}

static size_t mipmap(void)
{
	cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
	cudaMipmappedArray_t a;

	NEED(cudaMallocMipmappedArray(&a, &format, make_cudaExtent(64, 64, 0), 3));
	GIVE_BACK(cudaFreeMipmappedArray(a));
	return 4 * (64 * 64 + 32 * 32 + 16 * 16);
}

static size_t streams(void)
{
	cudaStream_t stream, other;
	cudaEvent_t event;

	NEED(cudaStreamCreate(&stream));
	NEED(cudaStreamCreateWithPriority(&other, cudaStreamNonBlocking, 0));
	NEED(cudaEventCreate(&event));
	GIVE_BACK(cudaEventDestroy(event));
	GIVE_BACK(cudaStreamDestroy(other));
	GIVE_BACK(cudaStreamDestroy(stream));
	return 0;
}

static size_t graphs(void)
{
	cudaGraphExec_t exec;
	cudaStream_t stream;
	cudaGraph_t graph, empty;
	int *p;

	NEED(cudaMalloc(&p, 4000));
	NEED(cudaStreamCreate(&stream));
	NEED(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
	add<<<4, 256, 0, stream>>>(p, 1000);
	NEED(cudaStreamEndCapture(stream, &graph));
	NEED(cudaGraphInstantiate(&exec, graph, 0));
	NEED(cudaGraphCreate(&empty, 0));
	NEED(cudaGraphLaunch(exec, stream));
	NEED(cudaStreamSynchronize(stream));
	GIVE_BACK(cudaGraphDestroy(empty));
	GIVE_BACK(cudaGraphExecDestroy(exec));
	GIVE_BACK(cudaGraphDestroy(graph));
	NEED(cudaStreamDestroy(stream));
	NEED(cudaFree(p));
	return 0;
}

static size_t textures(void)
{
	cudaResourceDesc resource = {};
	cudaTextureDesc how = {};
	cudaTextureObject_t texture;
	cudaSurfaceObject_t surface;
	cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
	cudaArray_t a;

	NEED(cudaMallocArray(&a, &format, 64, 64, cudaArraySurfaceLoadStore));
	resource.resType = cudaResourceTypeArray;
	resource.res.array.array = a;
	NEED(cudaCreateTextureObject(&texture, &resource, &how, NULL));
	NEED(cudaCreateSurfaceObject(&surface, &resource));
	GIVE_BACK(cudaDestroySurfaceObject(surface));
	GIVE_BACK(cudaDestroyTextureObject(texture));
	GIVE_BACK(cudaFreeArray(a));
	return 64 * 64 * 4;
}

static size_t kernel(void)
{
	int *p, sum = 0, host[1000];

	NEED(cudaMalloc(&p, 4000));
	NEED(cudaMemset(p, 1, 4000));
	add<<<4, 256>>>(p, 1000);
	NEED(cudaMemcpy(host, p, 4000, cudaMemcpyDeviceToHost));
	for (int i = 0; i < 1000; i++)
		sum += host[i] & 1;
	std::printf("sum %d\n", sum);
	GIVE_BACK(cudaFree(p));
	return 4000;
}

static size_t contexts(void)
{
	CUcontext context, before = NULL;
	CUdeviceptr p;

	NEED(cuInit(0));
	NEED(cuCtxGetCurrent(&before));
#if CUDA_VERSION >= 13000
	NEED(cuCtxCreate(&context, NULL, 0, 0));
#else
	NEED(cuCtxCreate(&context, 0, 0));
#endif
	NEED(cuMemAlloc(&p, 30000)); /* the context takes it along */
	NEED(cuCtxDestroy(context));
	NEED(cuCtxSetCurrent(before));
	return 0;
}

static const struct {
	const char *name;
	size_t (*run)(void);
} kinds[] = {
	{ "device", device }, { "pitch", pitch }, { "managed", managed }, { "pinned", pinned },
	{ "registered", registered }, { "async", async }, { "pool", pool },
	{ "virtual", virtuals }, { "striped", striped }, { "array", array }, { "mipmap", mipmap },
	{ "streams", streams },
	{ "graphs", graphs }, { "textures", textures }, { "kernel", kernel },
	{ "contexts", contexts },
};

int main(int argc, char **argv)
{
	bool reset = false;

	for (int i = 1; i < argc; i++) {
		keep |= !std::strcmp(argv[i], "--keep");
		reset |= !std::strcmp(argv[i], "--reset");
		for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
			if (!std::strcmp(argv[i], kinds[k].name) || !std::strcmp(argv[i], "all"))
				std::printf("%s %zu\n", kinds[k].name, kinds[k].run());
	}
	if (reset)
		NEED(cudaDeviceReset());
	return 0;
}
