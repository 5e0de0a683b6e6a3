// Passport with passport-openidconnect, as its documentation shows it.
import express from 'express'
import session from 'express-session'
import passport from 'passport'
import OpenIDConnectStrategy from 'passport-openidconnect'

const { ADDRESS, ISSUER, CLIENT_ID, CLIENT_SECRET } = process.env
const [host, port] = ADDRESS.split(':')

passport.use(new OpenIDConnectStrategy({
  issuer: ISSUER,
  authorizationURL: `${ISSUER}/authorize/`,
  tokenURL: `${ISSUER}/token/`,
  userInfoURL: `${ISSUER}/userinfo/`,
  clientID: CLIENT_ID,
  clientSecret: CLIENT_SECRET,
  callbackURL: `http://${ADDRESS}/oauth2/redirect`,
  scope: ['profile', 'email'],
}, (issuer, profile, done) => done(null, profile)))
passport.serializeUser((user, done) => done(null, user))
passport.deserializeUser((user, done) => done(null, user))

const app = express()
app.use(session({ secret: 'a secret of this website', resave: false, saveUninitialized: false }))
app.use(passport.authenticate('session'))
app.get('/login', passport.authenticate('openidconnect'))
app.get('/oauth2/redirect', passport.authenticate('openidconnect', { successRedirect: '/', failureMessage: true }))
app.get('/', (request, response) => {
  const user = request.user
  response.json(user ? { name: user.displayName, email: user.emails?.[0]?.value } : null)
})
app.listen(Number(port), host)
