"""A client of the Model Context Protocol, written with the PyPI package mcp.

Each line of standard input is one step, a JSON object, and is answered by one line, a JSON object too. The steps and
their answers are those of client.mjs. The package holds the tools open while the person is in the browser, so each
session is a task.
"""

import asyncio
import json
import sys
from urllib.parse import parse_qs, urlsplit

import httpx2
from mcp import Client
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientMetadata


class Session:
    """What the package asks of a program: a memory, and a browser."""

    def __init__(self, step):
        self.step, self.tokens, self.client = step, None, None
        self.asked, self.came_back = asyncio.Queue(), asyncio.Queue()
        self.wishes, self.results = asyncio.Queue(), asyncio.Queue()

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client):
        self.client = client

    async def ask(self, url):
        await self.asked.put(url)

    async def answer(self):
        step = await self.came_back.get()
        return AuthorizationCodeResult(code=step["code"], state=self.state, iss=step.get("iss") or None)

    async def run(self):
        step = self.step
        metadata = OAuthClientMetadata(client_name="MCP test", redirect_uris=[step["redirect_uri"]])
        self.auth = OAuthClientProvider(step["url"], metadata, self, self.ask, self.answer, client_metadata_url=step.get("document"))
        async with httpx2.AsyncClient(auth=self.auth) as http:
            async with Client(streamable_http_client(step["url"], http_client=http)) as mcp:
                await self.results.put({"tools": [tool.name for tool in (await mcp.list_tools()).tools]})
                while True:
                    wish = await self.wishes.get()
                    result = await mcp.call_tool(wish["tool"], wish.get("arguments") or {})
                    said = result.structured_content or [part.model_dump() for part in result.content]
                    await self.results.put({"result": said, "failed": bool(result.is_error)})

    async def outcome(self):
        """Waits for a result, for the browser, or for the end of the session, which is an error."""
        asked, result = asyncio.create_task(self.asked.get()), asyncio.create_task(self.results.get())
        done, _ = await asyncio.wait({asked, result, self.task}, return_when=asyncio.FIRST_COMPLETED)
        for waiting in {asked, result} - done:
            waiting.cancel()
        if result in done:
            return result.result()
        if asked in done:
            self.state = parse_qs(urlsplit(asked.result()).query)["state"][0]
            return {"authorize": asked.result(), "state": self.state}
        return self.task.result()


sessions = {}


async def take(step):
    name = step["session"]
    if step["step"] == "connect":
        sessions[name] = Session(step)
        sessions[name].task = asyncio.create_task(sessions[name].run())
        return await sessions[name].outcome()
    session = sessions[name]
    if step["step"] == "finish":
        await session.came_back.put(step)
        return await session.outcome()
    if step["step"] == "call":
        await session.wishes.put(step)
        return await session.outcome()
    session.auth.context.token_expiry_time = 1  # the step expire
    return {}


def reasons(problem):
    """Returns the problems inside a group of problems."""
    if isinstance(problem, BaseExceptionGroup):
        return [reason for part in problem.exceptions for reason in reasons(part)]
    return [repr(problem)]


async def main():
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        try:
            answer = await asyncio.wait_for(take(json.loads(line)), 50)  # the tests wait for a minute
        except Exception as problem:  # the test shows it
            answer = {"error": "exception", "message": "; ".join(reasons(problem))}
        print(json.dumps(answer), flush=True)


asyncio.run(main())
