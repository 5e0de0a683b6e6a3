"""An SMTP server for tests. It keeps each message as a JSON file in a folder.

    python3 smtpd.py FOLDER PORT [certificate key [implicit]] [user password]
"""

import asyncio
import json
import logging
import os
import ssl
import sys
import warnings

from aiosmtpd.smtp import SMTP, AuthResult

folder, port, certificate, key, implicit, user, password = sys.argv[1:8]
count = 0
logging.getLogger("mail.log").setLevel(logging.CRITICAL)  # it warns of what a test wants
warnings.simplefilter("ignore")


class Handler:
    async def handle_MAIL(self, server, session, envelope, address, options):
        if address.startswith("refused"):
            return "550 5.7.1 " + address + " may not send"
        envelope.mail_from = address
        envelope.mail_options.extend(options)
        return "250 2.1.0 OK"

    async def handle_QUIT(self, server, session, envelope):
        return "451 4.3.0 not now" if getattr(server, "unfriendly", False) else "221 2.0.0 bye"

    async def handle_RCPT(self, server, session, envelope, address, options):
        if address.startswith("refused"):
            return "550 5.1.1 there is no mailbox " + address
        if address.startswith("later"):
            return "451 4.2.1 the mailbox of " + address + " is busy"
        envelope.rcpt_tos.append(address)
        return "250 2.1.5 OK"

    async def handle_DATA(self, server, session, envelope):
        global count
        if any(to.startswith("unwanted") for to in envelope.rcpt_tos):
            return "554 5.7.1 the content is not wanted"
        count += 1
        kept = {
            "From": envelope.mail_from,
            "To": envelope.rcpt_tos,
            "Data": envelope.content.decode("utf-8", "surrogateescape"),
            "TLS": server.transport.get_extra_info("ssl_object") is not None,
            "Login": getattr(server, "authenticated", ""),
        }
        name = os.path.join(folder, "%d-%d" % (os.getpid(), count))
        with open(name + ".part", "w") as file:
            json.dump(kept, file)
        os.rename(name + ".part", name + ".json")
        server.unfriendly = any(to.startswith("unfriendly") for to in envelope.rcpt_tos)
        if any(to.startswith("dropped") for to in envelope.rcpt_tos):
            os._exit(1)
        return "250 2.0.0 kept"


def check(server, session, envelope, mechanism, data):
    if data.login.decode() == user and data.password.decode() == password:
        server.authenticated = user
        return AuthResult(success=True)
    return AuthResult(success=False, handled=False, message="535 5.7.8 the password is not " + data.password.decode())


def make():
    options = {"hostname": "smtpd.test", "enable_SMTPUTF8": True}
    if user:
        options.update(authenticator=check, auth_required=True, auth_require_tls=bool(certificate) and not implicit)
    if certificate and not implicit:
        options.update(tls_context=context, require_starttls=True)
    return SMTP(Handler(), **options)


context = None
if certificate:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)


async def main():
    loop = asyncio.get_running_loop()
    listener = await loop.create_server(make, "127.0.0.1", int(port), ssl=context if implicit else None)
    print("listens", flush=True)
    async with listener:
        await listener.serve_forever()


asyncio.run(main())
