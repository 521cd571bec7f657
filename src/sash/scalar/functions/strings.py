"""Text. Lengths and places count characters, not bytes; the first place is 1; what is not text is printed first."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.bounds import spend
from sash.scalar.arrays import LONGEST, array_of, blank, list_offsets, nulls, numbers, per_group, per_value
from sash.scalar.frame import Frame, Implementation
from sash.scalar.functions.function import Function, fixed, many, parameterized, plain
from sash.scalar.nodes import Call, Literal
from sash.schema import BOOLEAN, INT, STRING

_TEXT = fixed(STRING, STRING)
_TEXT_AND_COUNT = fixed(STRING, STRING, INT)
_TOO_LONG = f"a text that is padded or repeated has a length of at most {LONGEST:,}"


def _substring(text: pa.Array, start: int, length: int = 2**31) -> pa.Array:
    """A start of 0 means 1; a negative start counts from the end."""
    if length <= 0:
        return pc.utf8_slice_codeunits(text, start=0, stop=0)
    if start >= 0:
        first = max(0, start - 1)
        return pc.utf8_slice_codeunits(text, start=first, stop=first + length)
    return pc.utf8_slice_codeunits(text, start=start, stop=start + length if start + length < 0 else None)


def _left(text: pa.Array, length: int) -> pa.Array:
    return _substring(text, 1, length)


def _right(text: pa.Array, length: int) -> pa.Array:
    return _substring(text, -length, length)


def _trimmed(kernel: Callable[..., pa.Array]) -> Implementation:
    def trim(text: pa.Array, characters: str = " ") -> pa.Array:
        return kernel(text, characters) if characters else text

    return parameterized(trim)


def _padded(side: str) -> Implementation:
    kernel = pc.utf8_lpad if side == "left" else pc.utf8_rpad

    def pad(text: pa.Array, length: int, padding: str = " ") -> pa.Array:
        length = max(0, length)
        spend(length * len(text))
        if len(padding) == 1:
            text = kernel(text, width=length, padding=padding)
        elif padding:
            text = per_value(text, lambda value: _pad_one(value, length, padding, side), pa.string())
        return pc.utf8_slice_codeunits(text, start=0, stop=length)

    padded = parameterized(pad)

    def evaluate(frame: Frame, call: Call) -> pa.Array:
        asked = call.arguments[1]
        if isinstance(asked, Literal) and not (isinstance(asked.value, int) and asked.value > LONGEST):
            return padded(frame, call)
        text, length, *padding = frame.arguments(call)
        failed = (numbers(length) > LONGEST) & ~nulls(length) & ~nulls(text)
        result = per_group([text], [blank(length, failed), *padding], pad, pa.string())
        return frame.failing(result, failed, _TOO_LONG, [length])

    return evaluate


def _pad_one(text: str, length: int, padding: str, side: str) -> str:
    missing = (padding * max(0, length - len(text)))[: max(0, length - len(text))]
    return missing + text if side == "left" else text + missing


def _repeat(frame: Frame, call: Call) -> pa.Array:
    text, count = frame.arguments(call)
    times = np.maximum(numbers(count).astype(np.int64), 0)
    failed = (numbers(pc.binary_length(text)) * times > LONGEST) & ~nulls(text) & ~nulls(count)
    spend(int(np.where(failed, 0, numbers(pc.binary_length(text)) * times).sum()))
    result = pc.binary_repeat(text, array_of(np.where(failed, 0, times), pa.int64(), nulls(count)))
    return frame.failing(result, failed, _TOO_LONG, [count])


def _replace(text: pa.Array, found: str, replacement: str = "") -> pa.Array:
    return pc.replace_substring(text, pattern=found, replacement=replacement) if found else text


def _locate(found: pa.Array, text: pa.Array, start: pa.Array | None = None) -> pa.Array:
    """The first place, at or after `start`, where something is found; 0 when it is not there."""
    if start is None:
        return per_group([text], [found], _place, pa.int32())
    return per_group([text], [found, start], _place, pa.int32())


def _place(text: pa.Array, found: str, start: int = 1) -> pa.Array:
    if not found or start < 1:
        return pc.if_else(text.is_valid(), 1 if start >= 1 else 0, None)
    rest = pc.utf8_slice_codeunits(text, start=start - 1)
    before = pc.list_element(pc.split_pattern(rest, found, max_splits=1), 0)
    return pc.if_else(pc.match_substring(rest, found), pc.add(pc.utf8_length(before), start), 0)


def _in_text(text: pa.Array, found: pa.Array) -> pa.Array:
    return _locate(found, text)


def _split_part(frame: Frame, call: Call) -> pa.Array:
    """The n-th part between separators, from the end when n is negative; there is no part 0."""
    text, separator, place = frame.arguments(call)
    result = per_group([text], [separator, place], _part, pa.string())
    return frame.failing(result, (numbers(place) == 0) & ~nulls(place), "split_part has no part 0", [text, place])


def _part(text: pa.Array, separator: str, place: int) -> pa.Array:
    if not separator:
        return text if abs(place) == 1 else pc.utf8_slice_codeunits(text, start=0, stop=0)
    parts = pc.split_pattern(text, separator)
    lengths = numbers(pc.list_value_length(parts)).astype(np.int64)
    inside = place - 1 if place > 0 else lengths + place
    there = (abs(place) <= lengths) & (place != 0)
    taken = parts.flatten().take(array_of(np.cumsum(lengths) - lengths + inside, pa.int64(), ~there))
    return pc.if_else(text.is_valid(), pc.fill_null(taken, ""), None)


def _initcap(text: pa.Array) -> pa.Array:
    """The first letter of every word large, the rest small; only spaces part words."""
    words = pc.split_pattern(pc.utf8_lower(text), " ")
    large = pc.utf8_capitalize(words.flatten())
    return pc.binary_join(pa.ListArray.from_arrays(list_offsets(words), large), " ")


def _translate(text: pa.Array, found: str, replacement: str) -> pa.Array:
    """Character by character; those without a counterpart go away."""
    table: dict[int, str | None] = {}
    for place, character in enumerate(found):
        table.setdefault(ord(character), replacement[place] if place < len(replacement) else None)
    return per_value(text, lambda value: value.translate(table), pa.string())


def _ascii(text: pa.Array) -> pa.Array:
    first = pc.utf8_slice_codeunits(text, start=0, stop=1)
    return per_value(first, lambda value: ord(value or "\0"), pa.int32())


def _chr(code: pa.Array) -> pa.Array:
    return per_value(code, lambda value: "" if value < 0 else chr(value % 256), pa.string())


def _digest(name: str) -> Callable[[pa.Array], pa.Array]:
    return lambda text: per_value(text, lambda value: hashlib.new(name, value.encode()).hexdigest(), pa.string())


def _concat(frame: Frame, call: Call) -> pa.Array:
    if not call.arguments:
        return pa.repeat("", frame.length)
    return pc.binary_join_element_wise(*frame.arguments(call), "")


def _concat_ws(frame: Frame, call: Call) -> pa.Array:
    """With a separator; NULLs are left out."""
    separator, *texts = frame.arguments(call)
    if not texts:
        return pc.if_else(separator.is_valid(), "", None)
    # Arrow leaves out a row that has nothing but NULLs: the result would be shorter. One of them becomes an empty text.
    texts[0] = pc.if_else(pc.is_null(pc.coalesce(*texts)), "", texts[0])
    return pc.binary_join_element_wise(*texts, separator, null_handling="skip")


_SEARCHED = "two texts"
_SEARCH = fixed(BOOLEAN, STRING, STRING)
_TRIM = fixed(STRING, STRING, STRING, optional=1)
_PAD = fixed(STRING, STRING, INT, STRING, optional=1)
_PAD_TAKES = "a text, a length, and perhaps what to pad it with"
_TRIM_TAKES = "a text, and perhaps the characters to cut off"

FUNCTIONS = (
    Function(("concat",), "any number of texts", many(STRING, STRING, least=0), _concat),
    Function(("concat_ws",), "a separator and any number of texts", many(STRING, STRING), _concat_ws),
    Function(("upper", "ucase"), "a text", _TEXT, plain(pc.utf8_upper)),
    Function(("lower", "lcase"), "a text", _TEXT, plain(pc.utf8_lower)),
    Function(("length", "char_length", "character_length", "len"), "a text", fixed(INT, STRING), plain(pc.utf8_length)),
    Function(("octet_length",), "a text", fixed(INT, STRING), plain(pc.binary_length)),
    Function(
        ("substring", "substr"), "a text, a start, and perhaps a length", fixed(STRING, STRING, INT, INT, optional=1),
        parameterized(_substring),
    ),
    Function(("left",), "a text and a length", _TEXT_AND_COUNT, parameterized(_left)),
    Function(("right",), "a text and a length", _TEXT_AND_COUNT, parameterized(_right)),
    Function(("trim", "btrim"), _TRIM_TAKES, _TRIM, _trimmed(pc.utf8_trim)),
    Function(("ltrim",), _TRIM_TAKES, _TRIM, _trimmed(pc.utf8_ltrim)),
    Function(("rtrim",), _TRIM_TAKES, _TRIM, _trimmed(pc.utf8_rtrim)),
    Function(("lpad",), _PAD_TAKES, _PAD, _padded("left")),
    Function(("rpad",), _PAD_TAKES, _PAD, _padded("right")),
    Function(("repeat",), "a text and a count", _TEXT_AND_COUNT, _repeat),
    Function(("reverse",), "a text", _TEXT, plain(pc.utf8_reverse)),
    Function(
        ("replace",), "a text, what to look for, and perhaps what to put there",
        fixed(STRING, STRING, STRING, STRING, optional=1), parameterized(_replace),
    ),
    Function(("instr",), "a text and what to look for", fixed(INT, STRING, STRING), plain(_in_text)),
    Function(
        ("locate", "position", "charindex"), "what to look for, a text, and perhaps a start",
        fixed(INT, STRING, STRING, INT, optional=1), plain(_locate),
    ),
    Function(("startswith",), _SEARCHED, _SEARCH, parameterized(pc.starts_with)),
    Function(("endswith",), _SEARCHED, _SEARCH, parameterized(pc.ends_with)),
    Function(("contains",), _SEARCHED, _SEARCH, parameterized(pc.match_substring)),
    Function(
        ("split_part",), "a text, a separator, and the number of a part", fixed(STRING, STRING, STRING, INT),
        _split_part,
    ),
    Function(("initcap",), "a text", _TEXT, plain(_initcap)),
    Function(
        ("translate",), "a text, characters, and their replacements", fixed(STRING, STRING, STRING, STRING),
        parameterized(_translate),
    ),
    Function(("ascii",), "a text", fixed(INT, STRING), plain(_ascii)),
    Function(("chr", "char"), "a number", fixed(STRING, INT), plain(_chr)),
    Function(("md5",), "a text", _TEXT, plain(_digest("md5"))),
    Function(("sha1", "sha"), "a text", _TEXT, plain(_digest("sha1"))),
)
