// A client written with openid-client. Each line of standard input is one step, a JSON object, and is answered
// by one line, a JSON object too; an error is {"error": ..., "error_description": ..., "message": ...}.
//
//   {"issuer", "client_id", "client_secret"?, "auth"?: "basic" | "post" | "none" | "secret_jwt" | "private_key_jwt", "jwk"?, "kid"?, "oidc"?: true, "step",
//    "metadata"?: {what the client registered}, "scope"?, "parameters"?: {more parameters of the request}}
//
//   authorize           {"redirect_uri", "push"?: true}   gives {"url", "code_verifier", "state"}; with push the request is pushed (RFC 9126)
//   callback            {"url", "code_verifier", "state", "nonce"?} the URL that the browser was sent back to; gives the tokens
//   refresh             {"refresh_token"}
//   client_credentials
//   introspect, revoke  {"token"}
//   userinfo            {"token", "subject"}
//   register            {"register": metadata, "initial_access_token"?} gives {"client": the registered metadata}; needs no client_id

import { webcrypto } from "node:crypto";
import { createInterface } from "node:readline";

globalThis.crypto ??= webcrypto; // Node 18 has it, but not as a global
const oauth = await import("openid-client");

const parameters = (input) => ({ ...(input.scope && { scope: input.scope }), ...input.parameters });

const steps = {
  async authorize(config, input) {
    const verifier = oauth.randomPKCECodeVerifier();
    const state = oauth.randomState();
    const build = input.push ? oauth.buildAuthorizationUrlWithPAR : oauth.buildAuthorizationUrl;
    const url = await build(config, {
      redirect_uri: input.redirect_uri,
      code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
      code_challenge_method: "S256",
      state,
      ...parameters(input),
    });
    return { url: url.href, code_verifier: verifier, state };
  },
  callback: (config, input) =>
    oauth.authorizationCodeGrant(config, new URL(input.url), {
      pkceCodeVerifier: input.code_verifier,
      expectedState: input.state,
      expectedNonce: input.nonce,
    }),
  userinfo: (config, input) => oauth.fetchUserInfo(config, input.token, input.subject),
  refresh: (config, input) => oauth.refreshTokenGrant(config, input.refresh_token, parameters(input)),
  client_credentials: (config, input) => oauth.clientCredentialsGrant(config, parameters(input)),
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
    default:
      return oauth.None();
  }
}

async function answer(line) {
  const input = JSON.parse(line);
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
  if (input.jwk) {
    input.key = await crypto.subtle.importKey("jwk", input.jwk, { name: "ECDSA", namedCurve: "P-256" }, false, ["sign"]);
  }
  const config = await oauth.discovery(new URL(input.issuer), input.client_id, input.metadata, authentication(input), {
    algorithm: input.oidc ? "oidc" : "oauth2",
    execute: [oauth.allowInsecureRequests], // the server under test is on the loopback address
  });
  return step(config, input);
}

for await (const line of createInterface({ input: process.stdin })) {
  try {
    console.log(JSON.stringify(await answer(line)));
  } catch (error) {
    const { error: code, error_description, message, status } = error;
    console.log(JSON.stringify({ error: code ?? error.code ?? error.name, error_description, status, message }));
  }
}
