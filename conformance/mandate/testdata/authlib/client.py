"""A client written with Authlib and requests.

Each line of standard input is one step, a JSON object, and is answered by one line, a JSON object too. The steps, their
parameters and their answers are those of testdata/node/client.mjs: authorize, callback, refresh, client_credentials,
userinfo and get. "auth" is "private_key_jwt", "secret_jwt" or "tls". Besides, "audience" and "lifetime" are those of the
assertions, in place of the defaults. "times" repeats client_credentials with the same objects.

Authlib 1.9.9 has no client for DPoP, pushed requests, request objects and signed responses. Certificates are those of
requests, for which a client with tls_client_auth has the method "none": Authlib then sends the client_id alone. It does
not know mtls_endpoint_aliases.
"""

import json
import sys
import tempfile
import time

from authlib.common.security import generate_token
from authlib.integrations.requests_client import OAuth2Session, OAuthError
from authlib.oauth2.rfc7523 import ClientSecretJWT, PrivateKeyJWT
from authlib.oidc.core import CodeIDToken
from joserfc import jwt
from joserfc.jwk import ECKey, KeySet

FILES = tempfile.TemporaryDirectory()


def file(text):
    """The path of a new file: requests takes certificates and keys from files."""
    with tempfile.NamedTemporaryFile("w", dir=FILES.name, delete=False) as new:
        new.write(text)
    return new.name


class Client:
    def __init__(self, step):
        how, tls = step["auth"], step["tls"]
        self.session = OAuth2Session(
            step["client_id"],
            ECKey.import_key(step["jwk"]) if how == "private_key_jwt" else step.get("client_secret"),
            token_endpoint_auth_method={"private_key_jwt": "private_key_jwt", "secret_jwt": "client_secret_jwt"}.get(how, "none"),
            redirect_uri=step.get("redirect_uri"),
            scope=step.get("scope"),
            code_challenge_method="S256",
        )
        self.session.trust_env = False  # REQUESTS_CA_BUNDLE would replace verify
        self.session.verify = file(tls["ca"])
        if "cert" in tls:
            self.session.cert = (file(tls["cert"]), file(tls["key"]))
        self.metadata = self.read(step["issuer"] + "/.well-known/openid-configuration")
        self.endpoints = self.metadata["mtls_endpoint_aliases"] if "cert" in tls else self.metadata
        # Without the arguments, aud is the token endpoint, and the lifetime is an hour.
        audience = step.get("audience")
        claims = {"exp": int(time.time()) + step["lifetime"]} if "lifetime" in step else None
        if how == "private_key_jwt":
            self.session.register_client_auth_method(
                PrivateKeyJWT(audience, claims=claims, headers={"kid": step["kid"]}, alg="ES256")
            )
        if how == "secret_jwt":
            self.session.register_client_auth_method(ClientSecretJWT(audience, claims=claims))

    def read(self, url):
        return self.session.get(url, withhold_token=True).json()

    def fetch(self, **parameters):
        return self.session.fetch_token(self.endpoints["token_endpoint"], **parameters)

    def holding(self, token):
        self.session.token = {"access_token": token, "token_type": "Bearer"}
        return self.session


def authorize(client, step):
    verifier = generate_token(48)
    url, state = client.session.create_authorization_url(
        client.metadata["authorization_endpoint"], code_verifier=verifier, **step.get("parameters", {})
    )
    return {"url": url, "code_verifier": verifier, "state": state}


def callback(client, step):
    token = client.fetch(authorization_response=step["url"], state=step["state"], code_verifier=step["code_verifier"])
    keys = KeySet.import_key_set(client.read(client.metadata["jwks_uri"]))
    verified = jwt.decode(token["id_token"], keys, algorithms=["RS256"])
    expected = {
        "iss": {"essential": True, "value": client.metadata["issuer"]},
        "aud": {"essential": True, "value": step["client_id"]},
    }
    facts = {"nonce": step["nonce"], "client_id": step["client_id"], "access_token": token["access_token"]}
    CodeIDToken(verified.claims, verified.header, expected, facts).validate()
    return token


def refresh(client, step):
    return client.session.refresh_token(client.endpoints["token_endpoint"], refresh_token=step["refresh_token"])


def client_credentials(client, step):
    for _ in range(step.get("times", 1)):
        token = client.fetch(grant_type="client_credentials")
    return token


def userinfo(client, step):
    return client.holding(step["token"]).get(client.endpoints["userinfo_endpoint"]).json()


def get(client, step):
    answer = client.holding(step["token"]).get(step["url"])
    return {"status": answer.status_code, "body": answer.text}


STEPS = {step.__name__: step for step in (authorize, callback, refresh, client_credentials, userinfo, get)}


def answer(step):
    try:
        return STEPS[step["step"]](Client(step), step)
    except OAuthError as error:
        return {"error": error.error, "error_description": error.description, "message": str(error)}


def main():
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
