// A client written with oauth4webapi, the library below openid-client. It repeats nothing by itself: a request whose proof lacks a
// nonce is repeated here. Steps, parameters and answers are those of client.mjs; every step needs "tls".
//
//   authorize, callback, refresh, client_credentials, userinfo, get

import { webcrypto } from "node:crypto";
import { fetchBy, serve, signingKey } from "./program.mjs";

globalThis.crypto ??= webcrypto; // Node 18 has it, but not as a global
const oauth = await import("oauth4webapi");

const parameters = (input) => ({ ...(input.scope && { scope: input.scope }), ...input.parameters });

// nonced repeats a request once, if the server asks for a nonce. The first answer of a server has it.
async function nonced(request, read = (response) => response) {
  try {
    return await read(await request());
  } catch (error) {
    if (!oauth.isDPoPNonceError(error)) throw error;
    return read(await request());
  }
}

const steps = {
  async authorize({ as, client, auth, more }, input) {
    const verifier = oauth.generateRandomCodeVerifier();
    const state = oauth.generateRandomState();
    let request = {
      client_id: client.client_id,
      response_type: "code",
      redirect_uri: input.redirect_uri,
      code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
      code_challenge_method: "S256",
      state,
      ...(input.jarm && { response_mode: "jwt" }),
      ...parameters(input),
    };
    if (input.object) {
      const object = await oauth.issueRequestObject(as, client, request, { key: input.key, kid: input.kid });
      request = { client_id: client.client_id, request: object, ...input.beside };
    }
    if (input.push) {
      const pushed = await nonced(
        () => oauth.pushedAuthorizationRequest(as, client, auth, new URLSearchParams(request), more),
        (response) => oauth.processPushedAuthorizationResponse(as, client, response),
      );
      request = { client_id: client.client_id, request_uri: pushed.request_uri };
    }
    return { url: `${as.authorization_endpoint}?${new URLSearchParams(request)}`, code_verifier: verifier, state };
  },
  async callback({ as, client, auth, more }, input) {
    const check = input.jarm ? oauth.validateJwtAuthResponse : oauth.validateAuthResponse;
    const answered = await check(as, client, new URL(input.url), input.state, more);
    return nonced(
      () => oauth.authorizationCodeGrantRequest(as, client, auth, answered, input.redirect_uri, input.code_verifier, more),
      (response) => oauth.processAuthorizationCodeResponse(as, client, response, { expectedNonce: input.nonce }),
    );
  },
  refresh: ({ as, client, auth, more }, input) =>
    nonced(
      () => oauth.refreshTokenGrantRequest(as, client, auth, input.refresh_token, more),
      (response) => oauth.processRefreshTokenResponse(as, client, response),
    ),
  client_credentials: ({ as, client, auth, more }, input) =>
    nonced(
      () => oauth.clientCredentialsGrantRequest(as, client, auth, parameters(input), more),
      (response) => oauth.processClientCredentialsResponse(as, client, response),
    ),
  userinfo: ({ as, client, more }, input) =>
    nonced(
      () => oauth.userInfoRequest(as, client, input.token, more),
      (response) => oauth.processUserInfoResponse(as, client, input.subject, response),
    ),
  async get({ more }, input) {
    const response = await nonced(() => oauth.protectedResourceRequest(input.token, "GET", new URL(input.url), undefined, undefined, more));
    return { status: response.status, body: await response.text() };
  },
};

const pairs = new Map(); // of keys, by name

async function handle(client, name) {
  if (!pairs.has(name)) {
    pairs.set(name, oauth.DPoP(client, await oauth.generateKeyPair("ES256")));
  }
  return { DPoP: pairs.get(name) };
}

await serve(async (input) => {
  const step = steps[input.step];
  if (!step) throw new Error(`unknown step ${input.step}`);
  if (input.jwk) input.key = await signingKey(input.jwk);
  const requests = [];
  const more = { [oauth.customFetch]: fetchBy(input.tls, requests) };
  const issuer = new URL(input.issuer);
  const found = await oauth.discoveryRequest(issuer, { algorithm: input.oidc ? "oidc" : "oauth2", ...more });
  const as = await oauth.processDiscoveryResponse(issuer, found);
  const client = { client_id: input.client_id, ...input.metadata };
  const auth = input.auth === "tls" ? oauth.TlsClientAuth() : oauth.PrivateKeyJwt({ key: input.key, kid: input.kid });
  if (input.dpop) Object.assign(more, await handle(client, input.dpop));
  const answer = await step({ as, client, auth, more }, input);
  return { ...answer, requests };
});
