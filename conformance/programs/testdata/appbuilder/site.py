# Flask-AppBuilder, on which Airflow and Superset stand, as its documentation shows it for a provider of one's own.
import os
import sys

from flask import Flask, g, jsonify
from flask_appbuilder import AppBuilder
from flask_appbuilder.const import AUTH_OAUTH
from flask_appbuilder.models.sqla.base import SQLA
from flask_appbuilder.security.sqla.manager import SecurityManager


class Manager(SecurityManager):
    def get_oauth_user_info(self, provider, response):
        me = self.appbuilder.sm.oauth_remotes[provider].userinfo()
        return {
            "username": me["preferred_username"], "first_name": me["given_name"], "last_name": me["family_name"], "email": me["email"],
            "role_keys": me["groups"],
        }


app = Flask(__name__)
own = dict(
    SECRET_KEY=os.urandom(32).hex(),
    SQLALCHEMY_DATABASE_URI="sqlite:///" + os.path.join(os.environ["FOLDER"], "site.db"),
    AUTH_TYPE=AUTH_OAUTH,
    AUTH_USER_REGISTRATION=True,
    AUTH_ROLES_SYNC_AT_LOGIN=True,
    AUTH_ROLES_MAPPING={"staff": ["staff"], "admins": ["admins"]},
    OAUTH_PROVIDERS=[{
        "name": "mandate",
        "icon": "fa-key",
        "token_key": "access_token",
        "remote_app": {
            "client_id": os.environ["CLIENT_ID"],
            "client_secret": os.environ["CLIENT_SECRET"],
            "server_metadata_url": os.environ["ISSUER"] + "/.well-known/openid-configuration",
            "client_kwargs": {"scope": "openid email profile groups"},
        },
    }],
)
app.config.update(own)
if "PRINTED" in os.environ:  # config.py as Mandate prints it
    with open(os.path.join(os.environ["FOLDER"], "config.py"), "w") as file:
        file.write(os.environ["PRINTED"])
    sys.path.insert(0, os.environ["FOLDER"])
    app.config.from_object("config")
    app.config["AUTH_ROLES_MAPPING"] = own["AUTH_ROLES_MAPPING"]
db = SQLA(app)
with app.app_context():
    builder = AppBuilder(app, db.session, security_manager_class=None if "PRINTED" in os.environ else Manager)
    for role in "staff", "admins":
        builder.sm.add_role(role)


@app.route("/who")
def who():
    roles = [role.name for role in g.user.roles if role.name != "Public"]  # everybody's
    return jsonify({"name": g.user.get_full_name(), "email": g.user.email, "groups": roles})


host, port = os.environ["ADDRESS"].split(":")
app.run(host, int(port))
