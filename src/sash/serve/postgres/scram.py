"""SCRAM-SHA-256 (RFC 5802, RFC 7677): the client shows that it knows the password, and nobody sends it.

    client   name, nonce                              server   nonces, salt, rounds
    client   nonces, proof                            server   its own signature, which shows that it knows the verifier

A verifier is what the server keeps instead of a password, written as PostgreSQL writes it:
SCRAM-SHA-256$rounds:salt$stored key:server key
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import secrets
import unicodedata
from dataclasses import dataclass
from typing import Self

from sash.errors import SashError

MECHANISM = "SCRAM-SHA-256"
ROUNDS = 4096
_SALT, _NONCE, _KEY = 16, 18, 32  # bytes


class NotProven(Exception):
    """The client does not know the password, or does not speak the protocol."""


@dataclass(frozen=True)
class Verifier:
    rounds: int
    salt: bytes
    stored_key: bytes
    server_key: bytes

    @classmethod
    def of_password(cls, password: str, salt: bytes | None = None, rounds: int = ROUNDS) -> Self:
        salt = secrets.token_bytes(_SALT) if salt is None else salt
        plain = unicodedata.normalize("NFKC", password).encode()
        salted = hashlib.pbkdf2_hmac("sha256", plain, salt, rounds)
        stored = hashlib.sha256(_mac(salted, b"Client Key")).digest()
        return cls(rounds, salt, stored, _mac(salted, b"Server Key"))

    @classmethod
    def read(cls, text: str) -> Self:
        try:
            _, middle, keys = text.split("$")
            rounds, salt = middle.split(":")
            stored, server = (base64.b64decode(part, validate=True) for part in keys.split(":"))
            found = cls(int(rounds), base64.b64decode(salt, validate=True), stored, server)
        except ValueError:
            raise SashError(f"not a verifier of {MECHANISM}", f"write {MECHANISM}$rounds:salt$key:key, or a password") from None
        if found.rounds < 1 or len(stored) != _KEY or len(server) != _KEY:
            raise SashError(f"not a verifier of {MECHANISM}", "its keys have 32 bytes each, and it has at least one round")
        return found

    @classmethod
    def of_nobody(cls, name: str, secret: bytes) -> Self:
        """What a user that is not there is asked: always the same, so that names cannot be found out."""
        salt = _mac(secret, name.encode())[:_SALT]
        return cls(ROUNDS, salt, secrets.token_bytes(_KEY), secrets.token_bytes(_KEY))


class Exchange:
    """The server's side of one login."""

    def __init__(self, verifier: Verifier, nonce: str | None = None) -> None:
        self._verifier = verifier
        self._nonce = nonce or base64.b64encode(secrets.token_bytes(_NONCE)).decode()
        self._first = self._challenge = self._header = ""

    def challenge(self, message: bytes) -> bytes:
        """The answer to the client's first message."""
        text = _text(message)
        parts = text.split(",", 2)
        if len(parts) < 3 or parts[0] not in ("n", "y"):  # "p": binding to the TLS channel, which was not offered
            raise NotProven
        self._header, self._first = f"{parts[0]},{parts[1]},", parts[2]
        nonce = _attributes(self._first).get("r", "")
        if not nonce or "m" in _attributes(self._first):
            raise NotProven
        self._nonce = nonce + self._nonce
        salt = base64.b64encode(self._verifier.salt).decode()
        self._challenge = f"r={self._nonce},s={salt},i={self._verifier.rounds}"
        return self._challenge.encode()

    def signature(self, message: bytes) -> bytes:
        """The answer to the proof, if it is one."""
        text = _text(message)
        without_proof, _, proof_text = text.rpartition(",p=")
        found = _attributes(without_proof)
        binding = base64.b64encode(self._header.encode()).decode()
        if found.get("c") != binding or not hmac.compare_digest(found.get("r", ""), self._nonce):
            raise NotProven
        signed = f"{self._first},{self._challenge},{without_proof}".encode()
        key = _xor(_decoded(proof_text), _mac(self._verifier.stored_key, signed))
        if not hmac.compare_digest(hashlib.sha256(key).digest(), self._verifier.stored_key):
            raise NotProven
        return b"v=" + base64.b64encode(_mac(self._verifier.server_key, signed))


def _mac(key: bytes, message: bytes) -> bytes:
    return hmac.new(key, message, "sha256").digest()


def _xor(left: bytes, right: bytes) -> bytes:
    if len(left) != len(right):
        raise NotProven
    return bytes(one ^ other for one, other in zip(left, right, strict=True))


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise NotProven from None


def _text(message: bytes) -> str:
    try:
        return message.decode("ascii")
    except UnicodeDecodeError:
        raise NotProven from None


def _attributes(text: str) -> dict[str, str]:
    return {part[0]: part[2:] for part in text.split(",") if part[1:2] == "="}
