"""The constants of a text, where comparisons have them: texts that differ in them alone are parsed and bound once.

    SELECT * FROM v WHERE k = 1234 AND g > 'x'      parted into      SELECT * FROM v WHERE k = ?number AND g > ?text      1234, x

What is found by such a look at a text is a guess: it may lie in a text in quotes, or in a comment. Who parts a text binds it with
constants that nobody writes, and looks where these have come to.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from sash.schema import Kind, Type

# After a sign of comparison: a whole number that every numeric type holds, or a text without quotes, backslashes and halves of
# characters, which the parser refuses.
_CONSTANT = re.compile(r"""(?<=[=<>])(\s*)(?:(-?[0-9]{1,9}|\(-[0-9]{1,9}\))(?![\w.'])|'([^'\\\ud800-\udfff]*)'(?!'))""")
NUMBER, TEXT = 918_273_000, "a constant that nobody writes "
KINDS = {int: (Kind.BIGINT, Kind.INT, Kind.DOUBLE), str: (Kind.STRING,)}  # of columns for which any such constant is bound alike

Constant = int | str


def parted(sql: str) -> tuple[str, list[Constant]]:
    """A text without its constants, and these; none of one that might be taken for such a text itself."""
    constants: list[Constant] = []
    if "?" in sql:
        return sql, constants
    return _CONSTANT.sub(lambda found: found[1] + _kept(found, constants), sql), constants


def rewritten(sql: str, texts: Iterable[str]) -> str:
    """A text with others in the places of its constants."""
    others = iter(texts)
    return _CONSTANT.sub(lambda found: found[1] + next(others), sql)


def strange(place: int, constant: Constant) -> Constant:
    """A constant of the same kind that nobody writes."""
    if isinstance(constant, str):
        return f"{TEXT}{place}."
    return -(NUMBER + place) if constant < 0 else NUMBER + place


def written(constant: Constant) -> str:
    return str(constant) if isinstance(constant, int) else f"'{constant}'"


def value_of(constant: Constant, type_: Type) -> int | float | str:
    """The value of a constant that is compared with a column of a type."""
    return float(constant) if type_.kind is Kind.DOUBLE else constant


def _kept(found: re.Match[str], constants: list[Constant]) -> str:
    """What stands in a template in place of a constant: which kind it is of."""
    if found[2] is None:
        constants.append(found[3])
        return "?text"
    number = int(found[2].strip("()"))
    constants.append(number)
    return "?below" if number < 0 else "?number"
