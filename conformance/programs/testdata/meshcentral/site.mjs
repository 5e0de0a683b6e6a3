// MeshCentral with its strategy for OpenID Connect, as its documentation shows it with groups. A proxy would add TLS.
import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'

const { ADDRESS, ISSUER, CLIENT_ID, CLIENT_SECRET, FOLDER, PRINTED } = process.env
const [host, port] = ADDRESS.split(':')

writeFileSync(`${FOLDER}/config.json`, JSON.stringify({
  settings: {
    cert: host, port: Number(port), exactPorts: true, portBind: host, redirPort: 0, mpsPort: 0, tlsOffload: host, WANonly: true,
    selfUpdate: false, agentTimeStampServer: false,
  },
  domains: {
    '': {
      authStrategies: {
        oidc: {
          issuer: ISSUER,
          client: { client_id: CLIENT_ID, client_secret: CLIENT_SECRET, redirect_uri: `http://${ADDRESS}/auth-oidc-callback` },
          groups: { siteadmin: ['admins'], sync: true },
          newAccounts: true,
        },
      },
    },
  },
  ...JSON.parse(PRINTED ?? '{}'), // the settings of the provider as they are printed
}))
const server = spawn(process.execPath, ['node_modules/meshcentral', '--datapath', FOLDER, '--filespath', `${FOLDER}/files`], { stdio: 'inherit' })
server.on('exit', code => process.exit(code ?? 1))
process.on('SIGTERM', () => server.kill('SIGINT'))
