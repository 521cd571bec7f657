"""Paths and URIs, both through pyarrow's file systems, so that a folder and a bucket are alike."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from urllib.parse import unquote

from pyarrow import fs

from sash.errors import SashError

_SCHEMES = {"s3a": "s3", "s3n": "s3", "az": "abfs", "gcs": "gs"}
_OPTIONS = re.compile(r"\?[a-z_]+=[^?]*$")  # of a URI; a question mark may also be part of a glob


@dataclass(frozen=True)
class Location:
    """A path within its file system, and how paths there are said from outside."""

    filesystem: fs.FileSystem
    path: str
    root: str = ""  # what all paths begin with
    uri: str = ""  # the same from outside
    options: str = ""

    def outside(self, path: str) -> str:
        return self.uri + path.removeprefix(self.root) + self.options


def locate(path: str) -> Location:
    """Find the file system of a local path or a URI."""
    scheme, separator, rest = path.partition("://")
    if not separator:
        return Location(fs.LocalFileSystem(), path)
    if scheme == "file":
        return Location(fs.LocalFileSystem(), unquote(rest))
    rest, options = split_options(rest)
    authority, _, inner = rest.partition("/")
    filesystem, found = _remote(f"{_SCHEMES.get(scheme, scheme)}://{_with_account(scheme, authority)}{options}")
    root = found.rstrip("/")
    inside = f"{root}/{inner}" if found else inner  # the container of an account may be the first of the inner names
    return Location(filesystem, inside, root, f"{scheme}://{authority}{'' if found else '/'}", options)


def split_options(uri: str) -> tuple[str, str]:
    """A URI without its options, and these: `?region=…&endpoint_override=…`."""
    found = _OPTIONS.search(uri)
    return (uri, "") if found is None else (uri[: found.start()], found.group())


def _with_account(scheme: str, authority: str) -> str:
    """`az://container` names no account: that is in the environment."""
    account = os.environ.get("AZURE_STORAGE_ACCOUNT_NAME") or os.environ.get("AZURE_STORAGE_ACCOUNT")
    return f"{authority}@{account}.dfs.core.windows.net" if scheme == "az" and account and "@" not in authority else authority


@lru_cache(maxsize=32)
def _remote(root: str) -> tuple[fs.FileSystem, str]:
    try:
        filesystem, path = fs.FileSystem.from_uri(root)
    except (OSError, ValueError) as error:
        hint = "see its name, its region, the network and the credentials"
        raise SashError(f"{root} cannot be reached: {error}", hint) from error
    return filesystem, str(path)


def check_place(path: str) -> None:
    """Refuse what is no path and no URI."""
    if not path or "\0" in path or re.fullmatch(r"[^/]*:///*(\?.*)?", path):
        raise SashError(f"{path!r} names no file and no folder", "write a path, or a URI such as s3://bucket/folder")


def absolute(path: str, base: Path) -> str:
    """A path that is not begun by a root begins at `base`."""
    check_place(path)
    if "://" in path:
        return path
    try:
        return str(base.absolute() / Path(path).expanduser())
    except RuntimeError:
        raise SashError(f'nobody knows the folder that "{path}" begins with', "write the whole path") from None
