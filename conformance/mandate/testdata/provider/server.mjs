// oidc-provider as the other server with which people sign in. One process runs any number of servers. Each line on
// standard input is a step in JSON, and is answered with a line:
//
//   {"step": "listen"}                                               {"issuer": "http://127.0.0.1:..."}
//   {"step": "start", "issuer": ..., "clients": [...]}               {}  the server answers from now on
//   {"step": "person", "issuer": ..., "name": ..., "claims": {...}}  {}  adds or changes a person; any password is right
//   {"step": "disable", "issuer": ..., "name": ...}                  {}  the person may not sign in any more
//
// The claim acr of a person is that of the login, and ts is the time that the server says for it (by default now).
// Consent is never asked for.

import { randomBytes, generateKeyPairSync } from 'node:crypto';
import { createServer } from 'node:http';
import { createInterface } from 'node:readline';
import { Provider } from 'oidc-provider';

// What oidc-provider has to say is not an answer.
console.info = console.error;
console.warn = console.error;

// oidc-provider is written for Node.js 22, of which it wants no more than this in 20.
URL.parse ??= (address, base) => (URL.canParse(address, base) ? new URL(address, base) : null);

const servers = new Map();

// All servers sign with one key, so that only their names distinguish their ID tokens.
const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });

async function listen() {
  const http = createServer();
  await new Promise((resolve) => { http.listen(0, '127.0.0.1', resolve); });
  const issuer = `http://127.0.0.1:${http.address().port}`;
  servers.set(issuer, { http, people: new Map() });
  return { issuer };
}

function start({ issuer, clients }) {
  const { http, people } = servers.get(issuer);
  const provider = new Provider(issuer, {
    acrValues: ['gold', 'silver', 'bronze', 'urn:mandate:acr:mfa'],
    claims: { openid: ['sub', 'acr'], profile: ['name', 'given_name', 'family_name'], email: ['email', 'email_verified'], groups: ['groups'] },
    clients,
    cookies: { keys: [randomBytes(32).toString('base64url')] },
    features: {
      devInteractions: { enabled: false },
      rpInitiatedLogout: {
        enabled: true,
        logoutSource(ctx, form) { ctx.body = page('Sign out there', `${form}<button type="submit" form="op.logoutForm" value="yes" name="logout">Sign out there</button>`); },
      },
    },
    async findAccount(ctx, id) {
      const person = people.get(id);
      return person && !person.disabled ? { accountId: id, claims: () => ({ sub: id, ...person.claims }) } : undefined;
    },
    interactions: { url: (ctx, interaction) => `/interaction/${interaction.uid}` },
    jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), alg: 'RS256', use: 'sig', kid: 'one' }] },
    async loadExistingGrant(ctx) {
      const grant = new ctx.oidc.provider.Grant({ clientId: ctx.oidc.client.clientId, accountId: ctx.oidc.session.accountId });
      grant.addOIDCScope(ctx.oidc.params.scope);
      await grant.save();
      return grant;
    },
    pkce: { required: () => true },
    renderError(ctx, out) {
      ctx.type = 'html';
      ctx.body = page('Error', `${out.error}: ${out.error_description}`);
    },
    scopes: ['openid', 'profile', 'email', 'groups'],
  });
  const callback = provider.callback();
  http.on('request', (req, res) => {
    if (req.url === '/favicon.ico') {
      res.writeHead(204).end();
      return;
    }
    if (!req.url.startsWith('/interaction/')) {
      callback(req, res);
      return;
    }
    interact(provider, people, req, res).catch((err) => { console.error(err); res.writeHead(500).end(); });
  });
  return {};
}

const page = (title, body) => `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${title}</title></head><body><h1>${title}</h1>${body}</body></html>`;

// interact shows the page to sign in, and takes its form.
async function interact(provider, people, req, res) {
  await provider.interactionDetails(req, res);
  if (req.method !== 'POST') {
    res.writeHead(200, { 'Content-Type': 'text/html; charset=utf-8', 'Cache-Control': 'no-store' });
    res.end(page('Sign in there', '<form method="post"><label>Name <input name="login" required></label> <button type="submit">Sign in there</button></form>'));
    return;
  }
  let body = '';
  for await (const part of req) {
    body += part;
  }
  const name = new URLSearchParams(body).get('login');
  const person = people.get(name);
  const result = person && !person.disabled
    ? { login: { accountId: name, acr: person.claims.acr, amr: ['pwd'], ts: person.ts } }
    : { error: 'access_denied', error_description: 'This person may not sign in.' };
  await provider.interactionFinished(req, res, result, { mergeWithLastSubmission: false });
}

const steps = {
  listen,
  start,
  person({ issuer, name, claims, ts }) { servers.get(issuer).people.set(name, { claims, ts }); return {}; },
  disable({ issuer, name }) { servers.get(issuer).people.get(name).disabled = true; return {}; },
};

let before = Promise.resolve();
const lines = createInterface({ input: process.stdin });
lines.on('line', (line) => {
  before = before.then(async () => {
    const step = JSON.parse(line);
    console.log(JSON.stringify(await steps[step.step](step)));
  });
});
lines.on('close', () => process.exit());
