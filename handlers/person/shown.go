package person

import "mandate/handlers/web"

// Shown is an account on a page.
type Shown struct{ *web.Site }
