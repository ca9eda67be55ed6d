# SPDX-License-Identifier: MIT
"""held_cases.py CASE - PyTorch scripts that give back everything they take, and twins that do not.

For tests/gpu/held.sh. Each function below is one script; its docstring says what it uses. Those that
are named leak_* keep a resource on purpose, and print what the report must say; all others are correct.
held_cases.py without a CASE lists them; --versions prints what is installed, as JSON.
"""
import ctypes
import gc
import json
import os
import sys

import torch


def training():
    """Linear layers, Adam, mixed precision: cuBLAS, cuBLASLt, the caching allocator."""
    torch.manual_seed(1)
    model = torch.nn.Sequential(*[torch.nn.Linear(512, 512) for _ in range(4)]).cuda()
    optimizer = torch.optim.Adam(model.parameters())
    scaler = torch.amp.GradScaler("cuda")
    for _ in range(20):
        batch = torch.randn(256, 512, device="cuda")
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = model(batch).square().mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    return float(loss)


def inference():
    """A convolutional network: cuDNN, in single and in half precision."""
    torch.backends.cudnn.benchmark = True
    model = torch.nn.Sequential(
        torch.nn.Conv2d(3, 64, 3, padding=1), torch.nn.BatchNorm2d(64), torch.nn.ReLU(),
        torch.nn.Conv2d(64, 128, 3, stride=2), torch.nn.ReLU(),
        torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(128, 10)).cuda().eval()
    with torch.inference_mode():
        images = torch.randn(16, 3, 128, 128, device="cuda")
        total = model(images).sum() + model.half()(images.half()).sum().float()
    return float(total)


def autograd():
    """A function with its own backward, and a gradient of a gradient."""
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x ** 3

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return 3 * x * x * grad

    x = torch.linspace(0, 1, 100_000, device="cuda", requires_grad=True)
    Cube.apply(x).sum().backward()
    y = torch.sin(x).sum()
    (first,) = torch.autograd.grad(y, x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    return float(x.grad.sum() + second.sum())


def streams():
    """Streams of both priorities, events with and without timing, record_stream."""
    ordinary = [torch.cuda.Stream() for _ in range(3)]
    urgent = torch.cuda.Stream(priority=-1)
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    ready = torch.cuda.Event()
    x = torch.randn(1000, 1000, device="cuda")
    start.record()
    ready.record()
    parts = []
    for stream in [*ordinary, urgent]:
        stream.wait_event(ready)
        with torch.cuda.stream(stream):
            parts.append((x @ x).sum())
            x.record_stream(stream)
    torch.cuda.synchronize()
    end.record()
    end.synchronize()
    return float(sum(parts)), start.elapsed_time(end) >= 0


def graphs():
    """Two CUDA graphs, captured, replayed and dropped."""
    model = torch.nn.Linear(256, 256).cuda()
    static = torch.randn(64, 256, device="cuda")
    side = torch.cuda.Stream()
    with torch.cuda.stream(side), torch.no_grad():
        for _ in range(3):
            model(static)
    torch.cuda.current_stream().wait_stream(side)
    total = 0
    for _ in range(2):
        graph = torch.cuda.CUDAGraph()
        with torch.no_grad(), torch.cuda.graph(graph):
            out = model(static)
        for _ in range(5):
            static.copy_(torch.randn(64, 256, device="cuda"))
            graph.replay()
        total += float(out.sum())
        del graph, out
    return total


def loader():
    """A DataLoader with two worker processes and pinned memory."""
    data = torch.utils.data.TensorDataset(torch.randn(512, 64), torch.randint(10, (512,)))
    model = torch.nn.Linear(64, 10).cuda()
    total = 0.0
    for x, y in torch.utils.data.DataLoader(data, batch_size=64, num_workers=2, pin_memory=True):
        x, y = x.cuda(non_blocking=True), y.cuda(non_blocking=True)
        total += float(torch.nn.functional.cross_entropy(model(x), y))
    return total


def libraries():
    """cuFFT, cuSOLVER, cuSPARSE, cuRAND, cuDNN's recurrent networks, attention."""
    x = torch.randn(256, 256, device="cuda")
    total = torch.fft.rfft2(x).abs().sum()
    total = total + torch.linalg.svdvals(x).sum() + torch.linalg.inv(x).sum()
    total = total + torch.linalg.cholesky(x @ x.T + 300 * torch.eye(256, device="cuda")).sum()
    total = total + (x.to_sparse_csr() @ x).sum()
    total = total + torch.bernoulli(torch.full((1000,), 0.5, device="cuda")).sum()
    total = total + torch.nn.LSTM(64, 128, 2).cuda()(torch.randn(20, 8, 64, device="cuda"))[0].sum()
    q = torch.randn(2, 8, 128, 64, device="cuda", dtype=torch.half)
    total = total + torch.nn.functional.scaled_dot_product_attention(q, q, q).float().sum()
    total = total + torch.sort(x.flatten())[0][:10].sum() + torch.unique(x.round()).sum()
    return bool(torch.isfinite(total))


def threads():
    """Four threads, each with its own stream and its own cuBLAS handle."""
    import threading

    sums = []

    def work():
        with torch.cuda.stream(torch.cuda.Stream()):
            x = torch.randn(512, 512, device="cuda")
            sums.append(float((x @ x).sum()))

    some = [threading.Thread(target=work) for _ in range(4)]
    for one in some:
        one.start()
    for one in some:
        one.join()
    return len(sums)


def distributed():
    """torch.distributed with nccl, one rank: all_reduce, all_gather, barrier."""
    import torch.distributed as dist

    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29533")
    dist.init_process_group("nccl", rank=0, world_size=1, device_id=torch.device("cuda", 0))
    x = torch.ones(1 << 20, device="cuda")
    dist.all_reduce(x)
    gathered = [torch.empty_like(x)]
    dist.all_gather(gathered, x)
    dist.barrier()
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(64, 64).cuda())
    model(torch.randn(8, 64, device="cuda")).sum().backward()
    total = float(gathered[0].sum())
    del model
    torch.cuda.synchronize()
    dist.destroy_process_group()
    return total


def child(queue, done):
    x = queue.get()
    x.add_(1)
    torch.cuda.synchronize()
    del x
    gc.collect()
    done.set()


def processes():
    """A tensor shared with a spawned process, which writes to it."""
    import torch.multiprocessing as mp

    context = mp.get_context("spawn")
    queue, done = context.Queue(), context.Event()
    x = torch.zeros(1 << 20, device="cuda")
    one = context.Process(target=child, args=(queue, done))
    one.start()
    queue.put(x)
    done.wait()
    one.join()
    return float(x.sum()), one.exitcode


def compiled():
    """torch.compile: Triton's modules and launchers."""
    f = torch.compile(lambda x: (torch.sin(x) * x).relu().sum())
    return float(f(torch.ones(100_000, device="cuda")))


def profiled():
    """PyTorch's profiler with CUDA activities (CUPTI)."""
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CUDA]):
        x = torch.ones(1000, 1000, device="cuda")
        total = (x @ x).sum()
    return float(total)


def driver():
    """NVIDIA's driver, in the context that PyTorch uses."""
    training()
    return ctypes.CDLL("libcuda.so.1")


def expect(words, *results):
    """What the report of a twin must say."""
    print("expect:", words)
    return results


def leak_memory():
    """cuMemAlloc three times, kept."""
    cuda, address = driver(), ctypes.c_uint64()
    return expect("LEAKED  3 resources, 3.00 MiB",
                  *[cuda.cuMemAlloc_v2(ctypes.byref(address), 1 << 20) for _ in range(3)])


def leak_event():
    """cuEventCreate five times, kept."""
    cuda, handle = driver(), ctypes.c_void_p()
    return expect("LEAKED  5 resources",
                  *[cuda.cuEventCreate(ctypes.byref(handle), 0) for _ in range(5)])


def leak_stream():
    """cuStreamCreate twice, kept."""
    cuda, handle = driver(), ctypes.c_void_p()
    return expect("LEAKED  2 resources",
                  *[cuda.cuStreamCreate(ctypes.byref(handle), 1) for _ in range(2)])


def loaded(name):
    """A library that PyTorch has loaded."""
    with open("/proc/self/maps", encoding="utf-8") as maps:
        paths = [line.split()[-1] for line in maps if name in line]
    return ctypes.CDLL(paths[0])


def leak_cublas():
    """A handle of cuBLAS that the script itself creates, beside PyTorch's."""
    training()
    return expect("LEAKED", loaded("/libcublas.so").cublasCreate_v2(ctypes.byref(ctypes.c_void_p())))


def leak_cudnn():
    """A handle of cuDNN that the script itself creates, beside PyTorch's."""
    inference()
    return expect("LEAKED", loaded("/libcudnn.so").cudnnCreate(ctypes.byref(ctypes.c_void_p())))


def leak_torch_event():
    """A torch.cuda.Event that is never dropped."""
    streams()
    event = torch.cuda.Event()
    event.record()
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(event))
    return expect("LEAKED  1 resource")


def leak_async():
    """A tensor that is never dropped, where the driver sees every tensor (backend:cudaMallocAsync)."""
    training()
    tensor = torch.empty(1 << 20, dtype=torch.uint8, device="cuda")
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(tensor))
    return expect("LEAKED  1 resource, 1.00 MiB")


cases = {name: f for name, f in list(globals().items())
         if callable(f) and getattr(f, "__module__", "") == __name__ and f.__doc__
         and name not in ("driver", "expect", "loaded", "leak_async")}

if __name__ == "__main__":
    if len(sys.argv) < 2:
        print("\n".join(cases))
    elif sys.argv[1] == "--versions":
        print(json.dumps({"python": sys.version.split()[0], "torch": torch.__version__,
                          "cuda": torch.version.cuda, "cudnn": torch.backends.cudnn.version(),
                          "nccl": torch.cuda.nccl.version(),
                          "device": torch.cuda.get_device_name()}))
    else:
        print(sys.argv[1], {**cases, "leak_async": leak_async}[sys.argv[1]]())
