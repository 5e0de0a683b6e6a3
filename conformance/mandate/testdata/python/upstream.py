"""An API on a Hypercorn with its default settings: python3 upstream.py HOST:PORT.

A request is answered with its path and the subject that the proxy named. A WebSocket is greeted with that subject,
and gets each of its messages back.
"""

import asyncio
import sys

from hypercorn.asyncio import serve
from hypercorn.config import Config


def subject(scope):
    """The values of X-Token-Subject."""
    return ",".join(value.decode() for name, value in scope["headers"] if name == b"x-token-subject")


async def echo(scope, receive, send):
    await receive()
    await send({"type": "websocket.accept"})
    await send({"type": "websocket.send", "text": "subject " + subject(scope)})
    while True:
        message = await receive()
        if message["type"] == "websocket.disconnect":
            return
        await send({"type": "websocket.send", "text": message.get("text")})


async def application(scope, receive, send):
    if scope["type"] == "lifespan":
        while True:
            message = await receive()
            await send({"type": message["type"] + ".complete"})
            if message["type"] == "lifespan.shutdown":
                return
    if scope["type"] == "websocket":
        return await echo(scope, receive, send)
    body = f"path {scope['path']} subject {subject(scope)}".encode()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(body))]})
    await send({"type": "http.response.body", "body": body})


config = Config()
config.bind = [sys.argv[1]]
asyncio.run(serve(application, config))
