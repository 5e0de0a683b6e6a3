# FastAPI with httpx-oauth, the client of fastapi-users, as its documentation shows it.
import os

import uvicorn
from fastapi import Depends, FastAPI
from httpx_oauth.clients.openid import OpenID
from httpx_oauth.integrations.fastapi import OAuth2AuthorizeCallback
from starlette.responses import RedirectResponse

client = OpenID(
    os.environ["CLIENT_ID"], os.environ["CLIENT_SECRET"], os.environ["ISSUER"] + "/.well-known/openid-configuration",
    base_scopes=["openid", "profile", "email", "groups"],
)
app = FastAPI()
redirect_uri = f"http://{os.environ['ADDRESS']}/callback"


@app.get("/login")
async def login():
    return RedirectResponse(await client.get_authorization_url(redirect_uri))


@app.get("/callback")
async def callback(authorized=Depends(OAuth2AuthorizeCallback(client, redirect_url=redirect_uri))):
    token, _ = authorized
    return await client.get_profile(token["access_token"])


host, port = os.environ["ADDRESS"].split(":")
uvicorn.run(app, host=host, port=int(port))
