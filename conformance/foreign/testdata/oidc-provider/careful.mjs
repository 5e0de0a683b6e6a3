// oidc-provider in a second configuration: with pages of its own, below a path, with a protected API. Clients that are
// registered for the API get tokens for it without asking; some of these tokens are JWTs. Consent is asked for each
// time. The first line on standard input is a JSON array of clients; it is answered with the issuer. The server ends
// with its input.

import { createHmac, generateKeyPairSync, randomBytes, timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';
import { createInterface } from 'node:readline';
import { createLocalJWKSet, jwtVerify } from 'jose';
import { errors, Provider } from 'oidc-provider';
import { Records } from './records.mjs';

// What oidc-provider has to say is not an answer.
console.info = console.error;

// oidc-provider is written for Node.js 22, of which it wants no more than this in 20.
URL.parse ??= (address, base) => (URL.canParse(address, base) ? new URL(address, base) : null);

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const clients = JSON.parse((await lines.next()).value);
const server = createServer();
await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve); });

const path = '/oidc';
const issuer = `http://127.0.0.1:${server.address().port}${path}`;
const api = 'https://api.example/';
const salt = randomBytes(32);

const alice = {
  id: 'person-1',
  username: 'alice',
  password: 'correct horse battery staple',
  claims: {
    name: 'Alice Liddell',
    given_name: 'Alice',
    family_name: 'Liddell',
    nickname: 'Al',
    preferred_username: 'alice',
    profile: 'https://people.example/alice',
    picture: 'https://people.example/alice.png',
    website: 'https://alice.example/',
    gender: 'female',
    birthdate: '1852-05-04',
    zoneinfo: 'Europe/London',
    locale: 'en-GB',
    updated_at: 1700000000,
    email: 'alice@example.com',
    email_verified: true,
    phone_number: '+442079460000',
    phone_number_verified: true,
    address: { street_address: '1 Deanery Garden', locality: 'Oxford', postal_code: 'OX1 1DP', country: 'UK' },
  },
};

function key(alg, type, options) {
  const { privateKey } = generateKeyPairSync(type, options);
  return { ...privateKey.export({ format: 'jwk' }), alg, use: 'sig', kid: alg };
}
const keys = [key('RS256', 'rsa', { modulusLength: 2048 }), key('ES256', 'ec', { namedCurve: 'P-256' })];

const provider = new Provider(issuer, {
  adapter: Records,
  claims: {
    openid: ['sub'],
    profile: ['name', 'given_name', 'family_name', 'nickname', 'preferred_username', 'profile', 'picture', 'website',
      'gender', 'birthdate', 'zoneinfo', 'locale', 'updated_at'],
    email: ['email', 'email_verified'],
    phone: ['phone_number', 'phone_number_verified'],
    address: ['address'],
  },
  clientDefaults: { subject_type: 'pairwise' },
  clients,
  cookies: { keys: [randomBytes(32).toString('base64url')] },
  enabledJWA: { idTokenSigningAlgValues: ['RS256', 'ES256'], userinfoSigningAlgValues: ['RS256', 'ES256'] },
  extraClientMetadata: { properties: ['introspects', 'default_resource', 'signed_access'] },
  features: {
    backchannelLogout: { enabled: true },
    claimsParameter: { enabled: true },
    clientCredentials: { enabled: true },
    devInteractions: { enabled: false },
    introspection: {
      enabled: true,
      allowedPolicy: (ctx, client, token) => client.introspects === true || token.clientId === client.clientId,
    },
    jwtUserinfo: { enabled: true },
    resourceIndicators: {
      enabled: true,
      defaultResource: (ctx, client, requested) => requested?.[0] ?? client.default_resource,
      useGrantedResource: (ctx) => ctx.oidc.client.default_resource !== undefined,
      getResourceServerInfo(ctx, resource, client) {
        if (resource !== api) {
          throw new errors.InvalidTarget();
        }
        const accessTokenFormat = client.signed_access ? 'jwt' : 'opaque';
        return { audience: api, scope: 'read write', accessTokenFormat, accessTokenTTL: 600, jwt: { sign: { alg: 'RS256' } } };
      },
    },
    revocation: { enabled: true },
    rpInitiatedLogout: {
      enabled: true,
      logoutSource(ctx, form) {
        ctx.body = page('Sign out', `${form}
          <button type="submit" form="op.logoutForm" value="yes" name="logout">Sign out</button>
          <button type="submit" form="op.logoutForm">Stay signed in</button>`);
      },
      postLogoutSuccessSource(ctx) {
        ctx.body = page('Signed out', '<p>You are signed out.</p>');
      },
    },
  },
  // The clients listen on this machine, which oidc-provider calls nobody on.
  fetch: (address, options) => fetch(address, { ...options, dispatcher: undefined }),
  async findAccount(ctx, id) {
    return id === alice.id ? { accountId: id, claims: () => ({ sub: id, ...alice.claims }) } : undefined;
  },
  interactions: { url: (ctx, interaction) => `/interaction/${interaction.uid}` },
  jwks: { keys },
  // Only the consent of this request counts.
  async loadExistingGrant(ctx) {
    const id = ctx.oidc.result?.consent?.grantId;
    return id && ctx.oidc.provider.Grant.find(id);
  },
  pairwiseIdentifier: (ctx, id, client) => createHmac('sha256', salt).update(`${client.sectorIdentifier} ${id}`).digest('base64url'),
  pkce: { required: () => true },
  renderError(ctx, out) {
    ctx.type = 'html';
    ctx.body = page('Error', `<p>${text(out.error)}</p><p>${text(out.error_description)}</p>`);
  },
  rotateRefreshToken: true,
  scopes: ['openid', 'offline_access'],
  subjectTypes: ['public', 'pairwise'],
  ttl: {
    AccessToken: 600,
    AuthorizationCode: 60,
    ClientCredentials: 600,
    Grant: 14 * 86400,
    IdToken: 600,
    Interaction: 600,
    RefreshToken: 14 * 86400,
    Session: 86400,
  },
});

function text(value) {
  return String(value ?? '').replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

function page(title, body) {
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${title}</title></head>
    <body><h1>${title}</h1>${body}</body></html>`;
}

const signIn = (hint, refused) => page('Sign in', `${refused ? '<p>The user name or the password is wrong.</p>' : ''}
  <form method="post">
  <label>User name <input name="login" autocomplete="username" value="${text(hint)}" required></label>
  <label>Password <input type="password" name="password" autocomplete="current-password" required></label>
  <button type="submit">Sign in</button></form>`);

const permission = (name, scope) => page('Permission', `<p>${text(name)} asks for: ${text(scope)}</p>
  <form method="post">
  <button type="submit" name="decision" value="yes">Allow</button>
  <button type="submit" name="decision" value="no">Deny</button></form>`);

function answer(res, status, body, headers = {}) {
  res.writeHead(status, { 'Content-Type': 'text/html; charset=utf-8', 'Cache-Control': 'no-store', ...headers });
  res.end(body);
}

async function formOf(req) {
  let body = '';
  for await (const part of req) {
    body += part;
    if (body.length > 10_000) {
      throw new errors.InvalidRequest('the form is too long');
    }
  }
  return new URLSearchParams(body);
}

function same(one, other) {
  const digest = (value) => createHmac('sha256', salt).update(value ?? '').digest();
  return timingSafeEqual(digest(one), digest(other));
}

// interact shows the pages to sign in and to consent, and takes their forms.
async function interact(req, res) {
  const { params, prompt, session } = await provider.interactionDetails(req, res);
  const client = await provider.Client.find(params.client_id);
  const login = prompt.name === 'login';
  if (req.method !== 'POST') {
    answer(res, 200, login ? signIn(params.login_hint) : permission(client.clientName, params.scope));
    return;
  }
  const form = await formOf(req);
  if (login) {
    if (!same(form.get('login'), alice.username) || !same(form.get('password'), alice.password)) {
      answer(res, 200, signIn(form.get('login'), true));
      return;
    }
    await provider.interactionFinished(req, res, { login: { accountId: alice.id, amr: ['pwd'] } }, { mergeWithLastSubmission: false });
    return;
  }
  if (form.get('decision') !== 'yes') {
    await provider.interactionFinished(req, res, { error: 'access_denied' }, { mergeWithLastSubmission: false });
    return;
  }
  const grant = new provider.Grant({ accountId: session.accountId, clientId: client.clientId });
  const { missingOIDCScope, missingOIDCClaims, missingResourceScopes } = prompt.details;
  if (missingOIDCScope) {
    grant.addOIDCScope(missingOIDCScope.join(' '));
  }
  if (missingOIDCClaims) {
    grant.addOIDCClaims(missingOIDCClaims);
  }
  for (const [resource, scopes] of Object.entries(missingResourceScopes ?? {})) {
    grant.addResourceScope(resource, scopes.join(' '));
  }
  await provider.interactionFinished(req, res, { consent: { grantId: await grant.save() } }, { mergeWithLastSubmission: true });
}

// The API accepts JWTs, and opaque tokens that the provider knows.
const verifying = createLocalJWKSet({ keys: keys.map(({ d, p, q, dp, dq, qi, ...published }) => published) });

async function scopeOf(token) {
  if (token.includes('.')) {
    return (await jwtVerify(token, verifying, { issuer, audience: api, typ: 'at+jwt' })).payload.scope ?? '';
  }
  const known = await provider.AccessToken.find(token) ?? await provider.ClientCredentials.find(token);
  if (!known?.isValid || known.aud !== api) {
    throw new Error('the token is not for this API');
  }
  return known.scope ?? '';
}

async function protect(req, res, scope) {
  const challenge = (status, error) => answer(res, status, '', { 'WWW-Authenticate': `Bearer realm="notes"${error ?? ''}` });
  const [scheme, token, more] = (req.headers.authorization ?? '').split(' ');
  if (scheme.toLowerCase() !== 'bearer') {
    challenge(401);
    return;
  }
  if (!token || more !== undefined) {
    challenge(400, ', error="invalid_request"');
    return;
  }
  const granted = await scopeOf(token).catch(() => undefined);
  if (granted === undefined) {
    challenge(401, ', error="invalid_token"');
  } else if (scope && !granted.split(' ').includes(scope)) {
    challenge(403, `, error="insufficient_scope", scope="${scope}"`);
  } else {
    answer(res, 200, '{"notes":[]}', { 'Content-Type': 'application/json' });
  }
}

const protocol = provider.callback();

server.on('request', async (req, res) => {
  res.setHeader('Content-Security-Policy', "default-src 'none'; frame-ancestors 'none'");
  res.setHeader('Referrer-Policy', 'no-referrer');
  res.setHeader('X-Content-Type-Options', 'nosniff');
  res.setHeader('X-Frame-Options', 'DENY');
  const [requested] = req.url.split('?');
  try {
    if (requested.startsWith(`${path}/`)) {
      req.originalUrl = req.url;
      req.url = req.url.slice(path.length);
      await protocol(req, res);
    } else if (requested.startsWith('/interaction/')) {
      await interact(req, res);
    } else if (requested === '/api/notes') {
      await protect(req, res);
    } else if (requested === '/api/drafts') {
      await protect(req, res, 'write');
    } else {
      answer(res, 404, page('Not found', ''));
    }
  } catch (error) {
    console.error(error);
    answer(res, error.statusCode ?? 500, page('Error', `<p>${text(error.error)}</p>`));
  }
});
console.log(issuer);
for await (const line of lines); // until the end of the input
process.exit();
