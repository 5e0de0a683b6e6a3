"""Runs a module of views: manage.py MODULE ADDRESS."""
import sys

from django.conf import settings
from django.core.management import execute_from_command_line

settings.configure(ROOT_URLCONF=sys.argv[1], ALLOWED_HOSTS=["127.0.0.1"])
execute_from_command_line(["manage.py", "runserver", "--noreload", sys.argv[2]])
