"""From the tree of a query to a logical plan: names become places, types are checked, joins take their shape."""

from sash.sql.binder.changes import bind_change
from sash.sql.binder.query import bind

__all__ = ["bind", "bind_change"]
