"""A resource server on django-oauth-toolkit, apart from the authorization server: python3 api.py SETTINGS.

SETTINGS is a JSON object: "listen" is HOST:PORT, "database" a file, and "provider" the settings in OAUTH2_PROVIDER. The
views are those of the toolkit's tutorial for Django REST framework: /users/ needs the scope read, /groups/ the scope groups.
"""

import json
import secrets
import sys

import django
from django.conf import settings
from django.core.servers.basehttp import run

config = json.loads(sys.argv[1])

settings.configure(
    ALLOWED_HOSTS=["127.0.0.1"],
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": config["database"], "OPTIONS": {"timeout": 30}}},
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    INSTALLED_APPS=["django.contrib.auth", "django.contrib.contenttypes", "oauth2_provider", "rest_framework"],
    MIDDLEWARE=["oauth2_provider.middleware.OAuth2TokenMiddleware"],
    OAUTH2_PROVIDER=config["provider"],
    REST_FRAMEWORK={"DEFAULT_AUTHENTICATION_CLASSES": ["oauth2_provider.contrib.rest_framework.OAuth2Authentication"]},
    ROOT_URLCONF="__main__",
    SECRET_KEY=secrets.token_urlsafe(64),
    USE_TZ=True,
)
django.setup()

from django.contrib.auth.models import Group, User  # noqa: E402 the settings come first
from django.core.management import call_command  # noqa: E402
from django.core.wsgi import get_wsgi_application  # noqa: E402
from django.urls import path  # noqa: E402
from oauth2_provider.contrib.rest_framework import TokenHasReadWriteScope, TokenHasScope  # noqa: E402
from rest_framework import generics, permissions, serializers  # noqa: E402


class UserSerializer(serializers.ModelSerializer):
    class Meta:
        model = User
        fields = ("username", "email", "first_name", "last_name")


class GroupSerializer(serializers.ModelSerializer):
    class Meta:
        model = Group
        fields = ("name",)


class UserList(generics.ListCreateAPIView):
    permission_classes = [permissions.IsAuthenticated, TokenHasReadWriteScope]
    queryset = User.objects.order_by("username")
    serializer_class = UserSerializer


class GroupList(generics.ListAPIView):
    permission_classes = [permissions.IsAuthenticated, TokenHasScope]
    required_scopes = ["groups"]
    queryset = Group.objects.order_by("name")
    serializer_class = GroupSerializer


class Everything(generics.ListAPIView):
    """For a token that no person has given."""

    permission_classes = [TokenHasScope]
    required_scopes = ["read"]
    queryset = Group.objects.order_by("name")
    serializer_class = GroupSerializer


urlpatterns = [path("users/", UserList.as_view()), path("groups/", GroupList.as_view()), path("machine/", Everything.as_view())]

call_command("migrate", verbosity=0)
host, _, number = config["listen"].rpartition(":")
run(host, int(number), get_wsgi_application(), threading=True)
