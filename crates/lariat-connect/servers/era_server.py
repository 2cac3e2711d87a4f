"""A server written with the official Python SDK, which speaks both eras. With `http PORT`, over streamable HTTP."""

import sys

from mcp.server.mcpserver import MCPServer

server = MCPServer("official")


@server.tool()
def add(left: int, right: int) -> int:
    """Adds two numbers."""
    return left + right


if __name__ == "__main__":
    if len(sys.argv) > 2 and sys.argv[1] == "http":
        server.run(transport="streamable-http", port=int(sys.argv[2]))
    else:
        server.run(transport="stdio")
