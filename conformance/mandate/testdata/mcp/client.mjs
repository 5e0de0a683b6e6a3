// Clients of the Model Context Protocol, written with the SDK for TypeScript: release 1, and release 2 with the package
// @modelcontextprotocol/client. Each line of standard input is one step,
// a JSON object, and is answered by one line, a JSON object too; an error is {"error": ..., "message": ...}.
//
//   {"step", "session": the name of the client's memory, which the step connect begins}
//
//   connect  {"sdk": 1 or 2, "url" of the MCP server, "redirect_uri", "document"?: the URL of the client's own metadata}
//            gives {"authorize": the URL for the browser} or {"tools": [...]}
//   finish   {"code", "iss"?} after the browser was sent back; gives {"tools": [...]}
//   call     {"tool", "arguments"?} gives {"result"} or {"authorize"} if the server requires more scopes
//   forget   forgets the refresh token: release 1 refreshes when a scope is missing, and never asks for it then
//   expire   forgets the access token, so that the next call refreshes

import { createInterface } from "node:readline";

const releases = {
  1: {
    ...(await import("@modelcontextprotocol/sdk/client/index.js")),
    ...(await import("@modelcontextprotocol/sdk/client/streamableHttp.js")),
    ...(await import("@modelcontextprotocol/sdk/client/auth.js")),
  },
  2: await import("@modelcontextprotocol/client"),
};

// Session is what the SDK asks of a program: a memory, and a browser.
class Session {
  constructor(input) {
    this.sdk = releases[input.sdk];
    this.url = new URL(input.url);
    this.redirectUrl = input.redirect_uri;
    this.clientMetadataUrl = input.document;
    this.clientMetadata = { client_name: "MCP test", redirect_uris: [input.redirect_uri] };
  }
  state = () => (this.sent = crypto.randomUUID());
  clientInformation = () => this.client;
  saveClientInformation(client) {
    this.client = client;
  }
  tokens = () => this.issued;
  saveTokens(tokens) {
    this.issued = tokens;
  }
  redirectToAuthorization(url) {
    this.authorize = url.href;
  }
  saveCodeVerifier(verifier) {
    this.verifier = verifier;
  }
  codeVerifier = () => this.verifier;
  invalidateCredentials(scope) {
    this.invalidated = scope;
    if (scope === "all" || scope === "tokens") this.issued = undefined;
    if (scope === "all" || scope === "client") this.client = undefined;
  }

  async open() {
    this.transport = new this.sdk.StreamableHTTPClientTransport(this.url, { authProvider: this });
    this.mcp = new this.sdk.Client({ name: "mandate-test", version: "1" });
    await this.mcp.connect(this.transport);
    return { tools: (await this.mcp.listTools()).tools.map((tool) => tool.name) };
  }

  // orAuthorize returns the URL for the browser if the SDK wants to send one there.
  async orAuthorize(what) {
    this.authorize = undefined;
    try {
      return await what();
    } catch (e) {
      if (e instanceof this.sdk.UnauthorizedError && this.authorize) return { authorize: this.authorize, state: this.sent };
      throw e;
    }
  }
}

const sessions = {};

const steps = {
  connect(input) {
    const session = (sessions[input.session] = new Session(input));
    return session.orAuthorize(() => session.open());
  },
  async finish(input) {
    const session = sessions[input.session];
    await session.transport.finishAuth(input.code, input.iss);
    return session.open();
  },
  call(input) {
    const session = sessions[input.session];
    return session.orAuthorize(async () => {
      const result = await session.mcp.callTool({ name: input.tool, arguments: input.arguments ?? {} });
      return { result: result.structuredContent ?? result.content, failed: result.isError === true };
    });
  },
  forget(input) {
    delete sessions[input.session].issued.refresh_token;
    return {};
  },
  expire(input) {
    sessions[input.session].issued.access_token = "forgotten";
    return {};
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  let answer;
  try {
    const input = JSON.parse(line);
    answer = await steps[input.step](input);
  } catch (e) {
    answer = { error: e.errorCode ?? e.name ?? "error", message: String(e.message ?? e) };
  }
  console.log(JSON.stringify(answer));
}
