"""Which database a DSN is about; the drivers are imported by who needs them."""

from __future__ import annotations

import os
from collections.abc import Mapping

MYSQL_SCHEMES = ("mysql", "mariadb")


def is_mysql(options: Mapping[str, str]) -> bool:
    """Whether the DSN that options name is one of MySQL."""
    dsn = options.get("dsn") or os.environ.get(options.get("dsn_env", ""), "")
    return dsn.partition("://")[0].lower() in MYSQL_SCHEMES
