# pgAdmin with the settings of its documentation for OpenID Connect. Only members of a group may enter.
import importlib.util
import os
import runpy
import sys
import types

issuer, folder = os.environ["ISSUER"], os.environ["FOLDER"]
host, port = os.environ["ADDRESS"].split(":")
local = types.ModuleType("config_local")
local.SERVER_MODE = True
local.DATA_DIR = folder
local.LOG_FILE = os.path.join(folder, "pgadmin4.log")
local.SQLITE_PATH = os.path.join(folder, "pgadmin4.db")
local.SESSION_DB_PATH = os.path.join(folder, "sessions")
local.STORAGE_DIR = os.path.join(folder, "storage")
local.AZURE_CREDENTIAL_CACHE_DIR = os.path.join(folder, "azurecredentialcache")
local.KERBEROS_CCACHE_DIR = os.path.join(folder, "krbccache")
local.DEFAULT_SERVER, local.DEFAULT_SERVER_PORT = host, int(port)
local.UPGRADE_CHECK_ENABLED = False
local.AUTHENTICATION_SOURCES = ["oauth2", "internal"]
local.OAUTH2_AUTO_CREATE_USER = True
local.OAUTH2_CONFIG = [{
    "OAUTH2_NAME": "mandate",
    "OAUTH2_DISPLAY_NAME": "Mandate",
    "OAUTH2_CLIENT_ID": os.environ["CLIENT_ID"],
    "OAUTH2_CLIENT_SECRET": os.environ["CLIENT_SECRET"],
    "OAUTH2_TOKEN_URL": issuer + "/token/",
    "OAUTH2_AUTHORIZATION_URL": issuer + "/authorize/",
    "OAUTH2_SERVER_METADATA_URL": issuer + "/.well-known/openid-configuration",
    "OAUTH2_API_BASE_URL": issuer + "/",
    "OAUTH2_USERINFO_ENDPOINT": "userinfo/",
    "OAUTH2_SCOPE": "openid email profile groups",
    "OAUTH2_ADDITIONAL_CLAIMS": {"groups": ["admins"]},
    "OAUTH2_ICON": "fa-key",
    "OAUTH2_BUTTON_COLOR": "#0000ff",
}]
if len(sys.argv) > 1:  # a file with the settings of the provider
    exec(open(sys.argv[1]).read(), local.__dict__)
sys.modules["config_local"] = local
os.environ["PGADMIN_SETUP_EMAIL"], os.environ["PGADMIN_SETUP_PASSWORD"] = "operator@example.com", os.urandom(16).hex()
program = importlib.util.find_spec("pgadmin4.pgAdmin4").origin
sys.path.insert(0, os.path.dirname(program))
sys.argv = [program]
runpy.run_path(program, run_name="__main__")
