package account

import (
	"mandate/handlers/person"
	"mandate/handlers/web"
)

// server is this area of the site.
type server struct {
	*web.Site
	person.Shown
}
