// A server that we did not write: npm's oidc-provider, with its own pages for developers. Its one person signs
// in as alice, with any password. The first line on standard input is a JSON array of clients, with the members
// of RFC 7591; it is answered with the issuer, and each line after it with a JSON array of the clients that
// were registered and have not been removed. It ends with its input. With the argument fapi it has the settings
// of the package for the FAPI 2.0 Security Profile.

import { createHmac, generateKeyPairSync, randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import { createInterface } from 'node:readline';
import { Provider } from 'oidc-provider';
import { kinds, Records } from './records.mjs';

// What oidc-provider has to say is not an answer.
console.info = console.error;

// oidc-provider is written for Node.js 22, of which it wants no more than this in 20.
URL.parse ??= (address, base) => (URL.canParse(address, base) ? new URL(address, base) : null);

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const clients = JSON.parse((await lines.next()).value);
const server = createServer();
await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve); });

const salt = randomBytes(32);
const issuer = `http://127.0.0.1:${server.address().port}`;
const fapi = process.argv[2] === 'fapi';
const signatures = ['PS256', 'ES256', 'EdDSA'];

function signingKeys() {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  return { keys: [{ ...privateKey.export({ format: 'jwk' }), alg: 'PS256', use: 'sig', kid: 'PS256' }] };
}

const provider = new Provider(issuer, {
  ...(fapi && {
    clientAuthMethods: ['private_key_jwt'],
    jwks: signingKeys(),
    scopes: ['openid', 'offline_access'],
    ttl: { AuthorizationCode: 60, AccessToken: 600 },
  }),
  adapter: Records,
  clients,
  claims: { openid: ['sub'], profile: ['name', 'given_name', 'family_name'], email: ['email', 'email_verified'] },
  // OpenID Connect wants requests by POST too, for which cookies have to come from other sites.
  enableHttpPostMethods: true,
  cookies: { long: { sameSite: 'none' } },
  // The clients listen on this machine, which oidc-provider calls nobody on.
  fetch: (address, options) => fetch(address, { ...options, dispatcher: undefined }),
  enabledJWA: fapi ? {
    clientAuthSigningAlgValues: signatures,
    dPoPSigningAlgValues: signatures,
    idTokenSigningAlgValues: ['PS256'],
    requestObjectSigningAlgValues: signatures,
    userinfoSigningAlgValues: ['PS256'],
  } : { idTokenSigningAlgValues: ['RS256', 'HS256'] },
  features: {
    backchannelLogout: { enabled: true },
    claimsParameter: { enabled: true },
    clientCredentials: { enabled: true },
    deviceFlow: { enabled: true },
    introspection: { enabled: true },
    jwtUserinfo: { enabled: true },
    registration: { enabled: !fapi },
    registrationManagement: { enabled: !fapi },
    revocation: { enabled: true },
    ...(fapi && {
      dPoP: { enabled: true },
      fapi: { enabled: true, profile: '2.0' },
      pushedAuthorizationRequests: { enabled: true, requirePushedAuthorizationRequests: true },
    }),
  },
  subjectTypes: ['public', 'pairwise'],
  pairwiseIdentifier: (ctx, id, client) => createHmac('sha256', salt).update(`${client.sectorIdentifier} ${id}`).digest('base64url'),
  async findAccount(ctx, id) {
    return id === 'alice' ? {
      accountId: id,
      claims: () => ({
        sub: id, name: 'Alice Liddell', given_name: 'Alice', family_name: 'Liddell', email: 'alice@example.com', email_verified: true,
      }),
    } : undefined;
  },
});

server.on('request', provider.callback());
console.log(issuer);
for await (const _ of lines) {
  console.log(JSON.stringify([...kinds.get('Client')?.keys() ?? []]));
}
process.exit();
