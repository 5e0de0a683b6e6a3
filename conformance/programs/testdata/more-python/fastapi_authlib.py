# FastAPI with Authlib, as its documentation shows it for OpenID Connect.
import os

import uvicorn
from authlib.integrations.starlette_client import OAuth
from fastapi import FastAPI, Request
from starlette.middleware.sessions import SessionMiddleware
from starlette.responses import RedirectResponse

app = FastAPI()
if "PRINTED" in os.environ:  # the lines that Mandate prints
    exec(os.environ["PRINTED"])
else:
    app.add_middleware(SessionMiddleware, secret_key=os.urandom(32).hex())
    oauth = OAuth()
    oauth.register(
        name="mandate",
        client_id=os.environ["CLIENT_ID"],
        client_secret=os.environ["CLIENT_SECRET"],
        server_metadata_url=os.environ["ISSUER"] + "/.well-known/openid-configuration",
        client_kwargs={"scope": "openid email profile groups"},
    )

    @app.get("/login")
    async def login(request: Request):
        return await oauth.mandate.authorize_redirect(request, f"http://{os.environ['ADDRESS']}/auth")

    @app.get("/auth")
    async def auth(request: Request):
        token = await oauth.mandate.authorize_access_token(request)
        request.session["user"] = dict(token["userinfo"])
        return RedirectResponse("/")


@app.get("/")
async def homepage(request: Request):
    return request.session.get("user")


host, port = os.environ["ADDRESS"].split(":")
uvicorn.run(app, host=host, port=int(port))
