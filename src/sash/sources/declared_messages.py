"""What CREATE says of messages, looked at at once; files that it names are taken into the declaration, which goes elsewhere.

    schema_file = 'orders.avsc'            becomes    schema = '…', the text of the file
    descriptor_file = 'orders.desc'        becomes    descriptors = '…', as much of the file as the message needs, in base64
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from sash.errors import SashError
from sash.plan.streams import StreamSpec
from sash.sources.avro.messages import SCHEMA
from sash.sources.messages import message_spec
from sash.sources.protobuf.descriptors import LARGEST, files_in, needed
from sash.sources.protobuf.messages import DESCRIPTORS, MESSAGE

Taken = Callable[[StreamSpec, bytes], str]


def declared(spec: StreamSpec, base: Path) -> StreamSpec:
    """A stream as declared, if it has messages, with what is in its files; an error, if they cannot be read."""
    if spec.encoding is None:
        return spec
    options = dict(spec.options)
    for option, (into, taken) in FILES.items():
        if (name := options.pop(option, None)) is None:
            continue
        if into in options:
            raise SashError(f'stream "{spec.name}" has both {option} and {into}', "leave one of them out")
        options[into] = taken(spec, _contents(spec, option, base / name))
    found = replace(spec, options=tuple(options.items()))
    message_spec(found)
    return found


def _contents(spec: StreamSpec, option: str, path: Path) -> bytes:
    try:
        with open(path, "rb") as file:
            data = file.read(LARGEST + 1)
    except OSError as error:
        raise SashError(f'stream "{spec.name}": {option} "{path}" cannot be read: {error.strerror}', "see its path") from None
    if len(data) > LARGEST:
        raise SashError(f'stream "{spec.name}": {option} "{path}" is larger than {LARGEST:,} bytes', "name another file")
    return data


def _text(spec: StreamSpec, data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise SashError(f'stream "{spec.name}": its schema_file is not UTF-8', "see that it is the right file") from None


def _descriptors(spec: StreamSpec, data: bytes) -> str:
    found = files_in(f'stream "{spec.name}"', data)
    return base64.b64encode(needed(found, spec.option(MESSAGE) or "")).decode()


FILES: Mapping[str, tuple[str, Taken]] = {"schema_file": (SCHEMA, _text), "descriptor_file": (DESCRIPTORS, _descriptors)}
