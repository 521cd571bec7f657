"""The files of a stream, in the order in which they are read: by modification time, then by path.

Paths are local ones or URIs, both through pyarrow's file systems, so that a folder and a bucket are read alike.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from pyarrow import fs

from sash.errors import SashError
from sash.folders.locations import Location, absolute, locate
from sash.plan.streams import StreamSpec
from sash.sources.options import options_of

_GLOB = re.compile(r"[*?\[{]")


@dataclass(frozen=True)
class SourceFile:
    """A file as it was when it was seen; a file that was seen does not change any more."""

    path: str
    size: int
    modified: int  # nanoseconds since the epoch


def list_files(spec: StreamSpec, base: Path) -> list[SourceFile]:
    """Every file that the stream's path (a file, a folder or a glob, relative to `base`) names now."""
    options = options_of(spec)
    if options.path is None:
        raise SashError(f'stream "{spec.name}" has no files', "say WITH (path = '...')")
    location = locate(absolute(options.path, base))
    try:
        found = _expand(location)
    except UnicodeDecodeError as error:
        name = error.object.decode(errors="replace")
        raise SashError(f'stream "{spec.name}": the name {name} in "{options.path}" is no UTF-8', "rename it") from None
    except (OSError, re.error) as error:
        raise SashError(f'stream "{spec.name}": cannot list "{options.path}": {error}') from error
    if found is None:
        raise SashError(
            f'stream "{spec.name}": there is no "{options.path}"',
            f"relative paths start at {base}" if "://" not in options.path else None,
        )
    files = [SourceFile(location.outside(info.path), info.size, info.mtime_ns or 0) for info in found]
    for file in files:
        options.format_of(file.path)
    return sorted(files, key=lambda file: (file.modified, file.path))


def _expand(location: Location) -> list[fs.FileInfo] | None:
    """The files of a path; None where nothing has that name."""
    info = location.filesystem.get_file_info(location.path)
    if info.type == fs.FileType.File:
        return [info]
    if info.type == fs.FileType.Directory:
        return _children(location.filesystem, location.path)
    if _GLOB.search(location.path):
        # Nothing may match yet: files may come later, as with Spark.
        return _matches(location.filesystem, location.path)
    return None


def _children(filesystem: fs.FileSystem, folder: str) -> list[fs.FileInfo]:
    infos = filesystem.get_file_info(fs.FileSelector(folder))
    return [info for info in infos if info.type == fs.FileType.File and not _is_hidden(info)]


def _is_hidden(info: fs.FileInfo) -> bool:
    return bool(info.base_name.startswith((".", "_")))


def _matches(filesystem: fs.FileSystem, glob: str) -> list[fs.FileInfo]:
    """The visible files that a glob names, and those in the folders that it names."""
    first = _GLOB.search(glob)
    assert first is not None
    folder, pattern = glob[: first.start()].rsplit("/", 1)[0], re.compile(_expression(glob))
    is_deep = "/" in glob[first.start() :] or "**" in glob
    selector = fs.FileSelector(folder or "/", allow_not_found=True, recursive=is_deep)
    found = {}
    for info in filesystem.get_file_info(selector):
        if _is_hidden(info) or not pattern.fullmatch(info.path):
            continue
        files = [info] if info.type == fs.FileType.File else _children(filesystem, info.path)
        found.update({file.path: file for file in files})
    return list(found.values())


def _expression(glob: str) -> str:
    """A glob as a regular expression: * and ? stay within a folder, ** does not, {a,b} is a choice."""
    signs = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    result = ""
    for part in re.findall(r"\*\*/|\*\*|\[[^\]]+\]|\{[^}]*\}|.", glob):
        if len(part) > 1 and part[0] == "[":
            result += part.replace("[!", "[^", 1)
        elif len(part) > 1 and part[0] == "{":
            result += f"(?:{'|'.join(_expression(choice) for choice in part[1:-1].split(','))})"
        else:
            result += signs.get(part, re.escape(part))
    return result
