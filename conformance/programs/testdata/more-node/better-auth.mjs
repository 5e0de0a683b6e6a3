// Better Auth with its plugin genericOAuth, as its documentation shows it, without a database.
import { createServer } from 'node:http'
import { betterAuth } from 'better-auth'
import { fromNodeHeaders, toNodeHandler } from 'better-auth/node'
import { genericOAuth } from 'better-auth/plugins'

const { ADDRESS, ISSUER, CLIENT_ID, CLIENT_SECRET, PRINTED } = process.env
const [host, port] = ADDRESS.split(':')

// The lines that Mandate prints, or those of the documentation.
const printed = () => new Function('betterAuth', 'genericOAuth', PRINTED.replace('export ', '') + '\nreturn auth')(betterAuth, genericOAuth)
const auth = PRINTED ? printed() : betterAuth({
  baseURL: `http://${ADDRESS}`,
  secret: 'a secret of this website, which has enough letters',
  plugins: [genericOAuth({
    config: [{
      providerId: 'mandate',
      clientId: CLIENT_ID,
      clientSecret: CLIENT_SECRET,
      discoveryUrl: `${ISSUER}/.well-known/openid-configuration`,
      scopes: ['openid', 'profile', 'email'],
    }],
  })],
})
const library = toNodeHandler(auth)

createServer(async (request, response) => {
  const headers = fromNodeHeaders(request.headers)
  switch (new URL(request.url, auth.options.baseURL).pathname) {
    case '/login': { // a page does this with the client of the library
      const begun = await auth.api.signInSocial({ body: { provider: 'mandate', callbackURL: '/' }, headers, returnHeaders: true })
      response.writeHead(302, { location: begun.response.url, 'set-cookie': begun.headers.getSetCookie() }).end()
      break
    }
    case '/': {
      const session = await auth.api.getSession({ headers })
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify(session?.user ?? null))
      break
    }
    default:
      library(request, response)
  }
}).listen(Number(port), host)
