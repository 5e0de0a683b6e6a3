import express from "express";
import { createRemoteJWKSet, errors, jwtVerify } from "jose";

const issuer = "https://auth.example.org/o";
const audience = "https://orders.example.org"; // the URI of the resource
const keys = createRemoteJWKSet(new URL(`${issuer}/.well-known/jwks.json`));
const expected = { issuer, audience, typ: "at+jwt", algorithms: ["RS256"], requiredClaims: ["exp"] };
const noKeys = ["ERR_JOSE_GENERIC", "ERR_JWKS_TIMEOUT", "ERR_JWKS_INVALID"]; // the server did not send its keys

const need = (scope) => async (request, response, next) => {
  const [, sent] = /^Bearer +(\S+)$/i.exec(request.get("Authorization") ?? "") ?? [];
  const verified = await jwtVerify(sent ?? "", keys, expected).catch((error) => {
    if (!(error instanceof errors.JOSEError) || noKeys.includes(error.code)) throw error; // 500
  });
  const token = verified?.payload;
  const refuse = (status, error) => response.set("WWW-Authenticate", `Bearer error="${error}"`).sendStatus(status);
  if (!token || token.cnf) return refuse(401, "invalid_token");
  if (!token.scope?.split(" ").includes(scope)) return refuse(403, "insufficient_scope");
  request.token = token;
  next();
};

const app = express();
app.get("/orders", need("read"), (request, response) => response.json({ orders: [], of: request.token.sub }));
app.listen(process.env.PORT ?? 3000, "127.0.0.1");
