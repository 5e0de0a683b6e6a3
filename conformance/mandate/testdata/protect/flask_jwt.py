import jwt
from flask import Flask, Response, abort, request

ISSUER = "https://auth.example.org/o"
API = "https://orders.example.org"  # the URI of the resource
REQUIRED = {"require": ["exp", "iss", "aud"]}
keys = jwt.PyJWKClient(ISSUER + "/.well-known/jwks.json")
app = Flask(__name__)


def refuse(status, error):
    abort(Response(status=status, headers={"WWW-Authenticate": f'Bearer error="{error}"'}))


def need(scope):
    scheme, _, sent = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() != "bearer":
        refuse(401, "invalid_token")
    try:
        key = keys.get_signing_key_from_jwt(sent)
        found = jwt.decode_complete(sent, key, ["RS256"], audience=API, issuer=ISSUER, options=REQUIRED)
    except jwt.PyJWKClientConnectionError:
        raise  # no keys: 500
    except jwt.PyJWTError:
        refuse(401, "invalid_token")
    token = found["payload"]
    if found["header"].get("typ") != "at+jwt" or "cnf" in token:
        refuse(401, "invalid_token")
    if scope not in token.get("scope", "").split():
        refuse(403, "insufficient_scope")
    return token


@app.get("/orders")
def orders():
    token = need("read")
    return {"orders": [], "of": token["sub"]}
