"""How a sink reaches Kafka: what CREATE SINK says, in the words of librdkafka; secrets come from the environment."""

from __future__ import annotations

import logging
import os
from typing import Any

from sash.errors import SashError
from sash.sinks.options import SinkSpec

PREFIX, FROM_ENVIRONMENT = "kafka.", ".env"
SECRETS = ("password", "secret", "oauthbearer.config", "key.pem", "ssl.key")
OURS = ("bootstrap.servers", "transactional.id", "enable.idempotence", "group.id", "isolation.level", "enable.auto.commit")
LOGGER = logging.getLogger("sash.kafka")  # librdkafka would write to the screen what errors tell as well
LOGGER.addHandler(logging.NullHandler())
LOGGER.propagate = False
WAIT = 20.0  # seconds for an answer of a broker
TRANSACTION = 600_000  # milliseconds that a transaction may take; brokers allow 15 minutes, if nobody has said otherwise


def settings(spec: SinkSpec) -> dict[str, Any]:
    """Of a client."""
    found: dict[str, Any] = {"bootstrap.servers": servers(spec), "client.id": f"sash sink {spec.name}", "logger": LOGGER}
    for option, value in spec.options:
        if option.startswith(PREFIX):
            name = option.removeprefix(PREFIX)
            found[name.removesuffix(FROM_ENVIRONMENT)] = _from_environment(value) if name.endswith(FROM_ENVIRONMENT) else value
    return found


def check_settings(spec: SinkSpec) -> None:
    """Nothing that is ours, and no secret in the SQL."""
    servers(spec)
    topic(spec)
    for option, _ in spec.options:
        if not option.startswith(PREFIX):
            continue
        name = option.removeprefix(PREFIX)
        if name.removesuffix(FROM_ENVIRONMENT) in OURS:
            raise SashError(f'"{option}" is not for users to say', "leave it out: the sink sees to it")
        if not name.endswith(FROM_ENVIRONMENT) and any(secret in name for secret in SECRETS):
            raise SashError(
                f'"{option}" is a secret, which would be seen by all who see the SQL',
                f"write {option}{FROM_ENVIRONMENT} = 'NAME', an environment variable that holds it",
            )


def servers(spec: SinkSpec) -> str:
    return _needed(spec, "servers", "servers = 'host:9092'")


def topic(spec: SinkSpec) -> str:
    return _needed(spec, "topic", "topic = 'name'")


def _needed(spec: SinkSpec, option: str, example: str) -> str:
    found = spec.option(option)
    if not found:
        raise SashError(f"a sink in Kafka needs {option}", f"add {example}")
    return found


def _from_environment(variable: str) -> str:
    found = os.environ.get(variable)
    if found is None:
        raise SashError(f'the environment variable "{variable}" is not set', "let it hold what the sink needs")
    return found
