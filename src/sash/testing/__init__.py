"""For tests of your own queries: changelogs as text, a clock that stands still, and an oracle.

The oracle recomputes a query with DuckDB at every instant, and so knows what the changelog must be; it needs the extra
`sash[testing]`.
"""

from sash.testing.clock import FakeClock
from sash.testing.comparing import assert_same, difference, same_rows
from sash.testing.oracle import Oracle
from sash.testing.statements import Statement
from sash.testing.tables import Change, changes, from_arrow, in_order, rows, show, to_arrow
from sash.testing.values import same

__all__ = [
    "Change",
    "FakeClock",
    "Oracle",
    "Statement",
    "assert_same",
    "changes",
    "difference",
    "from_arrow",
    "in_order",
    "rows",
    "same",
    "same_rows",
    "show",
    "to_arrow",
]
