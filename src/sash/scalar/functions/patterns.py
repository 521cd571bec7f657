"""LIKE and regular expressions.

RE2 does the work; what only Java and Python know (looking around, references back) goes through Python, value by value.
A pattern written as a constant is checked when the expression is built; one that comes from a column fails in its row.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

import pyarrow as pa
import pyarrow.compute as pc

from sash.errors import SashError
from sash.scalar.arrays import nulls, per_group, per_value
from sash.scalar.coercion import Arguments
from sash.scalar.frame import Frame, Implementation
from sash.scalar.functions.function import Function, Rule, constant, fixed
from sash.scalar.nodes import Call, Literal
from sash.schema import BOOLEAN, INT, STRING, Type
from sash.schema import array as array_type

Kernel = Callable[..., pa.Array]
_TEXTS = pa.list_(pa.string())


class BadPattern(Exception):
    """The text is not a pattern; the message says why."""


def _like(text: pa.Array, pattern: str, escape: str = "\\", ignore_case: bool = False) -> pa.Array:
    return pc.match_like(text, _with_backslashes(pattern, escape), ignore_case=ignore_case)


def _ilike(text: pa.Array, pattern: str, escape: str = "\\") -> pa.Array:
    return _like(text, pattern, escape, ignore_case=True)


def _with_backslashes(pattern: str, escape: str) -> str:
    """The same LIKE pattern with the backslash as its escape, which is the only one that Arrow knows."""
    if len(escape) != 1:
        raise BadPattern(f'the escape "{escape}" is not one character')
    result, characters = [], iter(pattern)
    for character in characters:
        if character == escape:
            character = next(characters, "")
            if character not in ("%", "_", escape):
                raise BadPattern(f'the escape "{escape}" may only stand before %, _ and itself')
            result.append(f"\\{character}" if character in "%_\\" else character)
        else:
            result.append("\\\\" if character == "\\" else character)
    return "".join(result)


def _has_groups(pattern: str, groups: list[int]) -> None:
    try:
        known = _python(pattern).groups
    except BadPattern:  # then it is one for RE2 only, or none
        return
    for group in groups:
        if not 0 <= group <= known:
            raise BadPattern(f"it has no group {group}")


@cache
def _python(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except re.error as error:
        raise BadPattern(str(error)) from None


def _rlike(text: pa.Array, pattern: str) -> pa.Array:
    try:
        return pc.match_substring_regex(text, pattern)
    except pa.ArrowInvalid:
        return _in_python(text, pattern, lambda regex, value: regex.search(value) is not None, pa.bool_())


def _regexp_replace(text: pa.Array, pattern: str, replacement: str) -> pa.Array:
    rewrite = _rewrite(replacement)
    _has_groups(pattern, [int(number) for number in re.findall(r"\$(\d)", replacement)])
    try:
        return pc.replace_substring_regex(text, pattern=pattern, replacement=rewrite)
    except pa.ArrowInvalid:
        template = rewrite.replace("\\0", "\\g<0>")
        return _in_python(text, pattern, lambda regex, value: regex.sub(template, value), pa.string())


def _rewrite(replacement: str) -> str:
    """From Java's replacement ($1, and a backslash before what stands for itself) to RE2's and Python's (\\1)."""
    pieces = re.findall(r"\\.|\$\d|.", replacement, re.DOTALL)
    return "".join(_rewritten(piece) for piece in pieces)


def _rewritten(piece: str) -> str:
    if len(piece) == 2 and piece[0] == "$":
        return f"\\{piece[1]}"
    return piece[-1].replace("\\", "\\\\")


def _regexp_extract(text: pa.Array, pattern: str, group: int = 1) -> pa.Array:
    """A group of the first match; an empty text when there is none."""
    _has_groups(pattern, [group])
    try:
        if not 0 <= group <= 9:
            raise pa.ArrowInvalid("RE2 rewrites with one digit")
        found = pc.match_substring_regex(text, pattern)
        inner = f"({pattern})" if group == 0 else f"(?:{pattern})"
        whole = f"^(?s:.*?){inner}(?s:.*)$"
        taken = pc.replace_substring_regex(text, pattern=whole, replacement=f"\\{max(group, 1)}")
        return pc.if_else(found, taken, "")
    except pa.ArrowInvalid:
        return _in_python(text, pattern, lambda regex, value: _group(regex, value, group), pa.string())


def _group(regex: re.Pattern[str], value: str, group: int) -> str:
    found = regex.search(value)
    return (found.group(group) or "") if found else ""


def _regexp_count(text: pa.Array, pattern: str) -> pa.Array:
    try:
        return pc.count_substring_regex(text, pattern)
    except pa.ArrowInvalid:
        return _in_python(text, pattern, lambda regex, value: len(regex.findall(value)), pa.int32())


def _split(text: pa.Array, pattern: str) -> pa.Array:
    """What is between the matches. Arrow never comes to an end where one is empty, so Python looks for those."""
    if not pattern:
        return per_value(text, characters, _TEXTS)
    try:
        if _is_never_empty(pattern):
            return pc.split_pattern_regex(text, pattern)
    except pa.ArrowInvalid:
        pass
    return _in_python(text, pattern, _between_matches, _TEXTS)


def _is_never_empty(pattern: str) -> bool:
    """Whether all that it matches has a character. Of what needs none, all but borders of words hold in the empty text."""
    return not re.search(r"\\[bB]", pattern) and not pc.match_substring_regex(pa.scalar(""), pattern).as_py()


def _between_matches(regex: re.Pattern[str], value: str) -> list[str]:
    """As in Java, nothing is split off by an empty match at the beginning."""
    parts, end = list[str](), 0
    for match in regex.finditer(value):
        if match.end() > 0:
            parts.append(value[end : match.start()])
            end = match.end()
    return [*parts, value[end:]]


def characters(text: str) -> list[str]:
    """What an empty separator stands between."""
    return list(text) or [""]


def _in_python(
    text: pa.Array, pattern: str, function: Callable[[re.Pattern[str], str], object], type_: pa.DataType
) -> pa.Array:
    regex = _python(pattern)
    return per_value(text, lambda value: function(regex, value), type_)


def _checked(kernel: Kernel, rule: Rule) -> Rule:
    """The same rule, trying a constant pattern on one value."""

    def checked(arguments: Arguments) -> tuple[Arguments, Type]:
        coerced, type_ = rule(arguments)
        constants = [constant(argument) for argument in coerced[1:]]
        if None not in constants:
            try:
                kernel(pa.array(["a"]), *constants)
            except BadPattern as error:
                raise SashError(f'"{constants[0]}" is not a pattern: {error}') from None
        return coerced, type_

    return checked


def _matched(kernel: Kernel) -> Implementation:
    def evaluate(frame: Frame, call: Call) -> pa.Array:
        text, parameters = frame.value(call.arguments[0]), call.arguments[1:]
        constants = [parameter.value for parameter in parameters if isinstance(parameter, Literal)]
        if len(constants) == len(parameters) and None not in constants:
            return kernel(text, *constants)  # checked when it was built
        return _by_row(frame, call, kernel, text)

    return evaluate


def _by_row(frame: Frame, call: Call, kernel: Kernel, text: pa.Array) -> pa.Array:
    def forgiving(rows: pa.Array, *constants: object) -> pa.Array:
        try:
            return kernel(rows, *constants)
        except BadPattern:
            return pa.nulls(len(rows), call.type.arrow)

    parameters = [frame.value(argument) for argument in call.arguments[1:]]
    result = per_group([text], parameters, forgiving, call.type.arrow)
    given = ~nulls(text)
    for parameter in parameters:
        given &= ~nulls(parameter)
    return frame.failing(result, nulls(result) & given, f"{call.function} needs a pattern", parameters)


def _pattern(name: str, takes: str, kernel: Kernel, rule: Rule, *others: str) -> Function:
    return Function((name, *others), takes, _checked(kernel, rule), _matched(kernel))


_LIKE = fixed(BOOLEAN, STRING, STRING, STRING, optional=1)
_LIKE_TAKES = "a text, a pattern, and perhaps an escape character"
_REGEX = "a text and a regular expression"

FUNCTIONS = (
    _pattern("like", _LIKE_TAKES, _like, _LIKE),
    _pattern("ilike", _LIKE_TAKES, _ilike, _LIKE),
    _pattern("rlike", _REGEX, _rlike, fixed(BOOLEAN, STRING, STRING), "regexp_like", "regexp"),
    _pattern(
        "regexp_replace", f"{_REGEX}, and what to put there", _regexp_replace, fixed(STRING, STRING, STRING, STRING)
    ),
    _pattern(
        "regexp_extract", f"{_REGEX}, and perhaps the number of a group", _regexp_extract,
        fixed(STRING, STRING, STRING, INT, optional=1),
    ),
    _pattern("regexp_count", _REGEX, _regexp_count, fixed(INT, STRING, STRING)),
    _pattern("split", "a text and a pattern", _split, fixed(array_type(STRING), STRING, STRING)),
)
