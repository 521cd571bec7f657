"""Files that are mapped into memory: how they grow, and maps of their parts that need no file descriptor of their own.

Python's own `mmap` keeps a copy of the descriptor for every map (before 3.13 it cannot be told not to). An engine has many
arrays, a process has few descriptors, and much that it talks to waits with `select`, which knows only the first 1024.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import sys
import weakref
from pathlib import Path

from sash.errors import SashError

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_longlong)
_libc.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)

_CAN_GIVE_BACK = hasattr(_libc, "fallocate")
if _CAN_GIVE_BACK:
    _libc.fallocate.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.c_longlong, ctypes.c_longlong)

_KEEP_SIZE, _PUNCH_HOLE = 1, 2
_NO_RESERVE = 0x4000 if sys.platform == "linux" else 0  # MAP_NORESERVE: of what could be written, hardly anything is
_FAILED = ctypes.c_void_p(-1).value


def grow(descriptor: int, start: int, length: int, place: Path | None) -> None:
    """Bytes at the end of a file, or such as were given back; those of a real one, in the folder `place`, are reserved there."""
    try:
        if place is None:  # memory, which is not reserved: pages that nobody writes to cost nothing
            os.ftruncate(descriptor, max(start + length, os.fstat(descriptor).st_size))
        elif hasattr(os, "posix_fallocate"):
            os.posix_fallocate(descriptor, start, length)
        else:
            _write_zeros(descriptor, start, length)
    except OSError as error:
        if place is None:
            raise SashError(f"no memory for {length:,} more bytes of state: {error.strerror}", "use smaller windows") from error
        way = "make room there, or let TMPDIR (on Spark: SPARK_LOCAL_DIRS) name a folder with more"
        raise SashError(f"no room for {length:,} more bytes of state in {place}: {error.strerror}", way) from error


def give_back(descriptor: int, start: int, length: int) -> bool:
    """Bytes inside a file that nobody needs now; they read as zero from then on. Whether the system can do it."""
    return _CAN_GIVE_BACK and _libc.fallocate(descriptor, _KEEP_SIZE | _PUNCH_HOLE, start, length) == 0


def _write_zeros(descriptor: int, start: int, length: int) -> None:
    zeros = bytes(min(length, 1 << 20))
    for place in range(start, start + length, len(zeros)):
        os.pwrite(descriptor, zeros, place)


def map_file(descriptor: int, offset: int, length: int, *, private: bool) -> memoryview:
    """These bytes of the file, to read and write; privately, what is written stays in this map. Gone when nobody holds it."""
    flags = mmap.MAP_PRIVATE | _NO_RESERVE if private else mmap.MAP_SHARED
    address = _libc.mmap(None, length, mmap.PROT_READ | mmap.PROT_WRITE, flags, descriptor, offset)
    if address == _FAILED:
        number = ctypes.get_errno()
        raise OSError(number, f"cannot map {length} bytes of an arena: {os.strerror(number)}")
    region = (ctypes.c_char * length).from_address(address)
    weakref.finalize(region, _libc.munmap, address, length).atexit = False
    return memoryview(region).cast("B")
