package signin

import "mandate/handlers/web"

// flows answers applications that send a person: authorization, consent, devices, logout.
type flows struct{ *web.Site }

// server is this area of the site.
type server struct{ flows }
