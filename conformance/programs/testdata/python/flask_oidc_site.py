# Flask with flask-oidc, as its documentation shows it.
import json
import os

from flask import Flask, jsonify, session
from flask_oidc import OpenIDConnect

secrets = os.path.join(os.environ["FOLDER"], "client_secrets.json")
with open(secrets, "w") as file:
    printed = os.environ.get("PRINTED")  # the file as Mandate prints it
    json.dump(json.loads(printed) if printed else {"web": {
        "client_id": os.environ["CLIENT_ID"],
        "client_secret": os.environ["CLIENT_SECRET"],
        "issuer": os.environ["ISSUER"],
    }}, file)

app = Flask(__name__)
app.config.update({
    "SECRET_KEY": os.urandom(32).hex(),
    "OIDC_CLIENT_SECRETS": secrets,
    "OIDC_SCOPES": "openid email profile groups",
})
oidc = OpenIDConnect(app)


@app.route("/")
@oidc.require_login
def homepage():
    return jsonify(session["oidc_auth_profile"])


host, port = os.environ["ADDRESS"].split(":")
app.run(host, int(port))
