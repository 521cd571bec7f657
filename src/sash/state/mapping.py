"""Maps of parts of a file into memory that need no file descriptor of their own.

Python's own `mmap` keeps a copy of the descriptor for every map (before 3.13 it cannot be told not to). An engine has many
arrays, a process has few descriptors, and much that it talks to waits with `select`, which knows only the first 1024.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import weakref

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_longlong)
_libc.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)

_FAILED = ctypes.c_void_p(-1).value


def map_file(descriptor: int, offset: int, length: int, *, private: bool) -> memoryview:
    """These bytes of the file, to read and write; privately, what is written stays in this map. Gone when nobody holds it."""
    flags = mmap.MAP_PRIVATE if private else mmap.MAP_SHARED
    address = _libc.mmap(None, length, mmap.PROT_READ | mmap.PROT_WRITE, flags, descriptor, offset)
    if address == _FAILED:
        number = ctypes.get_errno()
        raise OSError(number, f"cannot map {length} bytes of an arena: {os.strerror(number)}")
    region = (ctypes.c_char * length).from_address(address)
    weakref.finalize(region, _libc.munmap, address, length).atexit = False
    return memoryview(region).cast("B")
