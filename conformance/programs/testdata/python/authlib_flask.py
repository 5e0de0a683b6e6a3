# Flask with Authlib, as its documentation shows it for OpenID Connect.
import os

from authlib.integrations.flask_client import OAuth
from flask import Flask, jsonify, redirect, session

app = Flask(__name__)
if "PRINTED" in os.environ:  # the lines that Mandate prints
    exec(os.environ["PRINTED"])
else:
    app.secret_key = os.urandom(32)
    oauth = OAuth(app)
    oauth.register(
        name="mandate",
        client_id=os.environ["CLIENT_ID"],
        client_secret=os.environ["CLIENT_SECRET"],
        server_metadata_url=os.environ["ISSUER"] + "/.well-known/openid-configuration",
        client_kwargs={"scope": "openid email profile groups"},
    )

    @app.route("/login")
    def login():
        return oauth.mandate.authorize_redirect(f"http://{os.environ['ADDRESS']}/auth")

    @app.route("/auth")
    def auth():
        session["user"] = oauth.mandate.authorize_access_token()["userinfo"]
        return redirect("/")


@app.route("/")
def homepage():
    return jsonify(session.get("user"))


host, port = os.environ["ADDRESS"].split(":")
app.run(host, int(port))
