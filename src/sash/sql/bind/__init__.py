"""From the tree of a query to a logical plan: names become places, types are checked, joins take their shape."""

from sash.sql.bind.changes import bind_change
from sash.sql.bind.query import bind

__all__ = ["bind", "bind_change"]
