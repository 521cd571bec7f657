"""Names of views and streams as names of files, and what is said where a file cannot be written.

    talkers          talkers                      letters, digits, - and _ are themselves
    ../../x          ~2E~2E~2F~2E~2E~2Fx          any other byte of the name in UTF-8 is ~ and two hexadecimal digits
    x.changes        x~2Echanges                  so endings such as .changes.parquet are never part of a name
    _hidden          ~5Fhidden                    Spark's readers pass over files that begin with _ or .
    aaaa…            aaaa…~~<hash>                more than 200 characters end in a hash of the whole name

Two names never give the same file name. Names that differ in case alone are one name to SQL, so a file system without case is
enough. The sign is ~ and not %, for a % in a URI may be read as an escape by who opens it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sash.errors import SashError

LONGEST = 200  # characters, so that endings still fit into the 255 bytes of most file systems
_HASH = 32  # hexadecimal digits
_PLAIN = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")


def file_name(name: str) -> str:
    """The name of a view or stream as the beginning of a file name, before any ending."""
    data = name.encode()
    parts = [chr(byte) if byte in _PLAIN else f"~{byte:02X}" for byte in data]
    if parts[:1] == ["_"]:
        parts[0] = "~5F"
    whole = "".join(parts)
    return whole if len(whole) <= LONGEST else _shortened(parts, hashlib.sha256(data).hexdigest()[:_HASH])


@contextmanager
def writing(path: Path | str) -> Iterator[None]:
    """What the user has named is written here, a file or a folder."""
    try:
        yield
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise SashError(f"cannot write {path}: {why}", "see that it can be written to, and has room") from error


def check_name(name: str) -> None:
    """Refuse what is no name: nothing at all, and what has no spelling in UTF-8 or in the calls of an operating system."""
    if not name:
        raise SashError("a name is empty", "give it at least one character")
    if "\0" in name:
        raise SashError(f"the name {name!r} has a NUL character", "choose another name")
    try:
        name.encode()
    except UnicodeEncodeError:
        raise SashError(f"the name {name!r} has half of a character", "choose another name") from None


def _shortened(parts: list[str], digest: str) -> str:
    """As many whole parts as fit before the hash; ~~ is nowhere else."""
    kept, room = "", LONGEST - len(digest) - len("~~")
    for part in parts:
        if len(kept) + len(part) > room:
            break
        kept += part
    return f"{kept}~~{digest}"
