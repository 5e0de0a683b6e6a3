# JupyterHub with the GenericOAuthenticator of oauthenticator, as its documentation shows it for a provider of one's own.
import os

from jupyterhub.handlers import BaseHandler
from oauthenticator.generic import GenericOAuthenticator
from tornado import web

issuer = os.environ["ISSUER"]
c = get_config()  # noqa: F821
c.JupyterHub.authenticator_class = GenericOAuthenticator
c.GenericOAuthenticator.client_id = os.environ["CLIENT_ID"]
c.GenericOAuthenticator.client_secret = os.environ["CLIENT_SECRET"]
c.GenericOAuthenticator.oauth_callback_url = f"http://{os.environ['ADDRESS']}/hub/oauth_callback"
c.GenericOAuthenticator.authorize_url = issuer + "/authorize/"
c.GenericOAuthenticator.token_url = issuer + "/token/"
c.GenericOAuthenticator.userdata_url = issuer + "/userinfo/"
c.GenericOAuthenticator.scope = ["openid", "profile", "email", "groups"]
c.GenericOAuthenticator.username_claim = "preferred_username"
c.GenericOAuthenticator.manage_groups = True
c.GenericOAuthenticator.auth_state_groups_key = "oauth_user.groups"
c.GenericOAuthenticator.allow_all = True
c.Authenticator.enable_auth_state = True


class Who(BaseHandler):
    """Shows who has signed in."""

    @web.authenticated
    async def get(self):
        user = self.current_user
        state = await user.get_auth_state()
        person = state["oauth_user"]
        self.write({"name": person["name"], "email": person["email"], "groups": [group.name for group in user.groups]})


c.JupyterHub.extra_handlers = [(r"/who", Who)]
c.JupyterHub.default_url = "/hub/who"
host, port = os.environ["ADDRESS"].split(":")
folder = os.environ["FOLDER"]
c.JupyterHub.hub_ip, c.JupyterHub.hub_port = host, int(port)
c.JupyterHub.bind_url = f"http://{os.environ['ADDRESS']}"
c.JupyterHub.db_url = f"sqlite:///{folder}/jupyterhub.sqlite"
c.JupyterHub.cookie_secret_file = f"{folder}/cookie_secret"
