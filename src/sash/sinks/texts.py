"""Columns as texts: what sinks that write text have in common."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from sash.scalar.arrays import list_offsets


def in_quotes(texts: pa.Array) -> pa.Array:
    return pc.binary_join_element_wise('"', texts, '"', "")


def escaped(texts: pa.Array) -> pa.Array:
    """With a backslash before every quote and every backslash."""
    return pc.replace_substring(pc.replace_substring(texts, "\\", "\\\\"), '"', '\\"')


def joined(lists: pa.ListArray, words: pa.Array, opening: str, between: str, closing: str) -> pa.Array:
    """The words of every list as one text; that of a NULL is NULL."""
    whole = pa.ListArray.from_arrays(list_offsets(lists), words)
    return pc.binary_join_element_wise(opening, pc.binary_join(whole, between), closing, "")
