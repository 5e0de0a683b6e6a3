// A client written with openid-client. Each line of standard input is one step, a JSON object, and is answered
// by one line, a JSON object too; an error is {"error": ..., "error_description": ..., "message": ...}.
//
//   {"issuer", "client_id", "client_secret"?, "jwk"?, "kid"?, "oidc"?: true, "step",
//    "auth"?: "basic" | "post" | "none" | "secret_jwt" | "private_key_jwt" | "tls",
//    "metadata"?: {what the client registered}, "scope"?, "parameters"?: {more parameters of the request},
//    "dpop"?: the name of a key pair for proofs, which a later step finds again,
//    "jarm"?: true: the response to the authorization request is signed (JARM),
//    "tls"?: the options of fetchBy; the answer then has "requests", those with a proof}
//
//   authorize           {"redirect_uri", "push"?: true, "object"?: true, "beside"?: {parameters}}
//                       gives {"url", "code_verifier", "state"}. With object the parameters are in a request object, signed with jwk
//                       (RFC 9101), and beside are parameters outside of it. With push the request is pushed (RFC 9126)
//   callback            {"url", "code_verifier", "state", "nonce"?} the URL that the browser was sent back to; gives the tokens
//   refresh             {"refresh_token"}
//   client_credentials
//   introspect, revoke  {"token"}
//   userinfo            {"token", "subject"}
//   get                 {"url", "token"} gives {"status", "body"} of a protected resource
//   register            {"register": metadata, "initial_access_token"?} gives {"client": the registered metadata}; needs no client_id

import { webcrypto } from "node:crypto";
import { fetchBy, serve, signingKey } from "./program.mjs";

globalThis.crypto ??= webcrypto; // Node 18 has it, but not as a global
const oauth = await import("openid-client");

const parameters = (input) => ({ ...(input.scope && { scope: input.scope }), ...input.parameters });

const steps = {
  async authorize(config, input, more) {
    const verifier = oauth.randomPKCECodeVerifier();
    const state = oauth.randomState();
    let request = {
      redirect_uri: input.redirect_uri,
      code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
      code_challenge_method: "S256",
      state,
      ...parameters(input),
    };
    if (input.object) {
      const signed = await oauth.buildAuthorizationUrlWithJAR(config, request, { key: input.key, kid: input.kid });
      request = { ...Object.fromEntries(signed.searchParams), ...input.beside };
    }
    const build = input.push ? oauth.buildAuthorizationUrlWithPAR : oauth.buildAuthorizationUrl;
    const url = await build(config, request, more);
    return { url: url.href, code_verifier: verifier, state };
  },
  callback: (config, input, more) =>
    oauth.authorizationCodeGrant(
      config,
      new URL(input.url),
      { pkceCodeVerifier: input.code_verifier, expectedState: input.state, expectedNonce: input.nonce },
      undefined,
      more,
    ),
  userinfo: (config, input, more) => oauth.fetchUserInfo(config, input.token, input.subject, more),
  async get(config, input, more) {
    const response = await oauth.fetchProtectedResource(config, input.token, new URL(input.url), "GET", undefined, undefined, more);
    return { status: response.status, body: await response.text() };
  },
  refresh: (config, input, more) => oauth.refreshTokenGrant(config, input.refresh_token, parameters(input), more),
  client_credentials: (config, input, more) => oauth.clientCredentialsGrant(config, parameters(input), more),
  introspect: (config, input) => oauth.tokenIntrospection(config, input.token, parameters(input)),
  async revoke(config, input) {
    await oauth.tokenRevocation(config, input.token, parameters(input));
    return {};
  },
};

function authentication(input) {
  switch (input.auth ?? (input.client_secret ? "basic" : "none")) {
    case "basic":
      return oauth.ClientSecretBasic(input.client_secret);
    case "post":
      return oauth.ClientSecretPost(input.client_secret);
    case "secret_jwt":
      return oauth.ClientSecretJwt(input.client_secret);
    case "private_key_jwt":
      return oauth.PrivateKeyJwt({ key: input.key, kid: input.kid });
    case "tls":
      return oauth.TlsClientAuth();
    default:
      return oauth.None();
  }
}

const pairs = new Map(); // of keys, by name

// handle makes the proofs of the key pair with a name. It remembers the nonces of the servers.
async function handle(config, name) {
  if (!pairs.has(name)) {
    pairs.set(name, oauth.getDPoPHandle(config, await oauth.randomDPoPKeyPair("ES256")));
  }
  return { DPoP: pairs.get(name) };
}

await serve(async (input) => {
  if (input.step === "register") {
    const config = await oauth.dynamicClientRegistration(new URL(input.issuer), input.register, undefined, {
      initialAccessToken: input.initial_access_token,
      algorithm: input.oidc ? "oidc" : "oauth2",
      execute: [oauth.allowInsecureRequests],
    });
    return { client: config.clientMetadata() };
  }
  const step = steps[input.step];
  if (!step) throw new Error(`unknown step ${input.step}`);
  if (input.jwk) input.key = await signingKey(input.jwk);
  const requests = [];
  const config = await oauth.discovery(new URL(input.issuer), input.client_id, input.metadata, authentication(input), {
    algorithm: input.oidc ? "oidc" : "oauth2",
    // Without TLS, the server under test is on the loopback address.
    execute: [...(input.tls ? [] : [oauth.allowInsecureRequests]), ...(input.jarm ? [oauth.useJwtResponseMode] : [])],
    ...(input.tls && { [oauth.customFetch]: fetchBy(input.tls, requests) }),
  });
  const answer = await step(config, input, input.dpop && (await handle(config, input.dpop)));
  return input.tls ? { ...answer, requests } : answer;
});
