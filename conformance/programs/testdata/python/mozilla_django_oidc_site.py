# Django with mozilla-django-oidc, as its documentation shows it, with its way to use more claims.
import os
from wsgiref.simple_server import make_server

import django
from django.conf import settings

issuer = os.environ["ISSUER"]
own = dict(
    DEBUG=True,
    SECRET_KEY=os.urandom(32).hex(),
    ALLOWED_HOSTS=["*"],
    ROOT_URLCONF="__main__",
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": os.path.join(os.environ["FOLDER"], "site.db")}},
    INSTALLED_APPS=["django.contrib.auth", "django.contrib.contenttypes", "django.contrib.sessions", "mozilla_django_oidc"],
    MIDDLEWARE=["django.contrib.sessions.middleware.SessionMiddleware", "django.contrib.auth.middleware.AuthenticationMiddleware"],
    AUTHENTICATION_BACKENDS=["__main__.Backend"],
    OIDC_RP_CLIENT_ID=os.environ["CLIENT_ID"],
    OIDC_RP_CLIENT_SECRET=os.environ["CLIENT_SECRET"],
    OIDC_OP_AUTHORIZATION_ENDPOINT=issuer + "/authorize/",
    OIDC_OP_TOKEN_ENDPOINT=issuer + "/token/",
    OIDC_OP_USER_ENDPOINT=issuer + "/userinfo/",
    OIDC_OP_JWKS_ENDPOINT=issuer + "/.well-known/jwks.json",
    OIDC_RP_SIGN_ALGO="RS256",
    OIDC_RP_SCOPES="openid email profile groups",
    LOGIN_REDIRECT_URL="/",
)
printed = {}  # the settings as Mandate prints them, if there are any
exec(os.environ.get("PRINTED", ""), printed)
settings.configure(**own | {name: value for name, value in printed.items() if name.isupper()})
django.setup()

from django.contrib.auth.decorators import login_required  # noqa: E402
from django.contrib.auth.models import Group  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.core.wsgi import get_wsgi_application  # noqa: E402
from django.http import JsonResponse  # noqa: E402
from django.urls import include, path  # noqa: E402
from mozilla_django_oidc.auth import OIDCAuthenticationBackend  # noqa: E402


class Backend(OIDCAuthenticationBackend):
    def create_user(self, claims):
        user = super().create_user(claims)
        user.first_name = claims.get("given_name", "")
        user.last_name = claims.get("family_name", "")
        user.save()
        user.groups.set(Group.objects.get_or_create(name=name)[0] for name in claims.get("groups", []))
        return user


@login_required(login_url="/oidc/authenticate/")
def homepage(request):
    user = request.user
    groups = [group.name for group in user.groups.all()]
    return JsonResponse({"name": user.get_full_name(), "email": user.email, "groups": groups})


urlpatterns = [path("", homepage), path("oidc/", include("mozilla_django_oidc.urls"))]
call_command("migrate", verbosity=0)
host, port = os.environ["ADDRESS"].split(":")
make_server(host, int(port), get_wsgi_application()).serve_forever()
