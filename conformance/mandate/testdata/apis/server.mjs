// An API on Express with its default settings: node server.mjs PORT. It answers with the path, the query, the method and
// the content that it has read. Node closes an idle connection after five seconds.
import express from 'express'

const app = express()
app.set('query parser', 'simple')
app.use(express.text({ type: () => true }))
const answer = (path, request, response) =>
  response.json({
    path,
    query: request.url.split('?').slice(1).join('?'),
    method: request.method,
    content: request.body ?? '',
  })
// The router decides, not the text of the path.
app.use('/admin', (request, response) => answer('/admin', request, response))
app.use((request, response) => answer(request.path, request, response))
app.listen(Number(process.argv[2]), '127.0.0.1')
