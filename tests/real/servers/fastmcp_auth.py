"""A server on FastMCP behind a login, in three ways.

`remote` reads the tokens of an authorization server, `proxy` passes logins on to it and issues tokens of its own, and
`provider` is an authorization server itself, which keeps everything in memory and asks nobody for a password.
"""

import os
import sys

from fastmcp import FastMCP
from fastmcp.server.auth import RemoteAuthProvider, require_scopes
from fastmcp.server.auth.oidc_proxy import OIDCProxy
from fastmcp.server.auth.providers.in_memory import InMemoryOAuthProvider
from fastmcp.server.auth.providers.jwt import JWTVerifier
from key_value.aio.stores.memory import MemoryStore
from mcp.server.auth.settings import ClientRegistrationOptions, RevocationOptions

SCOPES = ["greet", "shout"]
PORT = int(os.environ["SERVER_PORT"])
ADDRESS = f"http://localhost:{PORT}"
ISSUER = f"http://localhost:{os.environ.get('AUTHORIZATION_PORT')}"


def auth(way: str):
    if way == "provider":
        return InMemoryOAuthProvider(
            base_url=ADDRESS,
            client_registration_options=ClientRegistrationOptions(
                enabled=True, valid_scopes=SCOPES, default_scopes=["greet"]
            ),
            revocation_options=RevocationOptions(enabled=True),
            required_scopes=["greet"],
        )
    verifier = JWTVerifier(
        jwks_uri=f"{ISSUER}/jwks",
        issuer=ISSUER,
        audience=f"{ADDRESS}/mcp",
        required_scopes=["greet"],
    )
    if way == "remote":
        return RemoteAuthProvider(
            token_verifier=verifier, authorization_servers=[ISSUER], base_url=ADDRESS, scopes_supported=SCOPES
        )
    return OIDCProxy(
        config_url=f"{ISSUER}/.well-known/openid-configuration",
        client_id="proxy",
        client_secret="secret-of-the-proxy",
        token_verifier=verifier,
        base_url=ADDRESS,
        valid_scopes=SCOPES,
        client_storage=MemoryStore(),
    )


server = FastMCP("greeter", auth=auth(sys.argv[1]))


@server.tool
def greet(name: str) -> str:
    """Greets somebody."""
    return f"Hello, {name}!"


@server.tool(auth=require_scopes("shout"))
def shout(name: str) -> str:
    """Greets somebody in a loud voice."""
    return f"HELLO, {name.upper()}!"


server.run(transport="http", host="localhost", port=PORT, show_banner=False, log_level="error")
