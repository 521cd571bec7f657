"""Who may come in, from where, and what they may do.

    on this machine only (the default)      no password needed, no encryption; both can be asked for
    from elsewhere                          passwords and TLS, or it is refused to begin

Clients may read. They may change rows, or define views, only if that is granted.
"""

from __future__ import annotations

import ipaddress
import secrets
import ssl
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sash.errors import SashError, choices
from sash.serve.postgres.scram import MECHANISM, Verifier

GRANTS = ("change", "define")  # rows of streams and tables, and time; views, streams and tables themselves


@dataclass(frozen=True)
class Access:
    """`users` are the names that may come in, with what shows their passwords; None lets anybody in, under any name."""

    host: str = "127.0.0.1"
    users: Mapping[str, Verifier] | None = None
    tls: ssl.SSLContext | None = None
    certificate: tuple[bytes, bytes] | None = field(default=None, repr=False)  # and its key, as they are in their files
    grants: frozenset[str] = frozenset()
    secret: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)

    def __post_init__(self) -> None:
        if unknown := self.grants - set(GRANTS):
            raise SashError(f"unknown grant: {choices(sorted(unknown))}", f"grants are: {choices(GRANTS)}")
        if is_this_machine(self.host):
            return
        missing = [what for what, is_there in (("passwords", self.users), ("a certificate for TLS", self.tls)) if not is_there]
        if missing:
            raise SashError(
                f"{self.host} can be reached from other machines, and there is no protection: {choices(missing)}",
                "give --password-file, --tls-cert and --tls-key, or listen on 127.0.0.1",
            )

    @property
    def needs_tls(self) -> bool:
        """Whether nobody may come in without encryption."""
        return not is_this_machine(self.host)

    def verifier(self, user: str) -> Verifier | None:
        """What a user must know the password of; None: nothing is asked."""
        if self.users is None:
            return None
        return self.users.get(user) or Verifier.of_nobody(user, self.secret)

    def is_known(self, user: str) -> bool:
        return self.users is None or user in self.users


def is_this_machine(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def read_passwords(path: Path) -> dict[str, Verifier]:
    """A file of lines `user:password` or `user:SCRAM-SHA-256$…`, which nobody but its owner may read."""
    try:
        if stat.S_IMODE(path.stat().st_mode) & (stat.S_IRWXG | stat.S_IRWXO):
            raise SashError(f"others may read the password file {path}", f"take that away: chmod 600 {path}")
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise SashError(f"cannot read the password file {path}: {error}") from None
    found = {}
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        user, separator, secret = line.partition(":")
        if not separator or not user or not secret:
            raise SashError(f"line {number} of {path} is not user:password")
        found[user] = Verifier.read(secret) if secret.startswith(f"{MECHANISM}$") else Verifier.of_password(secret)
    if not found:
        raise SashError(f"the password file {path} names nobody", "add a line user:password")
    return found


def read_certificate(certificate: Path, key: Path | None) -> tuple[ssl.SSLContext, tuple[bytes, bytes]]:
    """A server's certificate, followed by those that vouch for it, and its key."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(certificate, key)
        return context, (certificate.read_bytes(), (key or certificate).read_bytes())
    except (OSError, ssl.SSLError) as error:
        raise SashError(f"cannot use the certificate {certificate}: {error}") from None


def access_of(
    host: str, passwords: Path | str | None, certificate: Path | str | None, key: Path | str | None, grants: Iterable[str]
) -> Access:
    """From what people write."""
    users = None if passwords is None else read_passwords(Path(passwords))
    if certificate is None:
        return Access(host, users, grants=frozenset(grants))
    context, data = read_certificate(Path(certificate), None if key is None else Path(key))
    return Access(host, users, context, data, frozenset(grants))
