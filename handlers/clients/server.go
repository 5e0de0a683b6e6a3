package clients

import "mandate/handlers/web"

// server is this area of the site.
type server struct{ *web.Site }
