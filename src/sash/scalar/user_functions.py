"""Functions that users write in Python, over whole Arrow columns.

    def masked(address: pa.Array) -> pa.Array: ...

It gets one array for every parameter, of the declared types, and gives one array of as many values. It travels inside the plan,
so a shard on another machine has it too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from uuid import uuid4

import pyarrow as pa

from sash.errors import SashError
from sash.interned import NOT_WRITTEN
from sash.schema import Type


@dataclass(frozen=True)
class UserFunction:
    """A function of the user under a name, with its types."""

    name: str
    parameters: tuple[Type, ...]
    type: Type
    implementation: Callable[..., pa.Array] = field(repr=False, compare=False)  # a plan is known by its text, after a restart too
    # Another database may have another function of this name; a copy in another process is this one.
    registration: str = field(default_factory=lambda: uuid4().hex, repr=False, compare=False, metadata=NOT_WRITTEN)

    def __call__(self, arguments: Sequence[pa.Array], length: int) -> pa.Array:
        """The results; raises what the user's code raises, or a SashError if they are not what was declared."""
        result = self.implementation(*arguments)
        if isinstance(result, pa.ChunkedArray):
            result = result.combine_chunks()
        array = result if isinstance(result, pa.Array) else pa.array(result)
        if len(array) != length:
            raise SashError(f"it gave {len(array)} values for {length} rows")
        return array.cast(self.type.arrow)
