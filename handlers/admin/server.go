package admin

import (
	"mandate/handlers/person"
	"mandate/handlers/web"
)

// accounts are the pages about people.
type accounts struct {
	*web.Site
	person.Shown
}

// server is this area of the site.
type server struct {
	accounts

	checked *lastCheck
}
