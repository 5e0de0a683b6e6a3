import os

import requests
from flask import Flask, Response, abort, request

ENDPOINT = "https://auth.example.org/o/introspect/"
CREDENTIALS = {"client_id": os.environ["CLIENT_ID"], "client_secret": os.environ["CLIENT_SECRET"]}
app = Flask(__name__)


def refuse(status, error):
    abort(Response(status=status, headers={"WWW-Authenticate": f'Bearer error="{error}"'}))


def need(scope):
    scheme, _, sent = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() != "bearer":
        refuse(401, "invalid_token")
    answer = requests.post(ENDPOINT, data={"token": sent or "none", **CREDENTIALS}, timeout=5)
    answer.raise_for_status()  # 500
    token = answer.json()
    if not token["active"] or token["token_type"] != "Bearer" or "cnf" in token:
        refuse(401, "invalid_token")
    if scope not in token.get("scope", "").split():
        refuse(403, "insufficient_scope")
    return token


@app.get("/orders")
def orders():
    token = need("read")
    return {"orders": [], "of": token["sub"]}
