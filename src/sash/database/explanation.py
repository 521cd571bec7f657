"""Plans as people read them."""

from __future__ import annotations

from html import escape


class Explanation(str):
    """The text of a plan, which shows itself as it is."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return f"<pre>{escape(self)}</pre>"
