"""Object stores as writers need them: a put that is whole or not there, and one that fails if there is a file of that name.

pyarrow's clients, which read and list, have neither: who closes a stream in the middle of an upload has written half a file,
and whether a file is there can only be asked before. Both are one request here (`If-None-Match: *`, in the words of S3), which
the store itself decides on. It is reached as pyarrow's own client reaches it: address, region and keys are taken from that one,
and what it has not been told both find in the same places: the environment, the file of credentials, the machine's role.
"""

from __future__ import annotations

import configparser
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from pyarrow import fs

from sash.errors import SashError
from sash.folders.locations import Location

if TYPE_CHECKING:
    from obstore.store import AzureStore, GCSStore, S3Store

    Client = AzureStore | GCSStore | S3Store

Settings = tuple[dict[str, Any], dict[str, Any]]  # of the store, and of the client that talks to it

PAUSES = (0.1, 0.3, 1.0, 3.0)  # seconds before a request whose answer was lost is made again
AZURE = ".blob.core.windows.net"


class ObjectStore(Protocol):
    """A bucket, for who writes."""

    def put(self, path: str, data: bytes) -> None:
        """Write a file as a whole, over what was there."""

    def create(self, path: str, data: bytes) -> bool:
        """Write a file if there is none of that name; whether it was written. No two are both told that they did."""


def object_store(folder: Location, name: str) -> tuple[ObjectStore, str]:
    """The store that a folder is in, and the path of a file of the folder there."""
    filesystem = folder.filesystem
    kind = next((kind for kind in SETTINGS if isinstance(filesystem, kind)), None)
    if kind is None:
        raise SashError(
            f"{folder.outside(folder.path)} cannot be written to: such a place does not tell two runs apart that begin at once",
            "keep checkpoints and outputs on a disk, or in an object store by s3://, gs:// or az://",
        )
    bucket, _, path = f"{folder.path}/{name}".partition("/")
    return _bucket(kind, bucket, tuple(sorted(_options(filesystem).items()))), path


def storage_options(folder: Location) -> dict[str, str]:
    """How the store of a folder is reached, in the words of Rust's `object_store`, which other libraries use as well; on a disk
    there is nothing to say."""
    filesystem = folder.filesystem
    kind = next((kind for kind in SETTINGS if isinstance(filesystem, kind)), None)
    if kind is None:
        return {}
    config, client = SETTINGS[kind](folder.path.partition("/")[0], _options(filesystem))
    return {name: str(value).lower() if isinstance(value, bool) else value for name, value in (config | client).items()}


def _options(filesystem: fs.FileSystem) -> dict[str, str]:
    """The options of a file system are what it is pickled by; there is no other way to ask for them."""
    options: dict[str, Any] = filesystem.__reduce__()[1][0]
    if isinstance(filesystem, fs.S3FileSystem):
        options = options | {"region": filesystem.region}
    return {name: str(value or "") for name, value in options.items()}


@lru_cache(maxsize=32)
def _bucket(kind: type, name: str, options: tuple[tuple[str, str], ...]) -> Bucket:
    return Bucket(name, kind, dict(options))


class Bucket:
    """A bucket of S3, of Google's or of Azure's."""

    def __init__(self, name: str, kind: type, options: Mapping[str, str]) -> None:
        config, client = SETTINGS[kind](name, options)
        self._client = _opened(kind, name, config, client, {})
        self._once = _opened(kind, name, config, client, {"max_retries": 0})

    def put(self, path: str, data: bytes) -> None:
        import obstore

        try:
            obstore.put(self._client, path, data)
        except obstore.exceptions.BaseError as error:
            raise OSError(str(error)) from error

    def create(self, path: str, data: bytes) -> bool:
        """Where an answer is lost, the file may be there by our own doing; that is not taken for somebody else's."""
        import obstore

        is_unsure = False
        for pause in (*PAUSES, None):
            try:
                obstore.put(self._once, path, data, mode="create")
                return True
            except obstore.exceptions.AlreadyExistsError:
                return is_unsure and bytes(obstore.get(self._client, path).bytes()) == data
            except obstore.exceptions.GenericError as error:
                is_unsure = True
                if pause is None:
                    raise OSError(str(error)) from error
                time.sleep(pause)
            except obstore.exceptions.BaseError as error:
                raise OSError(str(error)) from error
        raise AssertionError("the last try returns or raises")


def _opened(kind: type, bucket: str, config: Any, client: Any, retries: Any) -> Client:
    from obstore.store import AzureStore, GCSStore, S3Store

    stores: dict[type, Any] = {fs.S3FileSystem: S3Store, fs.GcsFileSystem: GCSStore, fs.AzureFileSystem: AzureStore}
    store: Client = stores[kind](bucket, config=config, client_options=client, retry_config=retries)
    return store


def _s3(bucket: str, options: Mapping[str, str]) -> Settings:
    endpoint = options["endpoint_override"]
    if endpoint and "://" not in endpoint:
        endpoint = f"{options['scheme']}://{endpoint}"
    keys = {"access_key_id": "access_key", "secret_access_key": "secret_key", "session_token": "session_token"}
    given = {key: options[name] for key, name in keys.items() if options[name]}
    config: dict[str, Any] = {"region": options["region"], **(given or _credentials_file())}
    if endpoint:
        config |= {"endpoint": endpoint, "aws_endpoint_url_s3": endpoint}
    if options["anonymous"] == "True":
        config["skip_signature"] = True
    is_virtual = options["force_virtual_addressing"] == "True" or not endpoint
    config["virtual_hosted_style_request"] = is_virtual and "." not in bucket
    return config, _client(endpoint)


def _gcs(bucket: str, options: Mapping[str, str]) -> Settings:
    endpoint, config = options["endpoint_override"], {}
    if endpoint:
        config["base_url"] = endpoint if "://" in endpoint else f"{options['scheme'] or 'https'}://{endpoint}"
    if options["access_token"]:
        config["bearer_token"] = options["access_token"]
    if options["anonymous"] == "True":
        config["skip_signature"] = "true"
    return config, _client(config.get("base_url", ""))


def _azure(container: str, options: Mapping[str, str]) -> Settings:
    keys = {"account_name": "account_name", "account_key": "account_key", "sas_key": "sas_token"}
    keys |= {name: name for name in ("tenant_id", "client_id", "client_secret")}
    config = {key: options[name] for key, name in keys.items() if options[name]}
    if (authority := options["blob_storage_authority"]) != AZURE:
        config["endpoint"] = f"{options['blob_storage_scheme']}://{authority}/{options['account_name']}"
    return config, _client(config.get("endpoint", ""))


SETTINGS = {fs.S3FileSystem: _s3, fs.GcsFileSystem: _gcs, fs.AzureFileSystem: _azure}


def _client(endpoint: str) -> dict[str, Any]:
    return {"allow_http": True} if endpoint.startswith("http://") else {}


def _credentials_file() -> dict[str, str]:
    """Keys that are neither in the URI nor in the environment: pyarrow's client finds them in a file, and so it is done here."""
    if os.environ.get("AWS_ACCESS_KEY_ID"):
        return {}
    file = Path(os.environ.get("AWS_SHARED_CREDENTIALS_FILE") or Path.home() / ".aws/credentials")
    found = configparser.ConfigParser()
    with suppress(OSError, configparser.Error):
        found.read_string(file.read_text())
    profile = os.environ.get("AWS_PROFILE") or os.environ.get("AWS_DEFAULT_PROFILE") or "default"
    section = found[profile] if found.has_section(profile) else {}
    names = ("access_key_id", "secret_access_key", "session_token")
    return {name: section[f"aws_{name}"] for name in names if f"aws_{name}" in section}
