"""An API that answers with the path, the query, the method and the content that it has read.

application is for WSGI (gunicorn), asgi for ASGI (Daphne, uvicorn).
"""

import json


def application(environ, start_response):
    """The path is what a framework routes by: PATH_INFO, without SCRIPT_NAME."""
    read = {
        "path": environ["PATH_INFO"].encode("latin-1").decode(),  # PEP 3333
        "query": environ.get("QUERY_STRING", ""),
        "method": environ["REQUEST_METHOD"],
        "content": environ["wsgi.input"].read().decode(),
    }
    start_response("200 OK", [("Content-Type", "application/json")])
    return [json.dumps(read).encode()]


async def asgi(scope, receive, send):
    """The path is what Django and Starlette route by: without root_path, if it begins with that."""
    if scope["type"] != "http":
        raise ValueError(scope["type"])
    content, more = b"", True
    while more:
        message = await receive()
        content += message.get("body", b"")
        more = message.get("more_body", False)
    read = {
        "path": scope["path"].removeprefix(scope.get("root_path", "")),
        "query": scope["query_string"].decode(),
        "method": scope["method"],
        "content": content.decode(),
    }
    body = json.dumps(read).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})
