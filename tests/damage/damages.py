"""What can happen to a file."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path

Files = list[Path]


def _write(file: Path, data: bytes | bytearray) -> None:
    """In place, unless a file of another trial is linked to the same bytes."""
    if file.stat().st_nlink > 1:
        file.unlink()
    file.write_bytes(data)


def missing(file: Path, chance: random.Random, files: Files, older: Files) -> bool:
    file.unlink()
    return True


def empty(file: Path, chance: random.Random, files: Files, older: Files) -> bool:
    _write(file, b"")
    return True


def halved(file: Path, chance: random.Random, files: Files, older: Files) -> bool:
    data = file.read_bytes()
    _write(file, data[: len(data) // 2])
    return True


def cut(file: Path, chance: random.Random, files: Files, older: Files) -> bool:
    """Its last bytes are gone, or some are too many."""
    data = file.read_bytes()
    size = chance.randrange(1, 9)
    _write(file, data[:-size] if chance.random() < 0.5 else data + chance.randbytes(size))
    return True


def flipped(file: Path, chance: random.Random, files: Files, older: Files) -> bool:
    data = bytearray(file.read_bytes())
    bit = chance.randrange(8 * len(data))
    data[bit // 8] ^= 1 << bit % 8
    _write(file, data)
    return True


def scattered(file: Path, chance: random.Random, files: Files, older: Files) -> bool:
    """Bits flip all over it."""
    data = bytearray(file.read_bytes())
    for _ in range(100):
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    _write(file, data)
    return True


def zeroed(file: Path, chance: random.Random, files: Files, older: Files) -> bool:
    """A page of it never reached the disk."""
    data = bytearray(file.read_bytes())
    start = chance.randrange(len(data)) // 4096 * 4096
    end = min(start + 4096, len(data))
    if not any(data[start:end]):
        return False
    data[start:end] = b"\0" * (end - start)
    _write(file, data)
    return True


def replaced_by_older(file: Path, chance: random.Random, files: Files, older: Files) -> bool:
    """By one of the same name, from an earlier time, and with the times of that one, as who brings back a copy does it."""
    others = [other for other in older if other.exists() and other.read_bytes() != file.read_bytes()]
    if not others:
        return False
    other = chance.choice(others)
    _write(file, other.read_bytes())
    shutil.copystat(other, file)
    return True


def swapped(file: Path, chance: random.Random, files: Files, older: Files) -> bool:
    """With another one; often with one of the same folder."""
    near = [other for other in files if other.parent == file.parent and other != file]
    pool = near if near and chance.random() < 0.7 else [other for other in files if other != file]
    other = chance.choice(pool)
    mine, theirs = file.read_bytes(), other.read_bytes()
    if mine == theirs:
        return False
    if chance.random() < 0.5:
        _write(file, theirs)
        _write(other, mine)
    else:
        beside = file.with_name(".swapped")
        file.rename(beside)
        other.rename(file)
        beside.rename(other)
    return True


Damage = Callable[[Path, random.Random, Files, Files], bool]
DAMAGES: tuple[Damage, ...] = (missing, empty, halved, cut, flipped, flipped, scattered, zeroed, replaced_by_older, swapped)
