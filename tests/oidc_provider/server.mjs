// oidc-provider on loopback. Standard input is one JSON object: its address and port, the signing keys (JWK,
// private), the algorithm, of each client its secret and the claims that its tokens carry, and the client through
// which people sign in. Prints "listening" when it does. `PUT /people` says who there is, and with which claims.

import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { json, text } from "node:stream/consumers";

import { Provider } from "oidc-provider";

const { url, port, keys, algorithm, clients, web } = JSON.parse(readFileSync(0, "utf8"));
let people = {};

const provider = new Provider(url, {
  jwks: { keys },
  clients: [
    ...Object.entries(clients).map(([id, client]) => ({
      client_id: id,
      client_secret: client.secret,
      grant_types: ["client_credentials"],
      response_types: [],
      redirect_uris: [],
    })),
    ...web,
  ],
  features: {
    devInteractions: { enabled: false },
    clientCredentials: { enabled: true },
    resourceIndicators: {
      enabled: true,
      getResourceServerInfo: (_, resource) => ({
        scope: "registry:read registry:write",
        audience: resource,
        accessTokenTTL: 300,
        accessTokenFormat: "jwt",
        jwt: { sign: { alg: algorithm } },
      }),
    },
    rpInitiatedLogout: {
      logoutSource: (ctx, form) => {
        ctx.body = `<!doctype html><title>Sign out</title><link rel="icon" href="data:,">${form}
          <button form="op.logoutForm" name="logout" value="yes">Yes, sign me out</button>`;
      },
    },
  },
  scopes: ["openid", "registry:read", "registry:write"],
  extraTokenClaims: (_, token) => clients[token.clientId]?.claims,

  // People: an ID token carries the claims of the scopes that were asked for, and nobody is asked for consent.
  pkce: { required: () => true },
  claims: {
    profile: ["name", "given_name", "family_name", "preferred_username"],
    email: ["email"],
    registry: ["tenants", "roles"],
  },
  conformIdTokenClaims: false,
  findAccount: (_, id) => people[id] && { accountId: id, claims: () => ({ sub: id, ...people[id] }) },
  loadExistingGrant: async (ctx) => {
    const { client, session } = ctx.oidc;
    const grant = new ctx.oidc.provider.Grant({ clientId: client.clientId, accountId: session.accountId });
    grant.addOIDCScope("openid profile email registry");
    await grant.save();
    return grant;
  },
  interactions: { url: (_, interaction) => `/interaction/${interaction.uid}` },
  cookies: { keys: ["for tests"] },
});

/** The page on which people say who they are: their account, and no password. */
async function interaction(request, response) {
  if (request.method === "GET") {
    response.setHeader("Content-Type", "text/html");
    response.end(`<!doctype html><title>Provider</title><link rel="icon" href="data:,"><form method="post">
      <label>Account <input name="account" autofocus></label> <button>Continue</button></form>`);
    return;
  }
  const account = new URLSearchParams(await text(request)).get("account");
  const result = people[account] ? { login: { accountId: account } } : { error: "access_denied" };
  await provider.interactionFinished(request, response, result);
}

createServer(async (request, response) => {
  if (request.url.startsWith("/interaction/")) {
    await interaction(request, response);
  } else if (request.method === "PUT" && request.url === "/people") {
    people = await json(request);
    response.end();
  } else {
    provider.callback()(request, response);
  }
}).listen(port, "127.0.0.1", () => console.log("listening"));
