import os
from functools import wraps

import requests
from django.http import HttpResponse, JsonResponse
from django.urls import path

ENDPOINT = "https://auth.example.org/o/introspect/"
CREDENTIALS = {"client_id": os.environ["CLIENT_ID"], "client_secret": os.environ["CLIENT_SECRET"]}


def refused(status, error):
    return HttpResponse(status=status, headers={"WWW-Authenticate": f'Bearer error="{error}"'})


def need(scope):
    def decorate(view):
        @wraps(view)
        def checked(request, *args, **kwargs):
            scheme, _, sent = request.headers.get("Authorization", "").partition(" ")
            if scheme.lower() != "bearer":
                return refused(401, "invalid_token")
            answer = requests.post(ENDPOINT, data={"token": sent or "none", **CREDENTIALS}, timeout=5)
            answer.raise_for_status()  # 500
            request.token = answer.json()
            if not request.token["active"] or request.token["token_type"] != "Bearer" or "cnf" in request.token:
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
