# SPDX-License-Identifier: MIT
"""Tells gputrack the blocks that an allocator written in Python gives out, as gputrack/pool.h does for C.

    gputrack_pool.block("arena", address, bytes, device)
    gputrack_pool.end("arena", address)

Of pools that others have written, in each thread that uses CuPy, and before the first allocation from RMM:

    gputrack_pool.cupy()
    gputrack_pool.rmm()

Without gputrack all of these do nothing.
"""
import ctypes
import threading


def _find(name, *types):
    function = getattr(ctypes.PyDLL(None), name, None)
    if function:
        function.argtypes, function.restype = types, None
    return function


_block = _find("gputrack_on_pool_block", ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
_end = _find("gputrack_on_pool_end", ctypes.c_char_p, ctypes.c_void_p)


def block(pool, address, bytes, device=0):
    """`bytes` at `address` (an int) belong to the caller of the pool of this name (or None)."""
    if _block:
        _block(pool.encode() if pool else None, address, bytes, device)


def end(pool, address):
    """The block at `address` is the pool's again."""
    if _end:
        _end(pool.encode() if pool else None, address)


_here = threading.local()


def cupy():
    """Blocks of CuPy's memory pools that the calling thread takes and returns, by a memory hook."""
    if not _block or hasattr(_here, "hook"):
        return
    from cupy.cuda import MemoryHook

    class Hook(MemoryHook):
        name = "gputrack"

        def malloc_postprocess(self, **made):
            if made["mem_ptr"]:
                block("CuPy", made["mem_ptr"], made["mem_size"], made["device_id"])

        def free_preprocess(self, **freed):
            end("CuPy", freed["mem_ptr"])

    _here.hook = Hook()
    _here.hook.__enter__()


def rmm():
    """Blocks of RMM's resource for the current device, which is from now on reached through a callback."""
    if not _block:
        return
    import rmm.mr

    resource = rmm.mr.get_current_device_resource()

    def allocate(size, stream):
        address = resource.allocate(size, stream)
        if address:
            block("RMM", address, size)
        return address

    def deallocate(address, size, stream):
        if address:
            end("RMM", address)
        resource.deallocate(address, size, stream)

    rmm.mr.set_current_device_resource(rmm.mr.CallbackMemoryResource(allocate, deallocate))
