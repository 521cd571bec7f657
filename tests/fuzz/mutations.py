"""Texts changed at random: what people mistype, and what somebody with bad intentions sends."""

from __future__ import annotations

import random
import re

_TOKENS = re.compile(r"\s+|\w+|'[^']*'|.", re.DOTALL)
_NUMBER = re.compile(r"\d+")
STRANGE = ("\0", "\u200b", "’", "“", "\ufeff", "é", "😀", "\x1b[31m", "\u2028", "\udcff", "\\", "`", '"', "'", "--", "/*", "*/", ";", "$$", "{", "}", "?", ":x", "@", "#", "%s")
WORDS = ("SELECT", "FROM", "WHERE", "GROUP BY", "NULL", "NOT", "(", ")", ",", "[", "]", "*", ".", "=", "<", "OVER", "RANGE", "INTERVAL", "AS", "ON", "UNION ALL", "CASE",
         "WHEN", "END", "DISTINCT", "LATERAL", "UNNEST", "WITH", "VALUES", "LIMIT", "NOW()", "1e999", "-", "->", "::INT", "ARRAY", "MATCH_CONDITION", "TABLESAMPLE", "QUALIFY")  # fmt: skip
HUGE = ("99999999999999999999999999", "0.000000000000000000000000000000000000001", "1e400", "9223372036854775808", "-1", "0", "0x1F", "1_000", "007")


def mutated(chance: random.Random, text: str) -> str:
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        text = chance.choice((_without, _twice, _swapped, _other_case, _strange, _number, _deeper, _word, _cut, _other_word))(chance, text)
    return text


def _tokens(text: str) -> list[str]:
    return _TOKENS.findall(text) or [""]


def _without(chance: random.Random, text: str) -> str:
    tokens = _tokens(text)
    del tokens[chance.randrange(len(tokens))]
    return "".join(tokens)


def _twice(chance: random.Random, text: str) -> str:
    tokens = _tokens(text)
    place = chance.randrange(len(tokens))
    stop = place + chance.choice((1, 2, 6))
    return "".join([*tokens[:stop], " ", *tokens[place:]])


def _swapped(chance: random.Random, text: str) -> str:
    tokens = _tokens(text)
    one, other = chance.randrange(len(tokens)), chance.randrange(len(tokens))
    tokens[one], tokens[other] = tokens[other], tokens[one]
    return "".join(tokens)


def _other_case(chance: random.Random, text: str) -> str:
    return chance.choice((text.lower(), text.upper(), text.swapcase()))


def _strange(chance: random.Random, text: str) -> str:
    place = chance.randrange(len(text) + 1)
    return text[:place] + chance.choice(STRANGE) + text[place:]


def _number(chance: random.Random, text: str) -> str:
    found = list(_NUMBER.finditer(text))
    if not found:
        return text + chance.choice(HUGE)
    chosen = chance.choice(found)
    return text[: chosen.start()] + chance.choice(HUGE) + text[chosen.end() :]


def _deeper(chance: random.Random, text: str) -> str:
    tokens = _tokens(text)
    place, count = chance.randrange(len(tokens)), chance.choice((1, 20, 300))
    opened, closed = chance.choice((("(", ")"), ("NOT ", ""), ("-", ""), ("ABS(", ")"), ("CAST(", " AS INT)"), ("[", "]"), ("(SELECT ", ")")))
    tokens[place] = opened * count + tokens[place] + closed * count
    return "".join(tokens)


def _word(chance: random.Random, text: str) -> str:
    tokens = _tokens(text)
    tokens.insert(chance.randrange(len(tokens) + 1), f" {chance.choice(WORDS)} ")
    return "".join(tokens)


def _other_word(chance: random.Random, text: str) -> str:
    tokens = _tokens(text)
    tokens[chance.randrange(len(tokens))] = chance.choice(WORDS)
    return "".join(tokens)


def _cut(chance: random.Random, text: str) -> str:
    place = chance.randrange(len(text) + 1)
    return chance.choice((text[:place], text[place:]))
