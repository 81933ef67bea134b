// oidc-provider on loopback. Standard input is one JSON object: the port, the signing keys (JWK, private), the
// algorithm, and of each client its secret and the claims that its tokens carry. Prints "listening" when it does.

import { readFileSync } from "node:fs";
import { createServer } from "node:http";

import { Provider } from "oidc-provider";

const { port, keys, algorithm, clients } = JSON.parse(readFileSync(0, "utf8"));

const provider = new Provider(`http://127.0.0.1:${port}`, {
  jwks: { keys },
  clients: Object.entries(clients).map(([id, client]) => ({
    client_id: id,
    client_secret: client.secret,
    grant_types: ["client_credentials"],
    response_types: [],
    redirect_uris: [],
  })),
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
  },
  scopes: ["registry:read", "registry:write"],
  extraTokenClaims: (_, token) => clients[token.clientId].claims,
});

createServer(provider.callback()).listen(port, "127.0.0.1", () => console.log("listening"));
