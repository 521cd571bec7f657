"""A small catalog of auctions, for all tests of SQL."""

import pytest

from sash.sql.catalog import Catalog
from sash.sql.define import define
from sash.sql.syntax.parse import parse_statements

DECLARATIONS = """
CREATE STREAM bids (ts TIMESTAMP, auction BIGINT, bidder STRING, price DOUBLE) TIMESTAMP BY ts;
CREATE STREAM auctions (ts TIMESTAMP, id BIGINT, seller STRING, category INT) TIMESTAMP BY ts;
CREATE TABLE people (name STRING, city STRING);
CREATE VIEW counts AS SELECT bidder, COUNT(*) AS n FROM bids [RANGE 1 MINUTE] GROUP BY bidder;
"""


@pytest.fixture
def catalog() -> Catalog:
    return declared(DECLARATIONS)


def declared(text: str) -> Catalog:
    catalog = Catalog()
    for statement in parse_statements(text):
        define(statement, catalog)
    return catalog
