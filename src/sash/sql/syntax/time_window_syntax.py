"""Windows of time as functions in FROM: every row once for each window that it falls into.

    TUMBLE(bids, ts, INTERVAL 10 MINUTES)
    HOP(bids, ts, INTERVAL 5 MINUTES, INTERVAL 10 MINUTES)                                 slide, then size
    CUMULATE(bids, ts, INTERVAL 5 MINUTES, INTERVAL 1 HOUR)                                step, then size
    TABLE(TUMBLE(TABLE bids, DESCRIPTOR(ts), INTERVAL '10' MINUTE, INTERVAL '1' MINUTE))   as the standard writes it; an offset
    TABLE(HOP(DATA => TABLE bids, TIMECOL => DESCRIPTOR(ts), SLIDE => INTERVAL '5' MINUTE, SIZE => INTERVAL '10' MINUTE))
"""

from __future__ import annotations

from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from sash.errors import choices
from sash.sql.syntax.stream_syntax import StreamParser
from sash.sql.syntax.text_positions import fault, mark

_PARAMETERS = {
    "TUMBLE": ("DATA", "TIMECOL", "SIZE", "OFFSET"),
    "HOP": ("DATA", "TIMECOL", "SLIDE", "SIZE", "OFFSET"),
    "CUMULATE": ("DATA", "TIMECOL", "STEP", "SIZE", "OFFSET"),
}


class TimeWindows(exp.Expression):
    """One of these functions; the lengths are under their names."""

    arg_types: ClassVar[dict[str, bool]] = {
        "this": True, "data": True, "timecol": True, "size": True, "slide": False, "step": False, "offset": False,
        "alias": False,
    }  # fmt: skip


class TimeWindowParser(StreamParser):
    """The parser of streams with these functions."""

    def _parse_table(self, *arguments: Any, **options: Any) -> exp.Expr | None:
        is_wrapped = any(self._sees("TABLE", "(", kind, "(") for kind in _PARAMETERS)
        if not is_wrapped and not any(self._sees(kind, "(") for kind in _PARAMETERS):
            return super()._parse_table(*arguments, **options)
        node = self._wrapped() if is_wrapped else self._time_windows()
        self._window(node)
        if (alias := self._parse_table_alias()) is not None:
            node.set("alias", alias)
        self._window(node)
        return node

    def _wrapped(self) -> TimeWindows:
        self._advance(2)
        node = self._time_windows()
        self._match_r_paren()
        return node

    def _time_windows(self) -> TimeWindows:
        first, kind = self._curr, self._curr.text.upper()
        self._advance(2)
        given: dict[str, Any] = {}
        while not given or self._match(TokenType.COMMA):
            name = self._parameter(kind, given)
            given[name.lower()] = self._argument(name)
        self._match_r_paren()
        for name in _PARAMETERS[kind][:-1]:
            if given.get(name.lower()) is None:
                hint = f"it takes {choices(_PARAMETERS[kind])}, of which OFFSET may be left out"
                raise fault(first, f"{kind} needs {name}", hint)
        node = TimeWindows(this=kind, **given)
        mark(node, first, self._prev)
        return node

    def _parameter(self, kind: str, given: dict[str, Any]) -> str:
        """The name of the next argument: as written, or by its place."""
        if self._next is not None and self._next.token_type is TokenType.FARROW:
            name = str(self._curr.text.upper())
            if name not in _PARAMETERS[kind] or name.lower() in given:
                raise fault(self._curr, f'{kind} has no argument "{name}" here', f"it takes {choices(_PARAMETERS[kind])}")
            self._advance(2)
            return name
        left = [name for name in _PARAMETERS[kind] if name.lower() not in given]
        if not left:
            raise fault(self._curr, f"{kind} takes {len(_PARAMETERS[kind])} arguments at most")
        return left[0]

    def _argument(self, name: str) -> exp.Expr | None:
        if name == "DATA":
            if self._sees("TABLE"):
                self._advance()
            return self._parse_table()
        if name != "TIMECOL" or not self._sees("DESCRIPTOR", "("):
            return self._parse_assignment()
        self._advance(2)
        column = self._parse_assignment()
        self._match_r_paren()
        return column
