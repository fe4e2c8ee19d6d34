"""The client: one call to the server, sent again while that can help.

Owns the token, command ids, retries and streams. It must not know what an operation is for: that is `operations`.
"""

from __future__ import annotations

import http.client
import json
import random
import secrets
import time
import urllib.parse
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from . import models
from .errors import Passing, Refused, SillokError, Unreachable, refused
from .operations import Operations

EVENT_BYTES_MAX = 64 << 20
"""Bytes of a line of a stream. An event holds at most a record, escaped as JSON, with its surroundings."""

PIECE_BYTES = 64 << 10


@dataclass(frozen=True)
class Retry:
    """How often, and after what delays, a call is sent again."""

    attempts_max: int = 7
    """Attempts in all, the first one included."""
    delay_ms_first: int = 100
    """Delay before the second attempt; doubled for each further one."""
    delay_ms_max: int = 3_000
    """Longest delay, also where the server asks for a longer one."""

    def delay_s(self, attempt: int, asked_ms: int | None) -> float:
        """The delay behind the attempt with this number, from 1, spread so that not all who failed at once come back at
        once."""
        asked = min(asked_ms or 0, self.delay_ms_max)
        whole = min(self.delay_ms_first << min(attempt - 1, 20), self.delay_ms_max)
        return max(whole * random.uniform(0.5, 1.0), asked) / 1_000


def new_command_id() -> str:
    """A command id: a UUID of version 7, which holds the time and chance."""
    chance = secrets.randbits(74)
    value = (time.time_ns() // 1_000_000) << 80 | 0x7 << 76 | (chance >> 62) << 64 | 0b10 << 62 | chance & (1 << 62) - 1
    return str(uuid.UUID(int=value))


class Client(Operations):
    """Speaks to one server with one token.

    Each operation is a method (`client.open_task({...})`). A refusal is raised as its class of `sillok.errors`. A write
    carries a command id, made here unless one is given, and each of its attempts carries the same: however often it is
    sent, it is carried out once. May be used by several threads: each request has a connection of its own.
    """

    def __init__(
        self, url: str, token: str | None = None, *, retry: Retry | None = None, timeout_s: float = 60.0
    ) -> None:
        """`timeout_s` is how long the server may be silent, which it is between two heartbeats of a tail."""
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"'{url}' is no address of a server")
        self.url = url.rstrip("/")
        self._parts = parts
        self._base = parts.path.rstrip("/")
        self._token = token
        self._retry = retry or Retry()
        self._timeout_s = timeout_s

    def with_token(self, token: str) -> Client:
        """The same server with another token."""
        return Client(self.url, token, retry=self._retry, timeout_s=self._timeout_s)

    def _call(
        self,
        method: str,
        path: str,
        query: Mapping[str, Any] | None,
        body: object,
        command_id: str | None,
        *,
        write: bool,
    ) -> Any:
        headers = {"Idempotency-Key": command_id or new_command_id()} if write else {}
        return json.loads(self._answer(method, path, query, body, headers))

    def _text(self, path: str) -> str:
        return self._answer("GET", path, None, None, {}).decode()

    def _bytes(self, path: str) -> Iterator[bytes]:
        # Not sent again: what came before a failure is no whole.
        response = self._open("GET", path, None, None, {})
        with response:
            while piece := self._read(response, PIECE_BYTES):
                yield piece

    def _tail(self, path: str, query: Mapping[str, Any]) -> Iterator[models.TailItem]:
        asked = dict(query)
        failures = 0
        while True:
            failure: SillokError | None = None
            try:
                for item in self._events(path, asked):
                    failures = 0
                    if item is not None:
                        yield item
            except (Passing, Unreachable) as error:
                failures += 1
                if failures >= self._retry.attempts_max:
                    raise
                failure = error
            asked_ms = failure.retry_after_ms if isinstance(failure, Refused) else None
            time.sleep(self._retry.delay_s(max(failures, 1), asked_ms))

    def _events(self, path: str, asked: dict[str, Any]) -> Iterator[models.TailItem | None]:
        """The events of one connection, behind the cursor of `asked`, which goes along with them."""
        response = self._open("GET", path, asked, None, {"Accept": "text/event-stream"})
        event: dict[str, str] = {}
        with response:
            while line := self._line(response):
                name, _, value = line.rstrip("\r\n").partition(":")
                if name:
                    before = event[name] + "\n" if name == "data" and name in event else ""
                    event[name] = before + value.removeprefix(" ")
                    continue
                if line.startswith(":") and event:
                    continue
                if event.get("event") == "error":
                    raise refused(json.loads(event["data"]))
                # One that has an id alone says that nothing that is asked for lies before it, and a heartbeat has nothing.
                asked["cursor"] = event.get("id", asked.get("cursor"))
                yield json.loads(event["data"]) if "data" in event else None
                event = {}

    def _answer(
        self, method: str, path: str, query: Mapping[str, Any] | None, body: object, headers: dict[str, str]
    ) -> bytes:
        """Sends until the answer is final or the attempts are used up."""
        attempt = 1
        while True:
            try:
                with self._open(method, path, query, body, headers) as response:
                    return self._read(response, None)
            except (Passing, Unreachable) as error:
                if attempt >= self._retry.attempts_max:
                    raise
                asked_ms = error.retry_after_ms if isinstance(error, Passing) else None
            time.sleep(self._retry.delay_s(attempt, asked_ms))
            attempt += 1

    def _open(
        self, method: str, path: str, query: Mapping[str, Any] | None, body: object, headers: dict[str, str]
    ) -> http.client.HTTPResponse:
        """The answer to one request, its body still to be read, unless it is a refusal."""
        said = {name: self._said(value) for name, value in (query or {}).items() if value is not None}
        target = self._base + path + ("?" + urllib.parse.urlencode(said) if said else "")
        headers = dict(headers)
        if self._token is not None:
            headers["Authorization"] = f"Bearer {self._token}"
        payload = None
        if body is not None:
            payload = json.dumps(body, ensure_ascii=False).encode()
            headers["Content-Type"] = "application/json"
        secure = self._parts.scheme == "https"
        kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
        connection = kind(self._parts.hostname or "", self._parts.port, timeout=self._timeout_s)
        try:
            connection.request(method, target, body=payload, headers={**headers, "Connection": "close"})
            response = connection.getresponse()
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise Unreachable(f"{self.url} does not answer: {error}") from error
        if 200 <= response.status < 300:
            return response
        with response:
            raise self._refusal(response.status, self._read(response, None))

    @staticmethod
    def _said(value: object) -> str:
        if isinstance(value, bool):
            return "true" if value else "false"
        return str(value)

    def _read(self, response: http.client.HTTPResponse, bytes_max: int | None) -> bytes:
        try:
            return response.read(bytes_max)
        except (OSError, http.client.HTTPException) as error:
            raise Unreachable(f"the answer of {self.url} was cut off: {error}") from error

    def _line(self, response: http.client.HTTPResponse) -> str:
        """The next line of a stream with its end; nothing where the stream ends, in the middle of a line too."""
        try:
            line = response.readline(EVENT_BYTES_MAX)
        except (OSError, http.client.HTTPException) as error:
            raise Unreachable(f"the stream of {self.url} was cut off: {error}") from error
        if not line.endswith(b"\n"):
            if len(line) >= EVENT_BYTES_MAX:
                raise SillokError("an event is larger than any event can be")
            return ""
        return line.decode()

    def _refusal(self, status: int, body: bytes) -> SillokError:
        try:
            problem: Any = json.loads(body)
        except ValueError:
            problem = None
        if isinstance(problem, dict) and "code" in problem:
            said: Any = problem
            return refused(said)
        return Unreachable(f"{self.url} answered with {status}, and not as Sillok does")
