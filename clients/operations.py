"""Writes the operations of the Python client: one method for each operation of the OpenAPI document.

Owns the text of `sillok/operations.py`. It must not know what an operation is for: names, parameters, bodies and
answers are what the document says. What an answer is read into is written by datamodel-code-generator, as
`sillok/models.py`.

    operations.py DOCUMENT > OPERATIONS
"""

import json
import keyword
import re
import sys
import textwrap
from typing import Any

COMMAND_ID = "Idempotency-Key"
JSON = "application/json"
WIDTH = 120
HEAD = '''"""The operations of the server, each a method. Written by `make clients` out of the document: not to be edited."""

from __future__ import annotations

import abc
from collections.abc import Iterator, Mapping
from typing import Any

from . import models


class Operations(abc.ABC):
    """What the server does, by the names of the document."""

    @abc.abstractmethod
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
        """The answer to a request. A write is sent under a command id, which is made where none is given."""

    @abc.abstractmethod
    def _text(self, path: str) -> str:
        """The answer to a request that is answered in plain text."""

    @abc.abstractmethod
    def _bytes(self, path: str) -> Iterator[bytes]:
        """The answer to a request that is answered in bytes, in pieces."""

    @abc.abstractmethod
    def _tail(self, path: str, query: Mapping[str, Any]) -> Iterator[models.TailItem]:
        """The events of a stream, for ever."""
'''


def class_of(schema: dict[str, Any]) -> str:
    """The type of a value, as the models are called."""
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[-1]
        # As datamodel-code-generator writes a name that is joined by an underscore.
        return "models." + "".join(part[0].upper() + part[1:] for part in name.split("_"))
    kinds = {"string": "str", "integer": "int", "boolean": "bool", "number": "float"}
    return kinds.get(schema.get("type", ""), "Any")


def name_of(parameter: str) -> str:
    """A parameter's name: `from` is a word of the language."""
    return f"{parameter}_" if keyword.iskeyword(parameter) else parameter


def signature(head: str, arguments: list[str], answer: str) -> str:
    """The line that begins a method, or several where it would be too long."""
    arguments = ["self", *arguments]
    line = f"    def {head}({', '.join(arguments)}) -> {answer}:"
    if len(line) <= WIDTH:
        return line
    each = "".join(f"        {argument},\n" for argument in arguments)
    return f"    def {head}(\n{each}    ) -> {answer}:"


def docstring(operation: dict[str, Any], method: str, path: str) -> str:
    """What the document says of an operation."""
    said = " ".join(f"{operation['summary']} {operation.get('description', '')}".split())
    text = f'"""{said} `{method.upper()} {path}`"""'
    return textwrap.fill(text, WIDTH, initial_indent=" " * 8, subsequent_indent=" " * 8, break_long_words=False)


def assigned(answer: str, call: str, arguments: list[str]) -> str:
    """The line that carries a call out, or several where it would be too long."""
    left = "        answer = " if answer == "Any" else f"        answer: {answer} = "
    line = f"{left}{call}({', '.join(arguments)})"
    if len(line) <= WIDTH:
        return line
    each = "".join(f"            {argument},\n" for argument in arguments)
    return f"{left}{call}(\n{each}        )"


def call_of(path: str, operation: dict[str, Any], method: str) -> tuple[list[str], str, str, list[str]]:
    """The arguments of an operation, its answer, and the call that carries it out with its own arguments."""
    parameters = operation.get("parameters", [])
    query = [parameter for parameter in parameters if parameter["in"] == "query"]
    write = any(parameter["name"] == COMMAND_ID for parameter in parameters)
    unknown = [p["name"] for p in parameters if p["in"] != "query" and p["name"] != COMMAND_ID]
    if unknown or re.search(r"[{}]", path):
        raise SystemExit(f"{path}: parameters that are not in the query are not written yet: {unknown}")
    arguments = []
    body = operation.get("requestBody")
    if body:
        arguments.append(f"body: {class_of(body['content'][JSON]['schema'])}")
    named = [f"{name_of(p['name'])}: {class_of(p['schema'])}" for p in query if p.get("required")]
    named += [f"{name_of(p['name'])}: {class_of(p['schema'])} | None = None" for p in query if not p.get("required")]
    named += ["command_id: str | None = None"] if write else []
    arguments += ["*", *named] if named else []
    passed = "{" + ", ".join(f'"{p["name"]}": {name_of(p["name"])}' for p in query) + "}" if query else "None"
    content = operation["responses"]["200"]["content"]
    media, answered = next(iter(content.items()))
    if media == "text/event-stream":
        # The document says what an event is; its data is an item as JSON.
        return arguments, "Iterator[models.TailItem]", "self._tail", [f'"{path}"', passed]
    if media == "application/octet-stream":
        return arguments, "Iterator[bytes]", "self._bytes", [f'"{path}"']
    if media != JSON:
        return arguments, "str", "self._text", [f'"{path}"']
    last = ["command_id", "write=True"] if write else ["None", "write=False"]
    given = [f'"{method.upper()}"', f'"{path}"', passed, "body" if body else "None", *last]
    return arguments, class_of(answered["schema"]), "self._call", given


def methods(document: dict[str, Any]) -> list[str]:
    """The text of each method, in the document's order."""
    written = []
    for path, item in document["paths"].items():
        for method, operation in item.items():
            arguments, answer, call, given = call_of(path, operation, method)
            head = signature(operation["operationId"], arguments, answer)
            said = docstring(operation, method, path)
            written.append("\n".join([head, said, assigned(answer, call, given), "        return answer"]))
    return written


def main() -> None:
    """Writes the module of the document that is named."""
    with open(sys.argv[1], encoding="utf-8") as file:
        document = json.load(file)
    sys.stdout.write("\n\n".join([HEAD.rstrip("\n"), *methods(document)]) + "\n")


if __name__ == "__main__":
    main()
