// Auth.js on Express, as its documentation shows it for a provider of one's own, with its callbacks for another claim.
import { ExpressAuth, getSession } from '@auth/express'
import express from 'express'

const { ADDRESS, ISSUER, CLIENT_ID, CLIENT_SECRET } = process.env
const [host, port] = ADDRESS.split(':')

const config = {
  trustHost: true,
  secret: 'a secret of this website, which has enough letters',
  providers: [{
    id: 'mandate',
    name: 'Mandate',
    type: 'oidc',
    issuer: ISSUER,
    clientId: CLIENT_ID,
    clientSecret: CLIENT_SECRET,
    authorization: { params: { scope: 'openid profile email groups' } },
  }],
  callbacks: {
    jwt({ token, profile }) {
      if (profile) token.groups = profile.groups
      return token
    },
    session({ session, token }) {
      session.user.groups = token.groups
      return session
    },
  },
}

const app = express()
app.set('trust proxy', true)
app.use('/auth/*', ExpressAuth(config))
app.get('/', async (request, response) => {
  const session = await getSession(request, config)
  response.json(session?.user ?? null)
})
app.listen(Number(port), host)
