# SPDX-License-Identifier: MIT
"""held_others.py CASE - correct scripts of JAX, CuPy and OpenCV, and twins that leak.

For tests/gpu/held.sh. Without a CASE it lists them. Exit status 77: the package is not installed here,
or has no GPU. A twin, leak_* in its name, prints what the report must say.
"""
import ctypes
import os
import sys


def skip(why):
    print("skipped:", why)
    sys.exit(77)


def allocate(count, size):
    """Memory of the driver that nothing frees; the results of the calls."""
    cuda, address = ctypes.CDLL("libcuda.so.1"), ctypes.c_uint64()
    print(f"expect: LEAKED  {count} resources, {count * size >> 20}.00 MiB")
    return [cuda.cuMemAlloc_v2(ctypes.byref(address), size) for _ in range(count)]


def jax_with_gpu():
    try:
        import jax
    except ImportError as error:
        skip(f"no JAX: {error}")
    if jax.default_backend() != "gpu":
        skip(f"JAX {jax.__version__} runs on {jax.default_backend()} here")
    print("JAX", jax.__version__)
    return jax


def jax_training():
    """Gradient descent, compiled: XLA's allocator, cuBLAS."""
    jax = jax_with_gpu()
    jnp = jax.numpy

    @jax.jit
    def step(w, x, y):
        return w - 0.01 * jax.grad(lambda w: jnp.mean((x @ w - y) ** 2))(w)

    key = jax.random.PRNGKey(0)
    x, w = jax.random.normal(key, (512, 256)), jnp.zeros((256, 8))
    y = x @ jnp.ones((256, 8))
    for _ in range(20):
        w = step(w, x, y)
    return float(w.sum())


def jax_libraries():
    """Convolution, fft, linear algebra, sorting."""
    jax = jax_with_gpu()
    jnp = jax.numpy
    x = jax.random.normal(jax.random.PRNGKey(1), (128, 128))
    total = jnp.abs(jnp.fft.fft2(x)).sum() + jnp.linalg.svd(x, compute_uv=False).sum()
    total += jnp.sort(x.ravel())[-1] + jnp.linalg.cholesky(x @ x.T + 200 * jnp.eye(128)).sum()
    image, kernel = x[None, None], jnp.ones((4, 1, 3, 3))
    total += jax.lax.conv(image, kernel, (1, 1), "SAME").sum()
    return bool(jnp.isfinite(total))


def jax_leak_memory():
    """cuMemAlloc three times, kept, beside XLA's pool."""
    jax_training()
    return allocate(3, 1 << 20)


def cupy_here():
    try:
        import cupy
        cupy.cuda.runtime.getDeviceCount()
    except Exception as error:  # its own error if there is no driver
        skip(f"no CuPy with a GPU: {error}")
    print("CuPy", cupy.__version__)
    return cupy


def cupy_arrays():
    """Arrays, kernels compiled at run time, streams, events, pinned memory."""
    cupy = cupy_here()
    x = cupy.arange(1_000_000, dtype=cupy.float32)
    twice = cupy.ElementwiseKernel("float32 x", "float32 y", "y = 2 * x", "twice")
    with cupy.cuda.Stream() as stream:
        y = twice(x) + cupy.sin(x)
        stream.synchronize()
    event = cupy.cuda.Event()
    event.record()
    event.synchronize()
    cupy.cuda.alloc_pinned_memory(4096)
    return float(y.sum())


def cupy_libraries():
    """cuBLAS, cuFFT, cuSOLVER, cuSPARSE, cuRAND, sorting."""
    cupy = cupy_here()
    x = cupy.random.rand(256, 256).astype(cupy.float32)
    total = (x @ x).sum() + cupy.abs(cupy.fft.fft2(x)).sum() + cupy.linalg.svd(x)[1].sum()
    total += cupy.linalg.solve(x + 300 * cupy.eye(256, dtype=cupy.float32), x).sum()
    total += cupy.sort(x.ravel())[-1]
    try:
        from cupyx.scipy import sparse
        total += (sparse.csr_matrix(x) @ x).sum()
    except ImportError:
        pass
    return float(total) != 0


def cupy_leak_memory():
    """cuMemAlloc twice, kept, beside CuPy's pool."""
    cupy_arrays()
    return allocate(2, 1 << 20)


def cupy_leak_runtime():
    """Memory and a stream that CuPy's thin layer over the runtime made, kept."""
    runtime = cupy_here().cuda.runtime
    print("expect: LEAKED  2 resources, 1.00 MiB")
    return runtime.malloc(1 << 20) != 0, runtime.streamCreate() != 0


def cupy_leak_module():
    """A module that the script loaded itself, kept."""
    cupy = cupy_here()
    module = cupy.cuda.function.Module()
    module.load(b".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry none() { ret; }\0")
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(module))
    print("expect: LEAKED  1 resource")
    return True


def opencv_images():
    """Image operations on OpenCL, on the GPU's own driver."""
    try:
        import cv2
        import numpy
    except ImportError as error:
        skip(f"no OpenCV: {error}")
    cv2.ocl.setUseOpenCL(True)
    if not cv2.ocl.useOpenCL():
        skip(f"OpenCV {cv2.__version__} found no OpenCL device")
    print("OpenCV", cv2.__version__, cv2.ocl.Device.getDefault().name())
    image = cv2.UMat(numpy.arange(512 * 512 * 3, dtype=numpy.uint8).reshape(512, 512, 3))
    for _ in range(3):
        gray = cv2.cvtColor(image, cv2.COLOR_BGR2GRAY)
        small = cv2.resize(gray, (256, 256))
        both = cv2.add(small, small)
    total = int(both.get().sum())
    # buffers that a kernel used last are released with the next allocation after it
    del image, gray, small, both
    cv2.ocl.finish()
    cv2.UMat(numpy.zeros((8, 8), numpy.uint8))
    return total


cases = {name: f for name, f in list(globals().items())
         if name.startswith(("jax_", "cupy_", "opencv_")) and callable(f) and f.__doc__}

if __name__ == "__main__":
    os.environ.setdefault("OPENCV_OPENCL_CACHE_ENABLE", "0")
    if len(sys.argv) < 2:
        print("\n".join(cases))
    else:
        print(sys.argv[1], cases[sys.argv[1]]())
