import express from "express";

const endpoint = "https://auth.example.org/o/introspect/";
const credentials = { client_id: process.env.CLIENT_ID, client_secret: process.env.CLIENT_SECRET };

const need = (scope) => async (request, response, next) => {
  const [, sent] = /^Bearer +(\S+)$/i.exec(request.get("Authorization") ?? "") ?? [];
  const refuse = (status, error) => response.set("WWW-Authenticate", `Bearer error="${error}"`).sendStatus(status);
  if (!sent) return refuse(401, "invalid_token");
  const answer = await fetch(endpoint, { method: "POST", body: new URLSearchParams({ token: sent, ...credentials }) });
  if (!answer.ok) throw new Error(`introspection: ${answer.status}`); // 500
  const token = await answer.json();
  if (!token.active || token.token_type !== "Bearer" || token.cnf) return refuse(401, "invalid_token");
  if (!token.scope?.split(" ").includes(scope)) return refuse(403, "insufficient_scope");
  request.token = token;
  next();
};

const app = express();
app.get("/orders", need("read"), (request, response) => response.json({ orders: [], of: request.token.sub }));
app.listen(process.env.PORT ?? 3000, "127.0.0.1");
