"""A WebSocket client written with websockets.

Each line of standard input is one step, a JSON object, and is answered by one line, a JSON object too.

  {"step": "open", "url", "token"?}  gives {"id", "text": the first message}, or {"status"} where it was refused
  {"step": "say", "id", "text"}      gives {"text": the next message}, or {"closed": true}
  {"step": "end", "id"}              waits until it is closed: {"closed": true}
"""

import json
import sys

from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

PATIENCE = 50  # seconds; the tests wait for a minute
opened = []


def take(step):
    if step["step"] == "open":
        headers = {"Authorization": "Bearer " + step["token"]} if step.get("token") else {}
        try:
            opened.append(connect(step["url"], additional_headers=headers, proxy=None))
        except InvalidStatus as refused:
            return {"status": refused.response.status_code}
        return {"id": len(opened) - 1, "text": opened[-1].recv(PATIENCE)}
    try:
        if step["step"] == "say":
            opened[step["id"]].send(step["text"])
        return {"text": opened[step["id"]].recv(PATIENCE)}
    except ConnectionClosed:
        return {"closed": True}


for line in sys.stdin:
    try:
        answer = take(json.loads(line))
    except Exception as problem:  # the test shows it
        answer = {"problem": repr(problem)}
    print(json.dumps(answer), flush=True)
