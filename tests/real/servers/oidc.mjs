// The authorization server of `oidc-provider`, on this machine: with registration, resource indicators, and access
// tokens that are JWTs for one resource. Its pages for development let everybody log in.
import Provider, { errors } from "oidc-provider";

const issuer = `http://localhost:${process.env.AUTHORIZATION_PORT}`;
const resource = `http://localhost:${process.env.SERVER_PORT}/mcp`;
const scopes = ["greet", "shout"];

const provider = new Provider(issuer, {
  clients: [
    {
      client_id: "service",
      client_secret: "secret-of-the-service",
      grant_types: ["client_credentials"],
      redirect_uris: [],
      response_types: [],
    },
    {
      client_id: "television",
      token_endpoint_auth_method: "none",
      grant_types: ["urn:ietf:params:oauth:grant-type:device_code", "refresh_token"],
      redirect_uris: [],
      response_types: [],
    },
    {
      client_id: "proxy",
      client_secret: "secret-of-the-proxy",
      grant_types: ["authorization_code", "refresh_token"],
      redirect_uris: [`http://localhost:${process.env.SERVER_PORT}/auth/callback`],
    },
  ],
  scopes: ["openid", "offline_access", ...scopes],
  features: {
    clientCredentials: { enabled: true },
    deviceFlow: { enabled: true },
    registration: { enabled: true },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => resource,
      getResourceServerInfo(_, asked) {
        if (asked !== resource && asked !== `${issuer}/other`) throw new errors.InvalidTarget();
        return { scope: scopes.join(" "), audience: asked, accessTokenFormat: "jwt" };
      },
      useGrantedResource: () => true,
    },
    revocation: { enabled: true },
  },
  issueRefreshToken: (_, client) => client.grantTypeAllowed("refresh_token"),
});
provider.listen(process.env.AUTHORIZATION_PORT, "localhost");
