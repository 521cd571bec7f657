"""The settings of a session. Clients set them and ask for them; no answer depends on them."""

from __future__ import annotations

from sash.serve.postgres.failures import WireError

VERSION = "15.0"  # of PostgreSQL, whose protocol and catalog these are

# Told to every client when it comes.
REPORTED = {
    "server_version": f"{VERSION} (Sash)", "server_encoding": "UTF8", "client_encoding": "UTF8", "DateStyle": "ISO, MDY",
    "TimeZone": "UTC", "integer_datetimes": "on", "standard_conforming_strings": "on", "IntervalStyle": "postgres",
    "is_superuser": "off", "session_authorization": "sash", "application_name": "", "default_transaction_read_only": "off",
    "in_hot_standby": "off",
}
_REPORTED = {name.lower(): name for name in REPORTED}
_OTHERS = {
    "transaction_isolation": "read committed", "default_transaction_isolation": "read committed", "transaction_read_only": "off",
    "search_path": '"$user", public', "extra_float_digits": "1", "statement_timeout": "0", "lock_timeout": "0",
    "idle_in_transaction_session_timeout": "0", "bytea_output": "hex", "max_identifier_length": "63", "lc_collate": "C.UTF-8",
    "lc_ctype": "C.UTF-8", "lc_messages": "C", "lc_monetary": "C", "server_version_num": "150000", "max_index_keys": "32",
    "default_table_access_method": "heap", "default_tablespace": "", "block_size": "8192", "ssl": "off",
    "row_security": "on", "client_min_messages": "notice",
}
_FIXED = ("server_version", "server_encoding", "integer_datetimes", "is_superuser", "server_version_num", "in_hot_standby")


class Settings:
    """By their names in small letters."""

    def __init__(self, given: dict[str, str]) -> None:
        self._start = {**_OTHERS, **{name.lower(): value for name, value in REPORTED.items()}}
        self._values = dict(self._start)
        for name, value in given.items():
            if name.lower() not in _FIXED:
                self._values[name.lower()] = value
        self._check_encoding()

    def get(self, name: str) -> str:
        found = self._values.get(name.lower())
        if found is None:
            raise WireError("42704", f'there is no setting "{name}"')
        return found

    def set(self, name: str, value: str | None) -> str | None:
        """What a client must be told of it, under which name; None: nothing."""
        key = name.lower()
        if key in _FIXED:
            raise WireError("55P02", f'the setting "{name}" cannot be changed')
        before = self._values.get(key)
        self._values[key] = self._start.get(key, "") if value is None else value
        try:
            self._check_encoding()
        except WireError:
            self._values[key] = before or ""
            raise
        return _REPORTED.get(key)

    def reported(self) -> dict[str, str]:
        return {name: self._values[name.lower()] for name in REPORTED}

    def items(self) -> dict[str, str]:
        return dict(self._values)

    def seconds(self) -> float | None:
        """How long a statement may take, if the client has set it: 500, '500ms', '5s', '1min'."""
        text = self._values.get("statement_timeout", "0").strip().lower()
        for unit, seconds in (("ms", 0.001), ("min", 60.0), ("s", 1.0), ("h", 3600.0), ("", 0.001)):
            if text.endswith(unit):
                number = text.removesuffix(unit).strip()
                if not number.isdecimal():
                    raise WireError("22023", f'"{text}" is no length of time')
                return int(number) * seconds or None
        return None

    def _check_encoding(self) -> None:
        if self._values["client_encoding"].replace("-", "").replace("'", "").upper() not in ("UTF8", "UNICODE", "SQL_ASCII"):
            raise WireError("22023", f"the encoding {self._values['client_encoding']} is not supported", "use UTF8")
