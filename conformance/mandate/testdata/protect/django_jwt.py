from functools import wraps

import jwt
from django.http import HttpResponse, JsonResponse
from django.urls import path

ISSUER = "https://auth.example.org/o"
API = "https://orders.example.org"  # the URI of the resource
REQUIRED = {"require": ["exp", "iss", "aud"]}
keys = jwt.PyJWKClient(ISSUER + "/.well-known/jwks.json")


def refused(status, error):
    return HttpResponse(status=status, headers={"WWW-Authenticate": f'Bearer error="{error}"'})


def need(scope):
    def decorate(view):
        @wraps(view)
        def checked(request, *args, **kwargs):
            scheme, _, sent = request.headers.get("Authorization", "").partition(" ")
            if scheme.lower() != "bearer":
                return refused(401, "invalid_token")
            try:
                key = keys.get_signing_key_from_jwt(sent)
                found = jwt.decode_complete(sent, key, ["RS256"], audience=API, issuer=ISSUER, options=REQUIRED)
            except jwt.PyJWKClientConnectionError:
                raise  # no keys: 500
            except jwt.PyJWTError:
                return refused(401, "invalid_token")
            request.token = found["payload"]
            if found["header"].get("typ") != "at+jwt" or "cnf" in request.token:
                return refused(401, "invalid_token")
            if scope not in request.token.get("scope", "").split():
                return refused(403, "insufficient_scope")
            return view(request, *args, **kwargs)

        return checked

    return decorate


@need("read")
def orders(request):
    return JsonResponse({"orders": [], "of": request.token["sub"]})


urlpatterns = [path("orders", orders)]
