# SPDX-License-Identifier: MIT
"""failing_disk.py - a file system in memory whose reads fail from a moment on, as those of a dead disk.

It speaks FUSE's protocol itself: a folder r.gt with one file is all that a recorder needs. Root alone
can mount it.
"""
import ctypes
import errno
import os
import struct
import threading

ROOT, FOLDER, FILE = 1, 2, 3
LOOKUP, FORGET, GETATTR, SETATTR, OPEN, READ, WRITE, STATFS, RELEASE, FLUSH, INIT, CREATE = (
    1, 2, 3, 4, 14, 15, 16, 17, 18, 25, 26, 35)
BATCH_FORGET, INVALIDATE = 42, 2
SET_SIZE, SET_MODE = 1 << 3, 1 << 0


class FailingDisk:
    def __init__(self, case):
        self.case, self.folder = case, case.path("failing")
        self.data, self.mode, self.is_there, self.fails = bytearray(), 0o100400, False, False
        self.libc = ctypes.CDLL(None, use_errno=True)

    def __enter__(self):
        if os.geteuid():
            self.case.skip("only root can mount a file system of its own")
        self.folder.mkdir()
        try:
            self.fd = os.open("/dev/fuse", os.O_RDWR)
        except OSError as e:
            self.case.skip(f"no FUSE: {e}")
        options = f"fd={self.fd},rootmode=40000,user_id=0,group_id=0"
        if self.libc.mount(b"failing", str(self.folder).encode(), b"fuse.failing", 0, options.encode()):
            os.close(self.fd)
            self.case.skip(f"no FUSE: {os.strerror(ctypes.get_errno())}")
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *what):
        self.libc.umount2(str(self.folder).encode(), 2)
        self.thread.join(10)
        os.close(self.fd)

    def fail(self):
        """From now on: also for what the kernel has read before."""
        self.fails = True
        os.write(self.fd, struct.pack("<IiQQqq", 40, INVALIDATE, 0, FILE, 0, 0))

    def attributes(self, node):
        size, mode = (len(self.data), self.mode) if node == FILE else (0, 0o40700)
        return struct.pack("<6Q10I", node, size, (size + 511) // 512, 0, 0, 0, 0, 0, 0,
                           mode, 1, 0, 0, 0, 4096, 0)

    def entry(self, node):
        return struct.pack("<4Q2I", node, 0, 0, 0, 0, 0) + self.attributes(node)

    def answer(self, code, node, body):
        """The answer to a request, or an error code."""
        if code == INIT:
            major, minor, ahead = struct.unpack_from("<III", body)
            return struct.pack("<4I2H2I2H8I", major, min(minor, 31), ahead, 0, 0, 0, 1 << 16, 1, 0, 0,
                               *[0] * 8)[:64]
        if code == LOOKUP:
            if node == ROOT and body == b"r.gt\0":
                return self.entry(FOLDER)
            return self.entry(FILE) if node == FOLDER and self.is_there else errno.ENOENT
        if code == GETATTR:
            return struct.pack("<QII", 0, 0, 0) + self.attributes(node)
        if code == SETATTR:
            valid, = struct.unpack_from("<I", body)
            size, = struct.unpack_from("<Q", body, 16)
            if valid & SET_SIZE:
                self.data = self.data[:size].ljust(size, b"\0")
            if valid & SET_MODE:
                self.mode = struct.unpack_from("<I", body, 68)[0]
            return struct.pack("<QII", 0, 0, 0) + self.attributes(node)
        if code == CREATE:
            self.is_there = True
            return self.entry(FILE) + struct.pack("<QII", 0, 0, 0)
        if code == OPEN:
            return struct.pack("<QII", 0, 0, 0)
        if code in (READ, WRITE):
            _, offset, size = struct.unpack_from("<QQI", body)
            if code == READ:
                return errno.EIO if self.fails else bytes(self.data[offset:offset + size])
            if len(self.data) < offset + size:
                self.data = self.data.ljust(offset + size, b"\0")
            self.data[offset:offset + size] = body[40:40 + size]
            return struct.pack("<II", size, 0)
        return b"" if code in (RELEASE, FLUSH) else errno.ENOSYS

    def serve(self):
        while True:
            try:
                request = os.read(self.fd, 1 << 18)
            except OSError as e:
                if e.errno in (errno.EINTR, errno.EAGAIN, errno.ENOENT):
                    continue
                return  # unmounted
            _, code, unique, node = struct.unpack_from("<IIQQ", request)
            if code in (FORGET, BATCH_FORGET):
                continue
            answer = self.answer(code, node, request[40:])
            error, data = (-answer, b"") if isinstance(answer, int) else (0, answer)
            try:
                os.write(self.fd, struct.pack("<IiQ", 16 + len(data), error, unique) + data)
            except OSError as e:
                if e.errno != errno.ENOENT:  # nobody waits for it any more
                    raise
