"""A server on the official Python SDK 2.x that is its own authorization server.

The SDK has the endpoints and reads what is sent to them; the users, the codes and the tokens are kept here. With the
argument `any-resource` it serves the tokens of other resources too, as the SDK does where nothing else is said.
"""

import os
import secrets
import sys
import time

from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    OAuthAuthorizationServerProvider,
    RefreshToken,
    construct_redirect_uri,
)
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions, RevocationOptions
from mcp.server.mcpserver import MCPServer
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

PORT = int(os.environ["SERVER_PORT"])
ADDRESS = f"http://localhost:{PORT}"
LIFETIME = 3600
FORM = """<!doctype html><title>Log in</title><form method="post">
<input name="username"><input name="password" type="password"><button>Log in</button></form>"""


class Provider(OAuthAuthorizationServerProvider[AuthorizationCode, RefreshToken, AccessToken]):
    def __init__(self):
        self.clients: dict[str, OAuthClientInformationFull] = {}
        self.logins: dict[str, tuple[str, AuthorizationParams]] = {}
        self.codes: dict[str, AuthorizationCode] = {}
        self.access: dict[str, AccessToken] = {}
        self.refresh: dict[str, RefreshToken] = {}

    async def get_client(self, client_id):
        return self.clients.get(client_id)

    async def register_client(self, client_info):
        self.clients[client_info.client_id] = client_info

    async def authorize(self, client, params):
        login = secrets.token_urlsafe()
        self.logins[login] = (client.client_id, params)
        return f"{ADDRESS}/login/{login}"

    def log_in(self, login: str) -> str:
        """The address that the browser goes to after a login."""
        client_id, params = self.logins.pop(login)
        code = AuthorizationCode(
            code=secrets.token_urlsafe(),
            scopes=params.scopes or ["greet"],
            expires_at=time.time() + 60,
            client_id=client_id,
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
            resource=params.resource,
            subject="ann",
        )
        self.codes[code.code] = code
        return construct_redirect_uri(str(params.redirect_uri), code=code.code, state=params.state)

    async def load_authorization_code(self, client, authorization_code):
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(self, client, authorization_code):
        del self.codes[authorization_code.code]
        return self.issue(authorization_code, authorization_code.scopes)

    async def load_refresh_token(self, client, refresh_token):
        return self.refresh.get(refresh_token)

    async def exchange_refresh_token(self, client, refresh_token, scopes):
        del self.refresh[refresh_token.token]
        return self.issue(refresh_token, scopes)

    def issue(self, grant: AuthorizationCode | RefreshToken, scopes: list[str]) -> OAuthToken:
        terms = {"client_id": grant.client_id, "scopes": scopes, "resource": grant.resource, "subject": grant.subject}
        expires_at = int(time.time()) + LIFETIME
        access = AccessToken(token=secrets.token_urlsafe(), expires_at=expires_at, **terms)
        refresh = RefreshToken(token=secrets.token_urlsafe(), **terms)
        self.access[access.token], self.refresh[refresh.token] = access, refresh
        return OAuthToken(
            access_token=access.token, refresh_token=refresh.token, expires_in=LIFETIME, scope=" ".join(scopes)
        )

    async def load_access_token(self, token):
        return self.access.get(token)

    async def revoke_token(self, token):
        self.access.pop(token.token, None)
        self.refresh.pop(token.token, None)


provider = Provider()
server = MCPServer(
    "greeter",
    version="1.0.0",
    auth_server_provider=provider,
    auth=AuthSettings(
        issuer_url=ADDRESS,
        resource_server_url=f"{ADDRESS}/mcp",
        client_registration_options=ClientRegistrationOptions(
            enabled=True, valid_scopes=["greet"], default_scopes=["greet"]
        ),
        revocation_options=RevocationOptions(enabled=True),
        required_scopes=["greet"],
        validate_token_resource="any-resource" not in sys.argv,
    ),
)


@server.custom_route("/login/{login}", methods=["GET", "POST"])
async def log_in(request: Request) -> Response:
    login = request.path_params["login"]
    if login not in provider.logins:
        return Response("there is no such login", 404)
    given = await request.form()
    if given.get("username") == "ann" and given.get("password") == "password-of-ann":
        return RedirectResponse(provider.log_in(login), 303)
    return HTMLResponse(FORM)


@server.tool()
def greet(name: str) -> str:
    """Greets somebody."""
    return f"Hello, {name}!"


server.run(transport="streamable-http", host="localhost", port=PORT)
