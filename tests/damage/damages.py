"""What can happen to a file."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path

Files = list[Path]


def missing(file: Path, chance: random.Random, files: Files, older: Files) -> bool:
    file.unlink()
    return True


def empty(file: Path, chance: random.Random, files: Files, older: Files) -> bool:
    file.write_bytes(b"")
    return True


def halved(file: Path, chance: random.Random, files: Files, older: Files) -> bool:
    data = file.read_bytes()
    file.write_bytes(data[: len(data) // 2])
    return True


def cut(file: Path, chance: random.Random, files: Files, older: Files) -> bool:
    """Its last bytes are gone, or some are too many."""
    data = file.read_bytes()
    size = chance.randrange(1, 9)
    file.write_bytes(data[:-size] if chance.random() < 0.5 else data + chance.randbytes(size))
    return True


def flipped(file: Path, chance: random.Random, files: Files, older: Files) -> bool:
    data = bytearray(file.read_bytes())
    bit = chance.randrange(8 * len(data))
    data[bit // 8] ^= 1 << bit % 8
    file.write_bytes(data)
    return True


def zeroed(file: Path, chance: random.Random, files: Files, older: Files) -> bool:
    """A page of it never reached the disk."""
    data = bytearray(file.read_bytes())
    start = chance.randrange(len(data)) // 4096 * 4096
    end = min(start + 4096, len(data))
    data[start:end] = b"\0" * (end - start)
    file.write_bytes(data)
    return True


def replaced_by_older(file: Path, chance: random.Random, files: Files, older: Files) -> bool:
    """By one of the same name, from an earlier time."""
    others = [other for other in older if other.exists() and other.read_bytes() != file.read_bytes()]
    if not others:
        return False
    shutil.copyfile(chance.choice(others), file)
    return True


def swapped(file: Path, chance: random.Random, files: Files, older: Files) -> bool:
    """With another one; often with one of the same folder."""
    near = [other for other in files if other.parent == file.parent and other != file]
    pool = near if near and chance.random() < 0.7 else [other for other in files if other != file]
    other = chance.choice(pool)
    mine, theirs = file.read_bytes(), other.read_bytes()
    if mine == theirs:
        return False
    file.write_bytes(theirs)
    other.write_bytes(mine)
    return True


Damage = Callable[[Path, random.Random, Files, Files], bool]
DAMAGES: tuple[Damage, ...] = (missing, empty, halved, cut, flipped, flipped, flipped, zeroed, replaced_by_older, swapped)
