"""The cases that do not pass, each with the reason. A case that begins to pass must leave this list: its test says so."""

KNOWN: dict[str, str] = {}
