"""How a connection begins: encryption if it is asked for, who it is, and the proof of it."""

from __future__ import annotations

from dataclasses import dataclass

from sash.serve.access import Access
from sash.serve.postgres.body import Body
from sash.serve.postgres.channel import FIRST_LONGEST, Channel
from sash.serve.postgres.failures import WireError, bad_protocol, fatal
from sash.serve.postgres.scram import MECHANISM, Exchange, NotProven
from sash.serve.postgres.translate import DATABASE

VERSION = 3 << 16
CANCEL, ENCRYPT_TLS, ENCRYPT_GSS = 80877102, 80877103, 80877104
_OK, _SASL, _SASL_CONTINUE, _SASL_FINAL = 0, 10, 11, 12


@dataclass(frozen=True)
class Cancel:
    """Somebody wants a statement of another connection to end."""

    number: int
    key: int


@dataclass(frozen=True)
class Start:
    """Who wants to come in, and the settings they want."""

    user: str
    settings: dict[str, str]


def begin(channel: Channel, access: Access) -> Start | Cancel:
    for _ in range(3):  # GSS and TLS are each asked for once at most
        body = Body(channel.read_first())
        code = body.uint32()
        if code == ENCRYPT_TLS and access.tls is not None and not channel.is_secure:
            channel.secure(access.tls)
        elif code in (ENCRYPT_TLS, ENCRYPT_GSS):
            channel.put_byte(b"N")
        elif code == CANCEL:
            return Cancel(body.int32(), body.int32())
        else:
            return _start(channel, code, body)
    raise bad_protocol("encryption was asked for again and again")


def _start(channel: Channel, code: int, body: Body) -> Start:
    if code >> 16 != 3:
        raise fatal("0A000", f"version {code >> 16}.{code & 0xFFFF} of the protocol is not spoken here, 3.0 is")
    given: dict[str, str] = {}
    while name := body.text():
        given[name] = body.text()
    extensions = sorted(name for name in given if name.startswith("_pq_."))
    if code != VERSION or extensions:
        told = b"".join(name.encode() + b"\0" for name in extensions)
        channel.put(b"v", VERSION.to_bytes(4, "big") + len(extensions).to_bytes(4, "big") + told)
    user = given.pop("user", "")
    if not user:
        raise fatal("28000", "no user is named")
    database = given.pop("database", user)
    if database not in (DATABASE, user, "postgres"):
        raise fatal("3D000", f'there is no database "{database}"', f'the only one is "{DATABASE}"')
    if given.pop("replication", "false") not in ("false", "off", "no", "0"):
        raise fatal("0A000", "this server is not replicated", "COPY (SUBSCRIBE view) TO STDOUT gives changes as they come")
    given.update(_options(given.pop("options", "")))
    return Start(user, {name: value for name, value in given.items() if name not in extensions})


def _options(text: str) -> dict[str, str]:
    """-c name=value, as clients pass what PGOPTIONS says."""
    words = text.replace("--", "-c ").split()
    pairs = [word.removeprefix("-c") for word in words if "=" in word]
    return {name: value for name, _, value in (pair.partition("=") for pair in pairs)}


def authenticate(channel: Channel, access: Access, user: str) -> None:
    """Nobody comes in without a proof, where passwords are asked for; and everybody is refused alike."""
    if access.needs_tls and not channel.is_secure:
        raise fatal("28000", "this server is reached over TLS only", "connect with sslmode=require")
    verifier = access.verifier(user)
    if verifier is not None:
        channel.put(b"R", _SASL.to_bytes(4, "big") + MECHANISM.encode() + b"\0\0")
        try:
            _prove(channel, Exchange(verifier))
        except NotProven:
            raise _refused(user) from None
        if not access.is_known(user):
            raise _refused(user)
    channel.put(b"R", _OK.to_bytes(4, "big"))


def _prove(channel: Channel, exchange: Exchange) -> None:
    first = _answer(channel)
    if first.text() != MECHANISM:
        raise NotProven
    challenge = exchange.challenge(first.bytes_(first.int32()))
    channel.put(b"R", _SASL_CONTINUE.to_bytes(4, "big") + challenge)
    signature = exchange.signature(_answer(channel).rest())
    channel.put(b"R", _SASL_FINAL.to_bytes(4, "big") + signature)


def _answer(channel: Channel) -> Body:
    tag, body = channel.read(FIRST_LONGEST)
    if tag != b"p":
        raise bad_protocol("a password was expected")
    return Body(body)


def _refused(user: str) -> WireError:
    return fatal("28P01", f'password authentication failed for user "{user}"')
