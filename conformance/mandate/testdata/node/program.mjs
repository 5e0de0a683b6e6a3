// What both programs of this folder share: lines of standard input and output, and requests by TLS.

import { createInterface } from "node:readline";
import { Agent, fetch } from "undici";

// serve answers each line, a JSON object, with a line. An error is {"error": ..., "error_description": ..., "message": ...}.
export async function serve(answer) {
  for await (const line of createInterface({ input: process.stdin })) {
    try {
      console.log(JSON.stringify(await answer(JSON.parse(line))));
    } catch (error) {
      const { error: code, error_description, message, status } = error;
      console.log(JSON.stringify({ error: code ?? error.code ?? error.name, error_description, status, message }));
    }
  }
}

// fetchBy returns a fetch with the options of TLS {"ca", "cert"?, "key"?}, each in PEM. It adds each request that has a DPoP proof
// to trail, as "METHOD PATH STATUS".
export function fetchBy(tls, trail) {
  const dispatcher = new Agent({ connect: tls });
  return async (address, options) => {
    const response = await fetch(address, { ...options, dispatcher });
    if (new Headers(options.headers).has("dpop")) {
      trail.push(`${options.method} ${new URL(address).pathname} ${response.status}`);
    }
    return response;
  };
}

// signingKey imports a private key for ES256, a JWK.
export const signingKey = (jwk) => crypto.subtle.importKey("jwk", jwk, { name: "ECDSA", namedCurve: "P-256" }, false, ["sign"]);
