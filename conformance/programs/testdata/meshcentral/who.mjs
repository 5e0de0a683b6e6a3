// Prints who has signed in, as the page of MeshCentral learns it: from its WebSocket.
import WebSocket from 'ws'

const socket = new WebSocket(`ws://${process.env.ADDRESS}/control.ashx`, { headers: { cookie: process.env.COOKIE } })
let user
socket.on('message', text => {
  const said = JSON.parse(text)
  switch (said.action) {
    case 'userinfo':
      user = said.userinfo
      socket.send(JSON.stringify({ action: 'usergroups' }))
      break
    case 'usergroups':
      console.log(JSON.stringify({
        name: user.name,
        email: user.email,
        groups: Object.values(said.ugroups ?? {}).filter(group => group.links[user._id]).map(group => group.name),
      }))
      process.exit()
    case 'close':
      throw new Error(text)
  }
})
