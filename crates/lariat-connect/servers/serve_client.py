"""Drives `lariat mcp serve` with the client of the official Python SDK, in both eras, over stdio and HTTP.

Arguments: the program, and its working directory. Prints one line per combination.
"""

import asyncio
import subprocess
import sys

import httpx2
import mcp_types as types
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

PROGRAM, DIRECTORY = sys.argv[1:3]
SERVE = ["mcp", "serve", "--mode", "default"]
ERAS = ["legacy", "2026-07-28", "auto"]


async def approve(_context, params):
    """Approves what creates a file, and declines the rest."""
    action = "accept" if "touch" in params.message else "decline"
    content = {"allow": True} if action == "accept" else None
    return types.ElicitResult(action=action, content=content)


async def check(client, era, transport):
    names = {tool.name for tool in (await client.list_tools()).tools}
    assert {"read_file", "bash", "lariat_start"} <= names, names
    read = await client.call_tool("read_file", {"path": "a.txt"})
    assert not read.is_error and "official" in read.content[0].text, read
    made = await client.call_tool("bash", {"command": "touch made"})
    assert not made.is_error, made
    denied = await client.call_tool("bash", {"command": "rm made"})
    assert denied.is_error and "declined" in denied.content[0].text, denied
    print(f"official Python SDK: {transport}, {era}: tools, results and elicitation work")


async def over_stdio():
    import os

    for era in ERAS:
        server = StdioServerParameters(command=PROGRAM, args=SERVE, env=dict(os.environ), cwd=DIRECTORY)
        async with Client(server, mode=era, elicitation_callback=approve) as client:
            await check(client, era, "stdio")


async def over_http():
    server = subprocess.Popen(
        [PROGRAM, *SERVE, "--http", "127.0.0.1:0"], cwd=DIRECTORY, stderr=subprocess.PIPE, text=True
    )
    try:
        lines = iter(server.stderr.readline, "")
        url = next(line for line in lines if line.startswith("serving ")).split()[1]
        token = next(lines).rstrip().rstrip("`").split()[-1]
        for era in ERAS:
            headers = {"authorization": f"Bearer {token}"}
            async with httpx2.AsyncClient(headers=headers, timeout=30) as http:
                transport = streamable_http_client(url, http_client=http)
                async with Client(transport, mode=era, elicitation_callback=approve) as client:
                    await check(client, era, "http")
    finally:
        server.terminate()
        server.wait()


asyncio.run(over_stdio())
asyncio.run(over_http())
