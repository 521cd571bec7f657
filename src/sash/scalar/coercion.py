"""Which types meet in which, and the casts that bring them there, as Spark SQL does.

Numbers meet in the wider one (INT, BIGINT, DECIMAL, DOUBLE). A STRING meets a number or a time in the other's type when
they are compared, in DOUBLE when one calculates, and in STRING when values are only put side by side (CASE, COALESCE,
UNION). A NULL without a type is a STRING literal, and becomes whatever the others are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce

import pyarrow as pa

from sash.errors import BadLiteral, SashError
from sash.scalar.cast import can_cast, try_cast
from sash.scalar.nodes import Call, Expression, Literal
from sash.schema import BIGINT, DOUBLE, INT, LENGTH, STRING, TIMESTAMP, Kind, Type, array, decimal

Arguments = tuple[Expression, ...]

MOST_DIGITS = 38
LEAST_SCALE = 6  # digits after the point that a result keeps when it has too many in all

_TIMES = (Kind.TIMESTAMP, Kind.DATE)
_ORDER = (Kind.INT, Kind.BIGINT, Kind.DECIMAL, Kind.DOUBLE)


class Mismatch(Exception):
    """These arguments are not what the function takes."""


def untyped(expression: Expression) -> bool:
    """NULL as it is written in SQL."""
    return isinstance(expression, Literal) and expression.value is None and expression.type == STRING


def null(type_: Type) -> Literal:
    return Literal(None, type_)


def misplaced_length() -> SashError:
    return SashError(
        "a length of time (an INTERVAL, or a difference of times) is not a value here",
        "compare it with an INTERVAL, or count: DATEDIFF(a, b) gives days, TIMESTAMPDIFF(SECOND, b, a) whole units, "
        "UNIX_MICROS(a) - UNIX_MICROS(b) microseconds",
    )


def cast(expression: Expression, type_: Type, try_: bool = False) -> Expression:
    """An explicit or implicit cast; that of a literal is done at once, and a mistake where it fails."""
    if expression.type == type_:
        return expression
    if expression.type == LENGTH:
        raise misplaced_length()
    if isinstance(expression, Literal) and (expression.value is None or can_cast(expression.type.kind, type_.kind)):
        return _folded(expression, type_, try_)
    if is_open(expression) and type_.element is not None and isinstance(expression, Call):
        return Call("array", tuple(cast(part, type_.element) for part in expression.arguments), type_)
    if not _is_possible(expression.type, type_):
        raise SashError(f"{expression.type} cannot be cast to {type_}")
    if not try_ and type_.element is not None and isinstance(expression, Call) and expression.function == "array":
        _check_elements(expression, type_.element)
    return Call("try_cast" if try_ else "cast", (expression,), type_)


def _check_elements(array: Call, type_: Type) -> None:
    """The constants of an array that is written out are constants like any other."""
    for part in array.arguments:
        if isinstance(part, Literal):
            cast(part, type_)


def is_open(expression: Expression) -> bool:
    """An array without elements, or of NULLs: it becomes whatever the others are."""
    return isinstance(expression, Call) and expression.function == "array" and all(map(untyped, expression.arguments))


def _is_possible(given: Type, wanted: Type) -> bool:
    if given.element is not None and wanted.element is not None:
        return given.element == wanted.element or _is_possible(given.element, wanted.element)
    return can_cast(given.kind, wanted.kind)


def _folded(literal: Literal, type_: Type, try_: bool) -> Literal:
    if literal.value is None or (literal.type.kind, type_.kind) == (Kind.INT, Kind.BIGINT):
        return Literal(literal.value, type_)
    result, failed = try_cast(pa.array([literal.value], literal.type.arrow), type_.arrow)
    if failed[0].as_py() and not try_:
        raise BadLiteral(str(literal.value), type_)
    return Literal(result[0].as_py(), type_)


def as_decimal(type_: Type) -> Type:
    """The DECIMAL that holds every value of an integer type."""
    return {Kind.INT: decimal(10, 0), Kind.BIGINT: decimal(20, 0)}.get(type_.kind, type_)


def wider_number(left: Type, right: Type) -> Type:
    if Kind.DOUBLE not in (left.kind, right.kind) and Kind.DECIMAL in (left.kind, right.kind):
        return _wider_decimal(as_decimal(left), as_decimal(right))
    return max(left, right, key=lambda type_: _ORDER.index(type_.kind))


def _wider_decimal(left: Type, right: Type) -> Type:
    scale = max(left.scale, right.scale)
    precision = max(left.precision - left.scale, right.precision - right.scale) + scale
    return decimal(min(precision, MOST_DIGITS), max(0, scale - max(0, precision - MOST_DIGITS)))


def bounded_decimal(precision: int, scale: int) -> Type:
    """At most 38 digits: those before the point stay, those after it give way down to six."""
    if precision <= MOST_DIGITS:
        return decimal(precision, scale)
    return decimal(MOST_DIGITS, max(MOST_DIGITS - (precision - scale), min(scale, LEAST_SCALE)))


def _common_of_two(left: Type, right: Type) -> Type:
    if left == right:
        return left
    if left.is_number and right.is_number:
        return wider_number(left, right)
    if left.element is not None and right.element is not None:
        return array(common_type([left.element, right.element]))
    if left.kind in _TIMES and right.kind in _TIMES:
        return TIMESTAMP
    if Kind.STRING in (left.kind, right.kind) and not {Kind.BOOLEAN, Kind.ARRAY} & {left.kind, right.kind}:
        return STRING
    raise SashError(f"{left} and {right} have no type in common", "use CAST on one of them")


def common_type(types: Iterable[Type]) -> Type:
    """The type of values put side by side: CASE, COALESCE, UNION. STRING takes in types that do not meet otherwise."""
    return reduce(_common_of_two, sorted(types, key=lambda type_: type_ != STRING))


def comparison_type(left: Type, right: Type) -> Type:
    """The type in which two values are compared."""
    if STRING not in (left, right) or left == right or Kind.ARRAY in (left.kind, right.kind):
        return _common_of_two(left, right)
    other = right if left == STRING else left
    if other.is_integer:
        return BIGINT
    return DOUBLE if other.is_number else other


def unify(expressions: Sequence[Expression]) -> Arguments:
    """Values put side by side, all of one type."""
    known = [expression for expression in expressions if not untyped(expression)]
    types = [expression.type for expression in known if not is_open(expression)] or [expression.type for expression in known]
    type_ = common_type(types) if types else STRING
    return tuple(cast(expression, type_) for expression in expressions)


def comparable(expressions: Sequence[Expression]) -> Arguments:
    """Values to be compared, all of one type."""
    exact = any(expression.type.kind is Kind.DECIMAL for expression in expressions)
    known = [e for e in expressions if not untyped(e)]
    types = [_narrowest(e) if exact else e.type for e in known if not is_open(e)] or [e.type for e in known]
    type_ = reduce(comparison_type, types) if types else STRING
    return tuple(cast(expression, type_) for expression in expressions)


def _narrowest(expression: Expression) -> Type:
    """Beside a DECIMAL, an integer literal has only the digits that it shows."""
    if isinstance(expression, Literal) and expression.type.is_integer and expression.value is not None:
        return decimal(len(str(abs(int(str(expression.value))))), 0)
    return expression.type


def numbers_of(expressions: Sequence[Expression]) -> Arguments:
    """Operands of one number type, or each a DECIMAL of its own when one of them is and none is a DOUBLE."""
    known = [e for e in expressions if not untyped(e)] or [null(DOUBLE)]
    if any(not e.type.is_number and e.type != STRING for e in known):
        raise Mismatch
    if any(e.type.kind in (Kind.DOUBLE, Kind.STRING) for e in known):
        return tuple(cast(e, DOUBLE) for e in expressions)
    if any(e.type.kind is Kind.DECIMAL for e in known):
        return tuple(_operand(e, known[0].type) for e in expressions)
    type_ = BIGINT if any(e.type == BIGINT for e in known) else INT
    return tuple(cast(e, type_) for e in expressions)


def _operand(expression: Expression, otherwise: Type) -> Expression:
    if untyped(expression):
        return null(as_decimal(otherwise))
    return cast(expression, as_decimal(_narrowest(expression)))


def implicit(expression: Expression, wanted: Type) -> Expression:
    """An argument of a function whose parameter has a fixed type."""
    given = expression.type
    if given == wanted or untyped(expression):
        return cast(expression, wanted)
    fits = (
        (wanted == STRING and given.element is None)
        or (given.element is not None and wanted.element is not None and _is_possible(given, wanted))
        or (given.is_number and wanted.is_number)
        or (given == STRING and wanted.kind not in (Kind.BOOLEAN, Kind.ARRAY))
        or (given.kind in _TIMES and wanted.kind in _TIMES)
    )
    if not fits:
        raise Mismatch
    return cast(expression, wanted)
