"""What a request needs to be taken and no schema says: what depends on the time, and on what was answered before.

Owns what is put right of the requests that Schemathesis makes to be valid. Those that it makes to be refused stay as they are,
but for a line that is too long for HTTP.
"""

from __future__ import annotations

import re
import secrets
import time
import urllib.parse
import uuid
from typing import Any

import schemathesis
from schemathesis import GenerationMode

CURSORS = ("after", "cursor", "line_after", "versions_after")
NEXT = ("next", "line_next", "versions_next")
COMMAND_ID = "Idempotency-Key"
LINE_BYTES_MAX = 60_000
"""Bytes of a query. What reads HTTP refuses a line of 64 KiB, before any route sees it."""

given: set[str] = set()
"""Cursors that the server gave out. Their form is its own."""


def new_command_id() -> str:
    """A UUID of version 7 of now: one of long ago has expired, and one of the future is refused."""
    chance = secrets.randbits(74)
    value = now_ms() << 80 | 0x7 << 76 | (chance >> 62) << 64 | 0b10 << 62 | chance & (1 << 62) - 1
    return str(uuid.UUID(int=value))


def now_ms() -> int:
    """Milliseconds since the epoch."""
    return time.time_ns() // 1_000_000


def put_right(value: Any) -> Any:
    """A body whose integers are written without a point, and whose records were not written in the future."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [put_right(item) for item in value]
    if not isinstance(value, dict):
        return value
    right = {name: put_right(item) for name, item in value.items()}
    if isinstance(right.get("time"), int):
        right["time"] = min(right["time"], now_ms())
    return right


@schemathesis.hook
def before_call(context: schemathesis.HookContext, case: schemathesis.Case[Any], kwargs: dict[str, Any]) -> None:
    """Puts a request right that is to be taken, and one of either sort on a line that HTTP takes."""
    if case.query and len(urllib.parse.urlencode(case.query, doseq=True)) > LINE_BYTES_MAX:
        for name, value in list(case.query.items()):
            # As many characters, of which each takes three bytes at most.
            case.query[name] = re.sub(r"[^\x00-\x7f]", "x", value) if isinstance(value, str) else value
    if case.meta is None or case.meta.generation.mode != GenerationMode.POSITIVE:
        return
    if case.headers and COMMAND_ID in case.headers:
        case.headers[COMMAND_ID] = new_command_id()
    for name in CURSORS:
        if case.query and case.query.get(name) not in given:
            case.query.pop(name, None)
    case.body = put_right(case.body)


@schemathesis.hook
def after_call(context: schemathesis.HookContext, case: schemathesis.Case[Any], response: schemathesis.Response) -> None:
    """Keeps the cursors of pages."""
    if response.status_code == 200 and "application/json" in response.headers.get("content-type", [""])[0]:
        answer = response.json()
        told = [answer.get(name) for name in NEXT] if isinstance(answer, dict) else []
        given.update(cursor for cursor in told if isinstance(cursor, str))


@schemathesis.deserializer("application/octet-stream")
def bytes_as_text(context: schemathesis.DeserializationContext, response: schemathesis.Response) -> str:
    """The bytes of a backup, each as the character of its number."""
    return response.content.decode("latin-1")
