// Websites with the lines that Mandate prints for three libraries.
import { ExpressAuth, getSession } from '@auth/express'
import express from 'express'
import { auth } from 'express-openid-connect'
import session from 'express-session'
import passport from 'passport'
import OpenIDConnectStrategy from 'passport-openidconnect'

const { ADDRESS, PROGRAM, PRINTED } = process.env
const [host, port] = ADDRESS.split(':')
const app = express()
app.set('trust proxy', true)

const libraries = {
  authjs() {
    const mandate = new Function('app', 'ExpressAuth', PRINTED + '\nreturn mandate')(app, ExpressAuth)
    return async request => (await getSession(request, { providers: [mandate], secret: process.env.AUTH_SECRET, trustHost: true }))?.user
  },
  'express-openid-connect'() {
    new Function('app', 'auth', PRINTED)(app, auth)
    return request => request.oidc.user
  },
  'passport-openidconnect'() {
    new Function('passport', 'OpenIDConnectStrategy', PRINTED)(passport, OpenIDConnectStrategy)
    passport.serializeUser((user, done) => done(null, user))
    passport.deserializeUser((user, done) => done(null, user))
    app.use(session({ secret: 'a secret of this website', resave: false, saveUninitialized: false }))
    app.use(passport.authenticate('session'))
    app.get('/login', passport.authenticate('openidconnect'))
    app.get('/auth/callback', passport.authenticate('openidconnect', { successRedirect: '/', failureMessage: true }))
    return ({ user }) => user && { name: user.displayName, email: user.emails?.[0]?.value }
  },
}
const who = libraries[PROGRAM]()
app.get('/', async (request, response) => { response.json(await who(request) ?? null) })
app.listen(Number(port), host)
