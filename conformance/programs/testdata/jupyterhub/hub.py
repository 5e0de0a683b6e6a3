# The hub alone: a login needs neither its proxy nor a notebook.
import asyncio
import os
import sys

from jupyterhub.app import JupyterHub
from tornado.httpserver import HTTPServer


async def serve():
    os.environ["JUPYTERHUB_CRYPT_KEY"] = os.urandom(32).hex()
    hub = JupyterHub.instance()
    config = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__), "jupyterhub_config.py")
    await hub.initialize(["--config", config])
    server = HTTPServer(hub.tornado_application, xheaders=True)
    server.listen(hub.hub_port, address=hub.hub_ip)
    await asyncio.Event().wait()


asyncio.run(serve())
