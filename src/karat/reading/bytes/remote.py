"""Read remote files, such as `s3://bucket/key`, and those of a remote folder or pattern, by Arrow's file systems."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache, partial
from io import BufferedReader
from typing import Any
from urllib.parse import parse_qsl, unquote

from karat.errors import KaratError, NoSuchFileError, did_you_mean, enumeration, require, shown
from karat.errors.credentials import without_credentials

# abfs:// (Azure) is left out: if no credentials are set, Arrow aborts the process.
_SCHEMES = ("s3", "gs", "gcs", "hdfs", "viewfs")
_OTHER_SPELLINGS = {"s3a": "s3", "s3n": "s3"}  # of Hadoop and Spark
# A question mark may also be part of a name, or of a pattern.
_URI = re.compile(r"([\w+.-]+)://([^/@]*@|[^/@:[]+:(?!\d+/)[^@]*@)?(.*?)(\?\w+=[^&?*]*(?:&\w+=[^&?*]*)*)?", re.DOTALL)
_S3_OPTIONS = ("region", "scheme", "endpoint_override")
_ENDPOINTS = "KARAT_ENDPOINTS"  # the environment variable with servers that paths may name
NAME_FILES = "Name a file, a folder of files, or a pattern such as runs/*.trec."
_BUFFER = 256 << 10
# An unreachable server is an error after seconds, not minutes.
_CONNECT_SECONDS, _REQUEST_SECONDS, _ATTEMPTS = 5, 30, 3

_CREDENTIALS = {
    "s3": "Set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.",
    "gs": "Set GOOGLE_APPLICATION_CREDENTIALS, or begin a public file with gs://anonymous@.",
}
_REACHABLE = "Check the network and, if one is set, the endpoint."
# Parts of Arrow's messages, what they mean, and what to do.
_REASONS = (
    (r"Not a regular file|is a directory", "this is a folder, not a file", "Name a file in it."),
    (r"NO_SUCH_BUCKET|bucket does not exist", "no such bucket", "Check the name of the bucket."),
    (r"ACCESS_DENIED|PERMISSION_DENIED|UNAUTHENTICATED|HTTP Status 40[13]", "permission denied", ""),
    (r"INVALID_ACCESS_KEY|SIGNATURE_DOES_NOT_MATCH|EXPIRED_TOKEN|INVALID_CLIENT", "the credentials are not valid", ""),
    (r"NETWORK_CONNECTION|UNAVAILABLE|REQUEST_TIMEOUT|CURL error|curlCode", "the server cannot be reached", _REACHABLE),
)


@dataclass(frozen=True)
class RemotePath:
    """The parts of a URI; `path` begins with the bucket or the host."""

    scheme: str
    user: str
    path: str
    options: str

    @classmethod
    def of(cls, uri: str) -> RemotePath:
        match = _URI.fullmatch(uri)
        scheme, user, path, options = match.groups("") if match else ("", "", uri, "")
        scheme = scheme.lower()
        return cls(_OTHER_SPELLINGS.get(scheme, scheme), user, path, options)

    @property
    def name(self) -> str:
        """The URI without credentials and options, for messages."""
        return without_credentials(f"{self.scheme}://{self.path}")

    def with_path(self, path: str) -> str:
        """The URI of another path in the same place."""
        return f"{self.scheme}://{self.user}{path}{self.options}"

    def open(self) -> BufferedReader:
        """The file, to be read in parts; errors are those of `error`, or a KaratError."""
        return BufferedReader(self.opener()(), _BUFFER)

    def opener(self) -> Callable[[], Any]:
        """A function that opens the file as one of Arrow's, in which any place can be read."""
        system, path = self.system()
        return partial(system.open_input_file, path)

    def system(self) -> tuple[Any, str]:
        """Arrow's file system, and the path in it."""
        hint = f"Remote paths begin with {enumeration([f'{each}://' for each in ('s3', 'gs', 'hdfs')], 'or')}."
        if self.scheme in ("http", "https", "ftp"):
            hint = "Download the file first."
        require(self.scheme in _SCHEMES, f"{self.scheme}:// is not read", hint, place=self.name)
        require(self.path.strip("/"), "the path is empty", "Name a bucket and a file in it.", place=self.name)
        self._check_server()
        import pyarrow as pa

        try:
            if self.scheme == "s3":
                environment = tuple(os.environ.get(name) for name in _S3_ENVIRONMENT)
                return _s3(self.user, self.path.partition("/")[0], self.options, environment), self.path
            from pyarrow.fs import FileSystem

            limit = f"{'&' if self.options else '?'}retry_limit_seconds=10" if self.scheme in ("gs", "gcs") else ""
            system, path = FileSystem.from_uri(f"{self.with_path(self.path)}{limit}")
            return system, path
        except (OSError, pa.ArrowException) as error:
            raise self.error(error) from None

    def _check_server(self) -> None:
        """Reject a path that decides which server gets the credentials of this session, unless that was allowed."""
        # Arrow reads whatever follows a question mark, unless it gets the options by name.
        text = self.options if self.scheme == "s3" else f"{self.path}{self.options}".partition("?")[2]
        chosen = _options(text, self.name)
        region = chosen.get("region", "")
        valid = re.fullmatch(r"[a-z0-9-]*", region)  # it is part of the address of the server
        require(valid, f"{shown(region)} is not a region", "For example eu-west-1.", place=self.name)
        server = chosen.get("endpoint_override", "").rpartition("://")[2].rstrip("/")
        # With credentials of its own, or as anonymous, the path does not use those of the session.
        if not server or re.fullmatch("[^:]+:.+@" if self.scheme == "s3" else "anonymous@", self.user):
            return
        environment = [os.environ.get(name) or "" for name in _S3_ENVIRONMENT[:2]] if self.scheme == "s3" else []
        allowed = [*os.environ.get(_ENDPOINTS, "").split(","), *(each.rpartition("://")[2] for each in environment)]
        if server not in [each.strip().rstrip("/") for each in allowed]:
            what = f"this path would send your credentials to the server {shown(server)}"
            hint = f"If you trust it, set the environment variable {_ENDPOINTS}={server}."
            raise KaratError(what, place=self.name, hint=hint)

    def error(self, error: Exception) -> KaratError:
        """What went wrong, without what is secret."""
        if isinstance(error, FileNotFoundError):
            hint = "Check the names of the bucket and the file. The name of a folder ends with a slash."
            return NoSuchFileError(self.name, hint)
        text = str(error)
        for pattern, what, hint in _REASONS:
            if re.search(pattern, text):
                return KaratError(what, place=self.name, hint=hint or _CREDENTIALS.get(self.scheme))
        first = (text.splitlines() or [type(error).__name__])[0]
        for part in filter(None, self.user.removesuffix("@").split(":", 1)):
            for secret in (part, unquote(part)):
                first = first.replace(secret, "…")
        return KaratError(f"cannot be read: {first}", place=self.name)


def is_failure(error: OSError) -> bool:
    """Whether an error of Arrow is about reading a remote file, and not about what is in it."""
    return re.search(r"AWS Error|google::cloud|HDFS|CURL", str(error)) is not None


def local_path(path: str) -> str:
    """The path of a local file that is named by a URI, as in `file:///data/run.trec`; any other path unchanged."""
    if not path.lower().startswith("file://"):
        return path
    host, slash, rest = path[len("file://") :].partition("/")
    what, hint = "this file is on another computer", "A local file has three slashes, as in file:///data/run.trec."
    require(host in ("", "localhost") and slash, what, hint, place=path)
    return path_in_uri(unquote(f"/{rest}"))


def path_in_uri(path: str) -> str:
    """The path of this system that the path in a URI stands for: on Windows, a drive has no slash before it.

    >>> path_in_uri("/data/run.trec")  # doctest: +SKIP
    '/data/run.trec'
    """
    return path[1:] if sys.platform == "win32" and re.match(r"/[A-Za-z]:", path) else path


def remote_files(uri: str) -> list[str]:
    """The remote files of a folder, which ends with a slash, or of a pattern; any other file is itself."""
    remote = RemotePath.of(uri)
    if not is_pattern(remote.path) and not remote.path.endswith("/"):
        return [uri]
    try:
        files = sorted(set(_matches(remote)))
    except OSError as error:
        raise remote.error(error) from None
    what = "no file matches this pattern" if is_pattern(remote.path) else "this folder has no files"
    require(files, what, NAME_FILES, place=remote.name)
    return [remote.with_path(file) for file in files]


def is_pattern(path: str) -> bool:
    """Whether a path has characters of a pattern."""
    return any(character in path for character in "*?[")


def is_hidden(name: str, pattern: str = "*") -> bool:
    """Whether a file is left out because of its name, unless the pattern begins in the same way."""
    return name.startswith((".", "_")) and not pattern.startswith(name[0])


def _matches(remote: RemotePath) -> Iterator[str]:
    """The paths of the files that match a pattern, found folder by folder."""
    from pyarrow.fs import FileSelector, FileType

    system, path = remote.system()
    before = remote.path.removesuffix(path)  # the host, if the path is one on it
    parts = path.rstrip("/").split("/") + ([] if is_pattern(path) else ["*"])
    first = next(at for at, part in enumerate(parts) if is_pattern(part))
    require(first > 0, "the name of a bucket cannot be a pattern", "Name the bucket.", place=remote.name)
    folders = ["/".join(parts[:first])]
    for at in range(first, len(parts)):
        entries = [
            entry
            for folder in folders
            for entry in system.get_file_info(FileSelector(folder, allow_not_found=True))
            if fnmatchcase(entry.base_name, parts[at]) and not is_hidden(entry.base_name, parts[at])
        ]
        folders = [entry.path for entry in entries if entry.type == FileType.Directory]
        if at == len(parts) - 1:
            yield from (
                before + entry.path
                for entry in entries
                if entry.type == FileType.File and (entry.size or not entry.base_name.startswith("part-"))
            )


def _options(text: str, place: str) -> dict[str, str]:
    """The options after the question mark of a URI."""
    pairs = parse_qsl(text.removeprefix("?"), keep_blank_values=True)
    options = dict(pairs)
    require(len(options) == len(pairs), "an option is given twice", "Give it once.", place=place)
    return options


_S3_ENVIRONMENT = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE")


@lru_cache(maxsize=16)
def _s3(user: str, bucket: str, options: str, environment: tuple[str | None, ...]) -> Any:
    """The file system of a bucket: a new one would connect, and look for credentials, each time."""
    from pyarrow import fs

    chosen = _options(options, f"s3://{bucket}")
    for name in chosen:
        hint = f"{did_you_mean(name, _S3_OPTIONS)} The options are {enumeration(_S3_OPTIONS, 'and')}.".strip()
        require(name in _S3_OPTIONS, f"{name} is not an option of s3://", hint)
    endpoint = chosen.get("endpoint_override") or environment[0] or environment[1]
    scheme, has_scheme, host = endpoint.partition("://") if endpoint else ("", "", "")
    key, _, secret = unquote(user.removesuffix("@")).partition(":")
    region = chosen.get("region") or environment[2] or environment[3]
    if not region and not endpoint:
        region = fs.resolve_s3_region(bucket)
    return fs.S3FileSystem(
        access_key=key or None,
        secret_key=secret or None,
        region=region,
        scheme=chosen.get("scheme") or (scheme if has_scheme else "https"),
        endpoint_override=(host if has_scheme else scheme).rstrip("/") or None,
        connect_timeout=_CONNECT_SECONDS,
        request_timeout=_REQUEST_SECONDS,
        retry_strategy=fs.AwsStandardS3RetryStrategy(max_attempts=_ATTEMPTS),
    )
