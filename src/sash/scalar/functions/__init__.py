"""The functions and operators of SQL, by lower-case name; one family a file."""

from sash.scalar.functions import arithmetic, comparison, conditional, logic
from sash.scalar.functions.function import Function

_FAMILIES = (
    arithmetic,
    comparison,
    logic,
    conditional,
)

FUNCTIONS: dict[str, Function] = {
    name: function for family in _FAMILIES for function in family.FUNCTIONS for name in function.names
}
