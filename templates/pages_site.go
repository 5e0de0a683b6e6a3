package templates

// Sites lists the sites that reverse proxies ask about. It is for administrators.
type Sites struct {
	Frame
	Rows   []SiteRow
	NewURL string
}

// SiteRow is one row of Sites.
type SiteRow struct {
	Name, URL, Hosts, PublicPaths string
	Suspended                     bool
}

// SiteForm adds or changes a site.
type SiteForm struct {
	Frame
	New                          bool
	Action, CancelURL, DeleteURL string
	ApplicationURL               string // the page of its application
	Version                      string // hidden field: the version of the application that the page shows
	// the site as somebody else changed it after the page was opened; usually empty
	NowURL                                         string
	NameField, Hosts, PublicPaths, Allowed, Denied Field
	Logins                                         []Option
	LoginError                                     string
	Assertion, Suspended                           bool
	Errors                                         []FieldError
	Proxies                                        []Snippet // the configuration of each proxy, for a site that exists
}
