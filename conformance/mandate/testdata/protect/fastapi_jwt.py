import jwt
from fastapi import Depends, FastAPI, HTTPException
from fastapi.security import HTTPBearer

ISSUER = "https://auth.example.org/o"
API = "https://orders.example.org"  # the URI of the resource
REQUIRED = {"require": ["exp", "iss", "aud"]}
keys = jwt.PyJWKClient(ISSUER + "/.well-known/jwks.json")
app = FastAPI()


def refuse(status, error):
    raise HTTPException(status, headers={"WWW-Authenticate": f'Bearer error="{error}"'})


def need(scope):
    def check(sent=Depends(HTTPBearer())):
        try:
            key = keys.get_signing_key_from_jwt(sent.credentials)
            found = jwt.decode_complete(sent.credentials, key, ["RS256"], audience=API, issuer=ISSUER, options=REQUIRED)
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

    return check


@app.get("/orders")
def orders(token=Depends(need("read"))):
    return {"orders": [], "of": token["sub"]}
