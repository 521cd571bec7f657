"""Messages as they are: the whole value is one column, and a message without a value is NULL."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from sash.errors import SashError
from sash.plan.streams import StreamSpec
from sash.schema import STRING
from sash.sources.message_encoding import Encoding, Part, gathered
from sash.sources.result import TextResult, Values
from sash.sources.values import conform


def _check(spec: StreamSpec) -> None:
    if spec.paths:
        raise SashError(f'stream "{spec.name}": column "{spec.paths[0][0]}" is FROM a path, and its messages are raw')
    if spec.schema.types != (STRING,):
        raise SashError(
            f'stream "{spec.name}" is raw, so a message is one column of the type STRING; there are: {spec.schema}',
            "declare one STRING, and columns with METADATA, and cast it in the query",
        )


def _read(spec: StreamSpec, messages: pa.LargeBinaryArray) -> TextResult:
    texts = pa.Array.from_buffers(pa.large_string(), len(messages), messages.buffers(), offset=messages.offset)
    values = conform(texts, spec.schema.fields[0], f'stream "{spec.name}"')
    wrong = {int(row): "the message is not valid UTF-8" for row in np.flatnonzero(values.failed)}
    kept = np.flatnonzero(~values.failed)
    whole = Values(values.read.take(pa.array(kept)), np.zeros(len(kept), np.bool_), values.given)
    given: list[bytes | None] = messages.to_pylist() if wrong else []
    return gathered(spec, given, [Part(kept, [whole])], wrong)


RAW = Encoding((), _check, _read, is_text=False)
