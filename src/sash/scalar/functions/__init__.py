"""The functions and operators of SQL, by lower-case name; one family a file."""

from sash.scalar.functions import (
    arithmetic,
    array,
    array_order,
    bits,
    comparison,
    conditional,
    date_text,
    dates,
    instants,
    logic,
    numbers,
    patterns,
    rounding,
    strings,
    times,
)
from sash.scalar.functions.function import Function

_FAMILIES = (
    arithmetic,
    comparison,
    logic,
    conditional,
    bits,
    rounding,
    numbers,
    strings,
    patterns,
    array,
    array_order,
    dates,
    times,
    instants,
    date_text,
)

FUNCTIONS: dict[str, Function] = {
    name: function for family in _FAMILIES for function in family.FUNCTIONS for name in function.names
}
