# Matrix Synapse with an OpenID Provider, as its documentation shows it.
import json
import os
import subprocess
import sys

host, port = os.environ["ADDRESS"].split(":")
folder = os.environ["FOLDER"]
config = {
    "server_name": "company.example",
    "public_baseurl": f"http://{os.environ['ADDRESS']}/",
    "listeners": [{"port": int(port), "type": "http", "bind_addresses": [host], "resources": [{"names": ["client"]}]}],
    "database": {"name": "sqlite3", "args": {"database": f"{folder}/homeserver.db"}},
    "media_store_path": f"{folder}/media",
    "signing_key_path": f"{folder}/signing.key",
    "macaroon_secret_key": os.urandom(32).hex(),
    "form_secret": os.urandom(32).hex(),
    "trusted_key_servers": [],
    "report_stats": False,
    "sso": {"client_whitelist": ["http://127.0.0.1"]},
    "oidc_providers": [{
        "idp_id": "mandate",
        "idp_name": "Mandate",
        "discover": True,
        "skip_verification": True,  # of https
        "issuer": os.environ["ISSUER"],
        "client_id": os.environ["CLIENT_ID"],
        "client_secret": os.environ["CLIENT_SECRET"],
        "scopes": ["openid", "profile", "email"],
        "user_mapping_provider": {"config": {
            "localpart_template": "{{ user.preferred_username }}",
            "display_name_template": "{{ user.name }}",
            "email_template": "{{ user.email }}",
        }},
    }],
}
path = os.path.join(folder, "homeserver.yaml")
printed = os.environ.get("PROVIDERS")  # a file with the settings of the provider
with open(path, "w") as file:
    for name, value in config.items():
        if name != "oidc_providers" or not printed:
            print(name + ":", json.dumps(value), file=file)  # which is YAML too
    if printed:
        file.write(open(printed).read())

subprocess.run([sys.executable, "-m", "synapse.app.homeserver", "--config-path", path, "--generate-keys"], check=True)
os.execv(sys.executable, [sys.executable, "-m", "synapse.app.homeserver", "--config-path", path])
