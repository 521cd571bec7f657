"""Values, rows, texts and proofs as they go over the wire."""

from __future__ import annotations

import re
import struct
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sash.serve.postgres import wire_types as wire
from sash.serve.postgres.binary_values import bytes_of, numeric_bytes
from sash.serve.postgres.copying import CopyFormat
from sash.serve.postgres.failures import WireError
from sash.serve.postgres.few_rows import few_rows
from sash.serve.postgres.lexer import statements
from sash.serve.postgres.many_rows import many_rows
from sash.serve.postgres.parameters import from_bytes, from_text
from sash.serve.postgres.scram import Exchange, NotProven, Verifier
from sash.serve.postgres.session import in_protocol
from sash.serve.postgres.text_values import double_text, text_of
from sash.serve.postgres.translate import Written, translate
from sash.serve.postgres.wire_types import WireType, wire_type
from sash.sql.literals import NoLiteral, literal, string
from sash.sql.syntax.dialect import tokenize

VALUES = {
    pa.bool_(): st.booleans(), pa.int32(): st.integers(-(2**31), 2**31 - 1), pa.int64(): st.integers(-(2**63), 2**63 - 1), pa.float64(): st.floats(),
    pa.string(): st.text(st.characters(codec="utf-8"), max_size=9), pa.timestamp("us"): st.datetimes(), pa.date32(): st.dates(),
    pa.decimal128(20, 4): st.decimals(-(10**15), 10**15, places=4), pa.list_(pa.int64()): st.lists(st.none() | st.integers(-9, 9), max_size=3),
    pa.list_(pa.string()): st.lists(st.none() | st.text(st.characters(codec="utf-8"), max_size=4), max_size=3),
}  # fmt: skip


@pytest.mark.parametrize(
    ("text", "position", "message"),
    [
        ("SELECT 1; SELECT 'a", 18, "this ' is never closed"),
        ("SELECT é, $$a", 11, "this $$ is never closed"),
        ("SELECT X'0g' + 1", 8, "X'0g' is no hexadecimal literal: its digits are 0 to 9 and A to F"),
        ("SELECT B'12'", 8, "B'12' is no binary literal: its digits are 0 and 1"),
        ("SELECT /* a", 11, "the text ends inside of a comment"),
    ],
)
def test_what_cannot_be_cut_into_tokens_is_shown_where_it_stands(text: str, position: int, message: str) -> None:
    with pytest.raises(WireError, match=re.escape(message)) as error:
        statements(text)
    assert error.value.position == position


@given(st.data(), st.integers(0, 12))
def test_columns_and_values_give_the_same_messages(data: st.DataObject, count: int) -> None:
    columns = {
        str(place): pa.array(data.draw(st.lists(st.none() | VALUES[type_], min_size=count, max_size=count)), type_)
        for place, type_ in enumerate(data.draw(st.lists(st.sampled_from(list(VALUES)), min_size=1, max_size=4)))
    }
    table = pa.table(columns)
    types = [wire_type(type_) for type_ in table.schema.types]
    formats = [data.draw(st.integers(0, 1)) for _ in types]
    assert bytes(many_rows(table, types, formats)) == few_rows(table, types, formats)


@pytest.mark.parametrize(("value", "text"), [
    (1.0, "1"), (-0.0, "-0"), (0.1, "0.1"), (1e15, "1e+15"), (123456789012345.0, "123456789012345"), (1.5e300, "1.5e+300"), (1e-5, "1e-05"),
    (0.0001, "0.0001"), (1234567890123456.7, "1.2345678901234568e+15"), (float("nan"), "NaN"), (float("-inf"), "-Infinity"),
])  # fmt: skip
def test_doubles_as_postgres_writes_them(value: float, text: str) -> None:
    assert double_text(value) == text


@given(st.decimals(-(10**20), 10**20, places=7) | st.decimals(-1, 1, places=10) | st.integers(-(10**30), 10**30).map(Decimal))
def test_decimals_come_back(value: Decimal) -> None:
    assert from_bytes(numeric_bytes(value), wire.NUMERIC) == value


@given(st.datetimes(), st.dates(), st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False))
def test_values_come_back(moment: datetime, day: date, whole: int, number: float) -> None:
    for oid, value in ((wire.TIMESTAMP, moment), (wire.DATE, day), (wire.INT8, whole), (wire.FLOAT8, number)):
        type_ = WireType(oid)
        assert from_bytes(bytes_of(value, type_), oid) == value and from_text(text_of(value, type_), oid) == value


@given(st.lists(st.none() | st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=6), max_size=4))
def test_arrays_come_back(values: list[str | None]) -> None:
    type_ = wire_type(pa.list_(pa.string()))
    assert from_text(text_of(values, type_), type_.oid) == values and from_bytes(bytes_of(values, type_), type_.oid) == values


@given(st.text(st.characters(codec="utf-8", exclude_characters="\0")))
def test_a_text_stays_one_text(text: str) -> None:
    """Whatever it holds, Sash reads one token with that text."""
    (token,) = tokenize(string(text))
    assert token.text == text
    (statement,) = statements("SELECT k FROM v WHERE k = $1 AND n = 1")
    made = translate(statement, [text]).sql
    assert Written.of(statement).sql([text]) == made
    assert [one.text for one in tokenize(made)] == ["SELECT", "k", "FROM", "v", "WHERE", "k", "=", text, "AND", "n", "=", "1"]


@given(st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=30))
def test_texts_and_names_of_postgres_stay_what_they_are(text: str) -> None:
    single, double = "'" + text.replace("'", "''") + "'", '"' + (text or "x").replace('"', '""') + '"'
    (statement,) = statements(f"SELECT {single} AS {double} FROM v -- ' {text.splitlines()[0] if text.splitlines() else ''}")
    tokens = [one.text for one in tokenize(translate(statement).sql)]
    assert tokens == ["SELECT", text, "AS", text or "x", "FROM", "v"]


@pytest.mark.parametrize(("theirs", "ours"), [
    ('SELECT "K" FROM "public"."v"', "SELECT `K` FROM `v`"), ("SELECT v.k FROM sash.public.v", "SELECT v.k FROM v"),
    ("SELECT x::float8, CAST(y AS int8) AS float8 FROM v", "SELECT x::DOUBLE, CAST(y AS BIGINT) AS float8 FROM v"),
    ("SELECT /* ' */ E'a\\n''' FROM v WHERE k ~ 'x'", "SELECT 'a\n\\'' FROM v WHERE k  RLIKE  'x'"),
    ("SELECT x::numeric, CAST(x AS decimal), x::numeric(9, 1) FROM v", "SELECT x::DECIMAL(38, 18), CAST(x AS DECIMAL(38, 18)), x::numeric(9, 1) FROM v"),
    ("SELECT k = ANY( '{a,\"b,c\",NULL}' ), '{1}'::int8[], ANY(k) FROM v", "SELECT k = ANY( ARRAY('a', 'b,c', NULL) ), ARRAY('1')::BIGINT[], ANY(k) FROM v"),
    ("SELECT k FROM s [RANGE 5 MINUTES]", "SELECT k FROM s [RANGE 5 MINUTES]"), ("SELECT $$it's$$", "SELECT 'it\\'s'"),
])  # fmt: skip
def test_spelling(theirs: str, ours: str) -> None:
    (statement,) = statements(theirs)
    assert translate(statement).sql == Written.of(statement).sql([]) == ours


def test_values_are_put_between_what_is_written_once() -> None:
    (statement,) = statements("SELECT k, $2::int8 FROM v WHERE k = $1 AND s <> $3 AND n < $2")
    for values in ([1, 2, "it's"], [None, -5, ""], [1.5, 7, "\\"]):
        assert Written.of(statement).sql(values) == translate(statement, values).sql
    assert Written.of(statement).sql([1, 2]) is None


@pytest.mark.parametrize("escape", ["\\000", "\\x00", "\\u0000"])
def test_no_text_is_taken_for_the_place_of_a_value(escape: str) -> None:
    """Escapes may spell the character by which places of values are known: what is given for one was put into a text as SQL."""
    (statement,) = statements(f"SELECT k FROM v WHERE g = E'{escape}1{escape}' AND k = $1")
    for translated in (Written.of, lambda one: translate(one, ["x"])):
        with pytest.raises(WireError, match="the character 0"):
            translated(statement)  # type: ignore[operator]


@pytest.mark.parametrize("text", ["SELECT `k` FROM v", "SELECT {{ k }}", "SELECT @x", "SELECT 'open", "SELECT $1", "SELECT X'ff'", "SELECT 1 /* open"])
def test_what_is_not_postgres_is_refused(text: str) -> None:
    with pytest.raises(WireError):
        translate(statements(text)[0])


def test_values_that_cannot_be_given() -> None:
    for value, code in ((b"x", "0A000"), (object(), "0A000"), (Decimal("1e50"), "22003"), (Decimal("NaN"), "22003"), (10**40, "22003"), (datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=5))), "22008")):
        with pytest.raises(NoLiteral) as refused:
            literal(value)
        assert in_protocol(refused.value).code == code
    for text, oid in (("1_0", wire.INT4), ("one", wire.INT8), ("maybe", wire.BOOL), ("{1", 1007), ("{a,", 1009), ('{"a}', 1009), ("1_0", wire.FLOAT8)):
        with pytest.raises((ValueError, WireError, IndexError)):
            from_text(text, oid)


def test_copies_of_odd_texts() -> None:
    table = pa.table({"a": ["tab\there", None, 'say "hi"', ""], "b": [1, None, 3, 4]})
    lines = [bytes(part) for part in CopyFormat.of({}).rows(table, is_first=True)]
    assert _bodies(b"".join(lines)) == [b"tab\\there\t1\n", b"\\N\t\\N\n", b'say "hi"\t3\n', b"\t4\n"]
    lines = [bytes(part) for part in CopyFormat.of({"FORMAT": "CSV"}).rows(table, is_first=True)]
    assert _bodies(b"".join(lines)) == [b"tab\there,1\n", b",\n", b'"say ""hi""",3\n', b'"",4\n']


@pytest.mark.parametrize("options", [{"HEADER": "match"}, {"HEADER": "perhaps"}, {"FORMAT": "xml"}, {"LINES": "1"}])
def test_what_a_copy_does_not_know_is_refused(options: dict[str, str]) -> None:
    with pytest.raises(WireError):
        CopyFormat.of(options)


def _bodies(messages: bytes) -> list[bytes]:
    found = []
    while messages:
        (length,) = struct.unpack("!i", messages[1:5])
        found.append(messages[5 : length + 1])
        messages = messages[length + 1 :]
    return found


def test_the_example_of_rfc_7677() -> None:
    import base64

    verifier = Verifier.of_password("pencil", base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ=="))
    exchange = Exchange(verifier, "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0")
    challenge = exchange.challenge(b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO")
    assert challenge == b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
    final = b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    assert exchange.signature(final) == b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="
    with pytest.raises(NotProven):
        exchange.signature(final.replace(b"p=dH", b"p=dI"))


@given(st.binary(max_size=60), st.binary(max_size=60))
def test_any_bytes_instead_of_a_proof(first: bytes, last: bytes) -> None:
    exchange = Exchange(Verifier.of_password("x", b"salt", 1))
    with pytest.raises(NotProven):
        exchange.challenge(first)
        exchange.signature(last)
