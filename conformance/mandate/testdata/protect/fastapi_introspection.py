import os

import requests
from fastapi import Depends, FastAPI, HTTPException
from fastapi.security import HTTPBearer

ENDPOINT = "https://auth.example.org/o/introspect/"
CREDENTIALS = {"client_id": os.environ["CLIENT_ID"], "client_secret": os.environ["CLIENT_SECRET"]}
app = FastAPI()


def refuse(status, error):
    raise HTTPException(status, headers={"WWW-Authenticate": f'Bearer error="{error}"'})


def need(scope):
    def check(sent=Depends(HTTPBearer())):
        answer = requests.post(ENDPOINT, data={"token": sent.credentials, **CREDENTIALS}, timeout=5)
        answer.raise_for_status()  # 500
        token = answer.json()
        if not token["active"] or token["token_type"] != "Bearer" or "cnf" in token:
            refuse(401, "invalid_token")
        if scope not in token.get("scope", "").split():
            refuse(403, "insufficient_scope")
        return token

    return check


@app.get("/orders")
def orders(token=Depends(need("read"))):
    return {"orders": [], "of": token["sub"]}
