# Django with python-social-auth and its backend for OpenID Connect, as its documentation shows it. NetBox, Weblate and
# Zulip use it.
import os
from wsgiref.simple_server import make_server

import django
from django.conf import settings

own = dict(
    DEBUG=True,
    SECRET_KEY=os.urandom(32).hex(),
    ALLOWED_HOSTS=["*"],
    ROOT_URLCONF="__main__",
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": os.path.join(os.environ["FOLDER"], "site.db")}},
    INSTALLED_APPS=["django.contrib.auth", "django.contrib.contenttypes", "django.contrib.sessions", "social_django"],
    MIDDLEWARE=["django.contrib.sessions.middleware.SessionMiddleware", "django.contrib.auth.middleware.AuthenticationMiddleware"],
    AUTHENTICATION_BACKENDS=["social_core.backends.open_id_connect.OpenIdConnectAuth"],
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    SOCIAL_AUTH_OIDC_OIDC_ENDPOINT=os.environ["ISSUER"],
    SOCIAL_AUTH_OIDC_KEY=os.environ["CLIENT_ID"],
    SOCIAL_AUTH_OIDC_SECRET=os.environ["CLIENT_SECRET"],
    SOCIAL_AUTH_OIDC_SCOPE=["groups"],
    SOCIAL_AUTH_OIDC_EXTRA_DATA=["groups"],
    SOCIAL_AUTH_LOGIN_REDIRECT_URL="/",
)
printed = {}  # the settings as Mandate prints them, if there are any
exec(os.environ.get("PRINTED", ""), printed)
settings.configure(**own | {name: value for name, value in printed.items() if name.isupper()})
django.setup()

from django.core.management import call_command  # noqa: E402
from django.core.wsgi import get_wsgi_application  # noqa: E402
from django.http import HttpResponse, JsonResponse  # noqa: E402
from django.urls import include, path  # noqa: E402


def homepage(request):
    user = request.user
    if not user.is_authenticated:
        return JsonResponse({})
    groups = user.social_auth.get().extra_data.get("groups")
    return JsonResponse({"name": user.get_full_name(), "email": user.email, "groups": groups})


def login(request):
    return HttpResponse('<form method="post" action="/login/oidc/"><button>Sign in</button></form>')


urlpatterns = [path("", homepage), path("login/", login), path("", include("social_django.urls", namespace="social"))]
call_command("migrate", verbosity=0)
host, port = os.environ["ADDRESS"].split(":")
make_server(host, int(port), get_wsgi_application()).serve_forever()
