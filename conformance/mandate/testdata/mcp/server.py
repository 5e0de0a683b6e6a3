"""A server of the Model Context Protocol, written with the PyPI package mcp. It knows nothing of OAuth.

Its argument is the address at which it listens.
"""

import sys

from mcp.server.mcpserver import MCPServer

server = MCPServer("sums")


@server.tool()
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


host, port = sys.argv[1].split(":")
server.run("streamable-http", host=host, port=int(port))
