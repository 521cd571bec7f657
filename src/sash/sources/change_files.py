"""Messages in files: one a line, in the order of the files, each of which is read once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sash.errors import SashError
from sash.folders.locations import locate
from sash.plan.streams import StreamSpec
from sash.sources.debezium import Message
from sash.sources.lines import split_lines
from sash.sources.listing import SourceFile, list_files
from sash.sources.options import compression


def read_files(spec: StreamSpec, base: Path, after: Any) -> tuple[list[Message], Any]:
    """The messages of the files after a position; and the position after them."""
    options = (("format", "json"), ("path", spec.option("path") or ""))
    files = list_files(StreamSpec(spec.name, spec.schema, options=options), base)
    place = None if after is None else (after["modified"], after["path"])
    new = [file for file in files if place is None or (file.modified, file.path) > place]
    if after is not None and len(files) - len(new) != after["files"]:
        raise SashError(
            f'files of table "{spec.name}" have come or gone among those that have been read, up to {after["path"]}',
            "leave them as they are, and let every new one be younger",
        )
    messages = [message for file in new for message in _messages(file)]
    if not new:
        return messages, after
    return messages, {"files": len(files), "modified": new[-1].modified, "path": new[-1].path}


def _messages(file: SourceFile) -> list[Message]:
    location = locate(file.path)
    try:
        with location.filesystem.open_input_stream(location.path, compression=compression(file.path)) as stream:
            text = bytes(stream.read())
    except OSError as error:
        raise SashError(f'cannot read "{file.path}": {error}', "it may be cut short or damaged") from error
    return [Message(None, line, file.path, number) for number, line in enumerate(split_lines(text)) if line.strip()]
