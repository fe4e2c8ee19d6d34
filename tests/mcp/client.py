"""A task from its beginning to its end, with the protocol's own client for Python, over both transports.

Usage: client.py SILLOK DATA URL TOKEN_FILE
"""

import asyncio
import sys

from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client

TOOLS = [
    "begin_task", "recall", "get_memory", "log_event", "check_fix", "propose_memory", "record_decision",
    "report_outcome", "end_task",
]


def said(result):
    assert not result.is_error, result
    assert result.structured_content is not None, result
    return result.structured_content


async def work(client, task):
    listed = await client.list_tools()
    assert [tool.name for tool in listed.tools] == TOOLS, listed
    begun = said(await client.call_tool("begin_task", {"task": task, "title": "Lock rows"}))
    assert begun["opened"], begun
    words = "the lock of rows is taken in the order of their keys"
    logged = said(await client.call_tool("log_event", {"task": task, "level": "info", "content": words}))
    memory = said(await client.call_tool("propose_memory", {"scope": task, "content": words}))
    read = said(await client.call_tool("get_memory", {"entry": memory["entry"]}))
    assert words in read["data"] and "<recalled-data key=" in read["data"], read
    said(await client.call_tool("recall", {"scope": task, "query": words}))
    checked = said(await client.call_tool("check_fix", {"task": task, "approach": words}))
    assert checked["verdict"] == "allow", checked
    ended = said(await client.call_tool("end_task", {"task": task, "summary": words, "wait_ms": 0}))
    assert ended["state"] == "requested", ended
    log = await client.read_resource(f"sillok://log/{task}")
    assert words in log.contents[0].text and logged["record"].startswith(task), log
    templates = await client.list_resource_templates()
    assert templates.resource_templates, templates
    # A refusal is a result that a model reads, with its code first.
    refused = await client.call_tool("get_memory", {"entry": "none"})
    assert refused.is_error and refused.content[0].text.startswith("invalid_id: "), refused


async def main():
    sillok, data, url, token_file = sys.argv[1:]
    with open(token_file, encoding="utf-8") as file:
        token = file.read().strip()
    http = create_mcp_http_client(headers={"Authorization": f"Bearer {token}"})
    process = StdioServerParameters(command=sillok, args=["mcp", "--data", data, "--token-file", token_file])
    over = {
        "http": streamable_http_client(f"{url}/mcp", http_client=http),
        "stdio": process,
    }
    for name, transport in over.items():
        async with Client(transport) as client:
            await work(client, f"org/acme/project/api/worktree/main/task/{name}")
            print(f"client.py: {name}, {client.protocol_version}: fine")
    # Clients of the revision before begin with a handshake.
    async with Client(process, mode="legacy") as client:
        assert client.protocol_version != "2026-07-28", client.protocol_version
        await work(client, "org/acme/project/api/worktree/main/task/legacy")
        print(f"client.py: stdio, {client.protocol_version}: fine")


asyncio.run(main())
