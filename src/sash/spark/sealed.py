"""Sealed files: every file of a checkpoint says what it is, and shows whether it is as it was written.

    magic | length of the header | header | body | length of the body, digest of all before
                                   {"is": "shards/1/0/log/00000012", "of": the checkpoint's number}

Nothing of a file is interpreted before its seal has been checked: a flipped bit in an Arrow stream can end a process.
A file that was renamed, moved or brought from another checkpoint is as bad as one with other bytes.

A digest is against chance: whoever can write to the folder can seal what he likes. Where the environment has a secret, seals are
made with it (HMAC), and what has none of these is refused, before anything of it is looked at.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Protocol, Self

import pyarrow as pa

from sash.errors import SashError
from sash.folders.folder import Bytes, Folder

MAGIC = b"SASH\x00\x00\x00\x05"
MAGIC_OF_SECRET = b"SASHKEY\x05"  # of files that are sealed with the secret; no flipped bit makes one of the other
ALIGNED = 64  # bytes: where bodies begin, as Arrow likes it
DIGEST = 16  # bytes
TRAILER = 8 + DIGEST
WAY_OUT = "bring it back from a copy, or start again with a new checkpoint folder"
SECRET = "SASH_SEAL_SECRET"  # in the environment of the driver and of Spark's tasks
SHORTEST = 16  # characters of a secret


class DamagedFile(SashError):
    """A file of a checkpoint is not what was written there."""

    def __init__(self, place: str, name: str, reason: str) -> None:
        super().__init__(f"the file {place}/{name} is damaged: {reason}", WAY_OUT)


class ForeignSeal(SashError):
    """A file of a checkpoint is sealed with a secret, and there is none here; or the other way round."""

    def __init__(self, place: str, name: str, *, has_secret: bool) -> None:
        if has_secret:
            why, hint = "is not sealed with the secret", f"if the checkpoint was begun without one, unset {SECRET}"
        else:
            why, hint = "is sealed with a secret", f"let {SECRET} hold it, also where Spark's tasks run"
        super().__init__(f"the file {place}/{name} {why}", hint)


class MissingFile(SashError):
    """A file of a checkpoint is gone."""

    def __init__(self, place: str, name: str) -> None:
        super().__init__(f"the file {place}/{name} is missing", WAY_OUT)


@dataclass(frozen=True)
class SealedFolder(Folder):
    """A folder of a checkpoint."""

    path: str = ""  # from the checkpoint on
    number: str = ""  # of the checkpoint; none before it has one

    def child(self, *names: str) -> Self:
        return replace(super().child(*names), path="/".join(filter(None, (self.path, *names))))

    @property
    def plain(self) -> Folder:
        """The same folder, for files that others write there."""
        return Folder(self.place, self.options)

    def read(self, name: str) -> pa.Buffer | None:
        """What was written, or None when there is no such file."""
        data = super().read(name)
        return None if data is None else self._opened(name, data)

    def demand(self, name: str) -> pa.Buffer:
        """What was written; a file that is not there is an error."""
        data = self.read(name)
        if data is None:
            raise MissingFile(self.place, name)
        return data

    def put(self, name: str, parts: Iterable[Bytes], *, durable: bool = True) -> None:
        super().put(name, sealed(self._header(name), parts), durable=durable)

    def create(self, name: str, parts: Iterable[Bytes]) -> bool:
        return super().create(name, sealed(self._header(name), parts))

    def _header(self, name: str) -> dict[str, str]:
        return {"is": "/".join(filter(None, (self.path, name))), "of": self.number}

    def _opened(self, name: str, data: pa.Buffer) -> pa.Buffer:
        if bytes(memoryview(data)[:8]) == (MAGIC if secret() else MAGIC_OF_SECRET):
            raise ForeignSeal(self.place, name, has_secret=bool(secret()))
        try:
            header, body = opened(data)
        except ValueError as error:
            raise DamagedFile(self.place, name, str(error)) from None
        expected = self._header(name)
        if header.get("is") != expected["is"]:
            raise DamagedFile(self.place, name, f"it is the file {header.get('is')} of a checkpoint")
        if header.get("of") != expected["of"]:
            raise DamagedFile(self.place, name, "it belongs to another checkpoint")
        return body


def secret() -> bytes:
    """What seals are made with; empty if they are against chance alone."""
    found = os.environ.get(SECRET, "")
    if found and not (len(found) >= SHORTEST and found.isascii()):
        hint = f"let it hold {SHORTEST} characters of ASCII or more, as openssl rand -hex 32 gives them"
        raise SashError(f"{SECRET} is not long enough to keep anybody out, or not ASCII", hint)
    return found.encode()


class _Digest(Protocol):
    def update(self, data: Bytes, /) -> None: ...

    def digest(self) -> bytes: ...


def _digest(of: bytes | memoryview) -> _Digest:
    key = secret()
    return hmac.new(key, of, hashlib.sha256) if key else hashlib.sha256(of)


def sealed(header: dict[str, str], parts: Iterable[Bytes]) -> Iterator[Bytes]:
    """The bytes of a sealed file."""
    text = json.dumps(header).encode()
    begin = (MAGIC_OF_SECRET if secret() else MAGIC) + len(text).to_bytes(8, "little") + text
    begin += b"\x00" * (-len(begin) % ALIGNED)
    digest, length = _digest(begin), 0
    yield begin
    for part in parts:
        digest.update(part)
        length += memoryview(part).nbytes
        yield part
    end = length.to_bytes(8, "little")
    digest.update(end)
    yield end + digest.digest()[:DIGEST]


def opened(data: pa.Buffer) -> tuple[dict[str, str], pa.Buffer]:
    """Header and body of a sealed file; a ValueError says what is wrong with it."""
    view = memoryview(data).cast("B")
    if not is_sealed(data):
        raise ValueError("it does not begin as files of a checkpoint do")
    if len(view) < ALIGNED + TRAILER:
        raise ValueError(f"only {len(view)} bytes are there")
    if not hmac.compare_digest(_digest(view[:-DIGEST]).digest()[:DIGEST], view[-DIGEST:]):
        other = f", or {SECRET} is not that of the checkpoint" if secret() else ""
        raise ValueError(f"its checksum does not fit its bytes{other}")
    size = int.from_bytes(view[8:16], "little")
    start = -(-(16 + size) // ALIGNED) * ALIGNED
    length = int.from_bytes(view[-TRAILER:-DIGEST], "little")
    if start + length + TRAILER != len(view):
        raise ValueError(f"it is not as long as it says: {len(view)} bytes")
    return json.loads(bytes(view[16 : 16 + size])), data.slice(start, length)


def is_sealed(data: pa.Buffer) -> bool:
    """Whether a file begins as sealed ones do."""
    return bytes(memoryview(data)[:8]) == (MAGIC_OF_SECRET if secret() else MAGIC)
