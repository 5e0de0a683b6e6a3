"""A client written with requests-oauthlib.

Each line of standard input is one step, a JSON object, and is answered by one line, a JSON object too; an error
is {"error": ..., "error_description": ..., "message": ...}.

  {"issuer", "client_id", "client_secret"?, "auth"?: "basic" | "post" | "none", "step", "scope"?}

  authorize           {"redirect_uri", "parameters"?: {more parameters of the request}}  gives {"url", "code_verifier", "state"}
  callback            {"url", "redirect_uri", "code_verifier", "state"}  the URL that the browser was sent back to
  client_credentials
  password            {"username", "password"}
  refresh             {"refresh_token"}
  get                 {"url", "access_token"}  gives {"status", "body"}

The server under test is on the loopback address: the caller sets OAUTHLIB_INSECURE_TRANSPORT=1.
"""

import base64
import hashlib
import json
import secrets
import sys

from oauthlib.oauth2 import BackendApplicationClient, LegacyApplicationClient, OAuth2Error
from requests.auth import HTTPBasicAuth
from requests_oauthlib import OAuth2Session


def authentication(step):
    """The arguments of fetch_token that say how the client shows who it is."""
    secret = step.get("client_secret")
    how = step.get("auth") or ("basic" if secret else "none")
    if how == "basic":
        return {"auth": HTTPBasicAuth(step["client_id"], secret)}
    if how == "post":
        return {"include_client_id": True, "client_secret": secret}
    return {"include_client_id": True}


def challenge(verifier):
    digest = hashlib.sha256(verifier.encode("ascii")).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode("ascii")


def authorize(step):
    verifier = secrets.token_urlsafe(48)
    session = OAuth2Session(step["client_id"], redirect_uri=step["redirect_uri"], scope=step.get("scope"))
    url, state = session.authorization_url(
        step["issuer"] + "/authorize/",
        code_challenge=challenge(verifier),
        code_challenge_method="S256",
        **step.get("parameters", {}),
    )
    return {"url": url, "code_verifier": verifier, "state": state}


def callback(step):
    session = OAuth2Session(
        step["client_id"], redirect_uri=step["redirect_uri"], state=step["state"], scope=step.get("scope")
    )
    return session.fetch_token(
        token_endpoint(step),
        authorization_response=step["url"],
        code_verifier=step["code_verifier"],
        **authentication(step),
    )


def client_credentials(step):
    session = OAuth2Session(client=BackendApplicationClient(step["client_id"], scope=step.get("scope")))
    return session.fetch_token(token_endpoint(step), **authentication(step))


def password(step):
    session = OAuth2Session(client=LegacyApplicationClient(step["client_id"], scope=step.get("scope")))
    return session.fetch_token(
        token_endpoint(step), username=step["username"], password=step["password"], **authentication(step)
    )


def refresh(step):
    session = OAuth2Session(
        step["client_id"], token={"refresh_token": step["refresh_token"]}, scope=step.get("scope")
    )
    arguments = authentication(step)
    if arguments.pop("include_client_id", False):  # unknown to refresh_token, which takes the body's fields as they are
        arguments["client_id"] = step["client_id"]
    return session.refresh_token(token_endpoint(step), refresh_token=step["refresh_token"], **arguments)


def get(step):
    session = OAuth2Session(step["client_id"], token={"access_token": step["access_token"], "token_type": "Bearer"})
    answer = session.get(step["url"])
    return {"status": answer.status_code, "body": answer.text}


def token_endpoint(step):
    return step["issuer"] + "/token/"


STEPS = {step.__name__: step for step in (authorize, callback, client_credentials, password, refresh, get)}


def answer(step):
    try:
        return STEPS[step["step"]](step)
    except (OAuth2Error, Warning) as error:  # oauthlib raises a Warning when the scope was changed
        return {
            "error": getattr(error, "error", None) or type(error).__name__,
            "error_description": getattr(error, "description", None),
            "message": str(error),
        }


def main():
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
