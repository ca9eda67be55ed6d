# SPDX-License-Identifier: MIT
"""Tells gputrack the blocks that an allocator written in Python gives out, as gputrack/pool.h does for C.

    gputrack_pool.block("arena", address, bytes, device)
    gputrack_pool.end("arena", address)

Without gputrack both do nothing.
"""
import ctypes


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
