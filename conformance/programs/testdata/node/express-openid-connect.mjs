// express-openid-connect, as its documentation shows it. DEFAULTS leaves out what its documentation has for the code flow.
import express from 'express'
import openid from 'express-openid-connect'

const { ADDRESS, ISSUER, CLIENT_ID, CLIENT_SECRET, DEFAULTS } = process.env
const [host, port] = ADDRESS.split(':')

const code = {
  clientSecret: CLIENT_SECRET,
  authorizationParams: { response_type: 'code', scope: 'openid profile email groups' },
}
const app = express()
app.use(openid.auth({
  issuerBaseURL: ISSUER,
  baseURL: `http://${ADDRESS}`,
  clientID: CLIENT_ID,
  secret: 'a secret of this website, which has enough letters',
  ...(DEFAULTS ? {} : code),
}))
app.get('/', (request, response) => { response.json(request.oidc.user) })
app.listen(Number(port), host)
