/* SPDX-License-Identifier: MIT */
/*
 * held_libraries.cu - a correct program of CUDA's own libraries, without PyTorch.
 *
 * usage: held_libraries (runtime | cublas | cublaslt | cufft | cusolver | cusparse | curand)
 *
 * Everything the program takes it gives back. What is alive at the end is held by the libraries.
 * One library each, so that a stack can be told by the name of the case.
 */
#include <cstdio>
#include <cstring>

#include <cublas_v2.h>
#include <cublasLt.h>
#include <cuda_runtime.h>
#include <cufft.h>
#include <curand.h>
#include <cusolverDn.h>
#include <cusparse.h>

enum { SIDE = 256 };

__global__ void fill(float *p)
{
	p[blockIdx.x * blockDim.x + threadIdx.x] = 1.0f;
}

static void use_cublas(float *x)
{
	cublasHandle_t handle;
	const float one = 1;

	cublasCreate(&handle);
	cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, SIDE, SIDE, SIDE, &one, x, SIDE, x, SIDE,
		    &one, x + SIDE * SIDE, SIDE);
	cublasDestroy(handle);
}

static void use_cublaslt(void)
{
	cublasLtHandle_t handle;

	cublasLtCreate(&handle);
	cublasLtDestroy(handle);
}

static void use_cufft(float *x)
{
	cufftHandle plan;

	cufftPlan2d(&plan, SIDE, SIDE / 2, CUFFT_C2C);
	cufftExecC2C(plan, (cufftComplex *)x, (cufftComplex *)x, CUFFT_FORWARD);
	cufftDestroy(plan);
}

static void use_cusolver(float *x)
{
	cusolverDnHandle_t handle;
	int size = 0, *info;
	float *work;

	cusolverDnCreate(&handle);
	cusolverDnSpotrf_bufferSize(handle, CUBLAS_FILL_MODE_LOWER, SIDE, x, SIDE, &size);
	cudaMalloc(&work, size * sizeof *work + 4);
	cudaMalloc(&info, sizeof *info);
	cusolverDnSpotrf(handle, CUBLAS_FILL_MODE_LOWER, SIDE, x, SIDE, work, size, info);
	cudaDeviceSynchronize();
	cudaFree(work);
	cudaFree(info);
	cusolverDnDestroy(handle);
}

static void use_cusparse(void)
{
	cusparseHandle_t handle;

	cusparseCreate(&handle);
	cusparseDestroy(handle);
}

static void use_curand(float *x)
{
	curandGenerator_t generator;

	curandCreateGenerator(&generator, CURAND_RNG_PSEUDO_DEFAULT);
	curandGenerateUniform(generator, x, SIDE * SIDE);
	curandDestroyGenerator(generator);
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "runtime";
	cudaStream_t stream;
	cudaEvent_t event;
	float *x;

	cudaMalloc(&x, 2 * SIDE * SIDE * sizeof *x);
	fill<<<2 * SIDE, SIDE>>>(x);
	cudaStreamCreate(&stream);
	cudaEventCreate(&event);
	cudaEventRecord(event, stream);
	if (!strcmp(name, "cublas"))
		use_cublas(x);
	if (!strcmp(name, "cublaslt"))
		use_cublaslt();
	if (!strcmp(name, "cufft"))
		use_cufft(x);
	if (!strcmp(name, "cusolver"))
		use_cusolver(x);
	if (!strcmp(name, "cusparse"))
		use_cusparse();
	if (!strcmp(name, "curand"))
		use_curand(x);
	cudaDeviceSynchronize();
	cudaEventDestroy(event);
	cudaStreamDestroy(stream);
	cudaFree(x);
	printf("%s: %s\n", name, cudaGetErrorString(cudaGetLastError()));
	return 0;
}
