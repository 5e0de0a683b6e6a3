# Django with django-allauth and its provider openid_connect, as its documentation shows it.
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
    INSTALLED_APPS=[
        "django.contrib.auth", "django.contrib.contenttypes", "django.contrib.sessions", "django.contrib.messages",
        "allauth", "allauth.account", "allauth.socialaccount", "allauth.socialaccount.providers.openid_connect",
    ],
    MIDDLEWARE=[
        "django.contrib.sessions.middleware.SessionMiddleware", "django.middleware.csrf.CsrfViewMiddleware",
        "django.contrib.auth.middleware.AuthenticationMiddleware", "django.contrib.messages.middleware.MessageMiddleware",
        "allauth.account.middleware.AccountMiddleware",
    ],
    TEMPLATES=[{
        "BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True,
        "OPTIONS": {"context_processors": ["django.template.context_processors.request"]},
    }],
    AUTHENTICATION_BACKENDS=["django.contrib.auth.backends.ModelBackend", "allauth.account.auth_backends.AuthenticationBackend"],
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    LOGIN_REDIRECT_URL="/",
    SOCIALACCOUNT_PROVIDERS={"openid_connect": {"APPS": [{
        "provider_id": "mandate",
        "name": "Mandate",
        "client_id": os.environ["CLIENT_ID"],
        "secret": os.environ["CLIENT_SECRET"],
        "settings": {"server_url": os.environ["ISSUER"], "scope": ["openid", "profile", "email", "groups"]},
    }]}},
)
printed = {}  # the settings as Mandate prints them, if there are any
exec(os.environ.get("PRINTED", ""), printed)
settings.configure(**own | {name: value for name, value in printed.items() if name.isupper()})
django.setup()

from allauth.socialaccount.models import SocialAccount  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.core.wsgi import get_wsgi_application  # noqa: E402
from django.http import JsonResponse  # noqa: E402
from django.urls import include, path  # noqa: E402


def homepage(request):
    if not request.user.is_authenticated:
        return JsonResponse({})
    data = SocialAccount.objects.get(user=request.user).extra_data
    claims = data.get("userinfo", data)
    return JsonResponse({"name": request.user.get_full_name(), "email": request.user.email, "groups": claims.get("groups")})


urlpatterns = [path("", homepage), path("accounts/", include("allauth.urls"))]
call_command("migrate", verbosity=0)
host, port = os.environ["ADDRESS"].split(":")
make_server(host, int(port), get_wsgi_application()).serve_forever()
