// Node-RED with a strategy of Passport, as its documentation shows it under "OAuth/OpenID based authentication".
const { ADDRESS, ISSUER, CLIENT_ID, CLIENT_SECRET, FOLDER } = process.env
const [host, port] = ADDRESS.split(':')

module.exports = {
  uiHost: host,
  uiPort: Number(port),
  userDir: FOLDER,
  adminAuth: {
    type: 'strategy',
    strategy: {
      name: 'openidconnect',
      label: 'Sign in with Mandate',
      icon: 'fa-key',
      strategy: require('passport-openidconnect').Strategy,
      options: {
        issuer: ISSUER,
        authorizationURL: ISSUER + '/authorize/',
        tokenURL: ISSUER + '/token/',
        userInfoURL: ISSUER + '/userinfo/',
        clientID: CLIENT_ID,
        clientSecret: CLIENT_SECRET,
        callbackURL: `http://${ADDRESS}/auth/strategy/callback`,
        scope: ['profile', 'email'],
        verify: (issuer, profile, done) => done(null, profile),
      },
    },
    users: [{ username: 'alice', permissions: ['*'] }],
  },
}
