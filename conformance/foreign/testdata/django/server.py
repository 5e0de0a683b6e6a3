"""django-oauth-toolkit with its own pages and the login page of django.contrib.auth, configured for production.

The argument is a JSON file: the address to listen at, the file of the database, the person, and the applications.
The issuer is the path /o at that address. Two paths of the API /api/ accept its tokens.
"""

import json
import secrets
import sys

import django
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from django.conf import settings
from waitress import serve

with open(sys.argv[1], encoding="utf-8") as file:
    config = json.load(file)
origin = "http://" + config["address"]

LOGIN_PAGE = """<!doctype html>
<title>Log in</title>
<h1>Log in</h1>
<form method="post">{% csrf_token %}{{ form.as_p }}<input type="hidden" name="next" value="{{ next }}"><button>Log in</button></form>
"""

settings.configure(
    ALLOWED_HOSTS=["127.0.0.1"],
    DATABASES={
        "default": {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": config["database"],
            "OPTIONS": {"timeout": 30, "transaction_mode": "IMMEDIATE", "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL"},
        }
    },
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    INSTALLED_APPS=[
        "django.contrib.auth",
        "django.contrib.contenttypes",
        "django.contrib.messages",
        "django.contrib.sessions",
        "oauth2_provider",
    ],
    LOGGING={
        "version": 1,
        "disable_existing_loggers": False,
        "handlers": {"console": {"class": "logging.StreamHandler"}},
        "root": {"handlers": ["console"], "level": "WARNING"},
    },
    LOGIN_URL="/accounts/login/",
    MIDDLEWARE=[
        "django.middleware.security.SecurityMiddleware",
        "django.contrib.sessions.middleware.SessionMiddleware",
        "django.middleware.common.CommonMiddleware",
        "django.middleware.csrf.CsrfViewMiddleware",
        "django.contrib.auth.middleware.AuthenticationMiddleware",
        "django.contrib.messages.middleware.MessageMiddleware",
        "django.middleware.clickjacking.XFrameOptionsMiddleware",
    ],
    PASSWORD_HASHERS=["__main__.PasswordHasher", "__main__.ClientSecretHasher"],
    OAUTH2_PROVIDER={
        "ACCESS_TOKEN_EXPIRE_SECONDS": 3600,
        "ALLOWED_REDIRECT_URI_SCHEMES": ["https", "http", "com.example.conformance"],
        "CLIENT_SECRET_HASHER": "client_secret",
        # The package's switches for RFC 9700, except that of the password grant, which one application uses.
        "COMPLIANT_BCP_RFC9700_ACCESS_TOKEN_TRANSPORT": True,
        "COMPLIANT_BCP_RFC9700_AUTHZ_RESPONSE_ISS": True,
        "COMPLIANT_BCP_RFC9700_IMPLICIT_GRANT": True,
        "COMPLIANT_BCP_RFC9700_PKCE_METHOD": True,
        "COMPLIANT_BCP_RFC9700_TOKEN_STORAGE": True,
        "DEFAULT_SCOPES": ["read"],
        "OAUTH2_VALIDATOR_CLASS": "__main__.Validator",
        "ID_TOKEN_EXPIRE_SECONDS": 3600,
        "OIDC_ENABLED": True,
        "OIDC_ISS_ENDPOINT": origin + "/o",
        "OIDC_RP_INITIATED_LOGOUT_ENABLED": True,
        "OIDC_RSA_PRIVATE_KEY": rsa.generate_private_key(public_exponent=65537, key_size=2048)
        .private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        .decode(),
        "REFRESH_TOKEN_EXPIRE_SECONDS": 14 * 24 * 3600,
        "REFRESH_TOKEN_REUSE_PROTECTION": True,
        "SCOPES": {
            "openid": "Sign you in",
            "profile": "Your name",
            "email": "Your email address",
            "read": "Read your notes",
            "write": "Write your notes",
        },
    },
    ROOT_URLCONF="__main__",
    SECRET_KEY=secrets.token_urlsafe(64),
    STATIC_URL="/static/",
    TEMPLATES=[
        {
            "BACKEND": "django.template.backends.django.DjangoTemplates",
            "OPTIONS": {
                "context_processors": [
                    "django.template.context_processors.request",
                    "django.contrib.auth.context_processors.auth",
                    "django.contrib.messages.context_processors.messages",
                ],
                "loaders": [
                    ("django.template.loaders.locmem.Loader", {"registration/login.html": LOGIN_PAGE}),
                    "django.template.loaders.app_directories.Loader",
                ],
            },
        }
    ],
    USE_TZ=True,
)
django.setup()

from django.contrib.auth.hashers import PBKDF2PasswordHasher, ScryptPasswordHasher  # noqa: E402 the settings come first
from django.contrib.auth.models import User  # noqa: E402
from django.contrib.auth.views import LoginView  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.core.wsgi import get_wsgi_application  # noqa: E402
from django.http import HttpResponse, JsonResponse  # noqa: E402
from django.urls import include, path  # noqa: E402
from oauth2_provider.decorators import protected_resource  # noqa: E402
from oauth2_provider.models import Application  # noqa: E402
from oauth2_provider.oauth2_validators import OAuth2Validator  # noqa: E402
from oauth2_provider.urls import metadata_urlpatterns  # noqa: E402


class PasswordHasher(ScryptPasswordHasher):
    parallelism = 1  # a run signs in hundreds of times


class ClientSecretHasher(PBKDF2PasswordHasher):
    algorithm = "client_secret"
    iterations = 1  # these secrets are long and random, so a slow hash protects them no better


class Validator(OAuth2Validator):
    def get_additional_claims(self):
        return {
            "name": lambda request: request.user.get_full_name(),
            "given_name": lambda request: request.user.first_name,
            "family_name": lambda request: request.user.last_name,
            "email": lambda request: request.user.email,
            "email_verified": lambda request: True,
        }


@protected_resource()
def notes(request):
    return JsonResponse({"notes": []})


@protected_resource(scopes=["write"])
def drafts(request):
    return JsonResponse({"drafts": []})


urlpatterns = [
    path("", lambda request: HttpResponse("<!doctype html><title>Notes</title><p>Notes")),
    path("accounts/login/", LoginView.as_view()),
    path("api/notes/", notes),
    path("api/drafts/", drafts),
    path("", include((metadata_urlpatterns, "metadata"))),
    path("o/", include("oauth2_provider.urls", namespace="oauth2_provider")),
]

call_command("migrate", verbosity=0)
person = config["person"]
User.objects.create_user(person["username"], "alice@example.com", person["password"], first_name="Alice", last_name="Liddell")
for fields in config["applications"]:
    application = Application(**fields)
    application.full_clean()
    application.save()

serve(get_wsgi_application(), listen=config["address"], threads=8)
