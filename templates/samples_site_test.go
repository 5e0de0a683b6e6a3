package templates

import "strings"

func siteSamples() []sample {
	options := []Option{{hostile, hostile, hostile, true}}
	proxies := []Snippet{{"proxy-nginx", "nginx", "server {\n  listen 443 ssl;\n}"}, {"proxy-caddy", "Caddy", "wiki {\n}"}}
	form := SiteForm{Frame: admin, New: true, Action: "/admin/sites/new/", CancelURL: "/admin/sites/",
		Logins: []Option{{"", "Any", "The password suffices.", true}, {"phr", "A login that resists phishing", "", false}}}
	change := form
	change.New, change.Action, change.DeleteURL, change.Version = false, "/admin/sites/a/", "/admin/sites/a/delete/", "3"
	change.NameField.Value = long
	change.Hosts.Value = strings.Repeat("subdomain.", 20) + "example.org\nwiki:8443"
	change.ApplicationURL, change.Proxies, change.Suspended, change.Assertion = "/o/applications/a/", proxies, true, true
	wrong := form
	wrong.Hosts, wrong.PublicPaths = Field{"https://x", "Write it without https://."}, Field{"/", "Not the whole site."}
	wrong.Errors = []FieldError{{ID: "hosts", Message: wrong.Hosts.Error}, {ID: "public_paths",
		Message: wrong.PublicPaths.Error}}
	meanwhile := change
	meanwhile.NowURL, meanwhile.Errors = "/admin/sites/a/", []FieldError{{ID: "", Message: "Somebody changed it."}}
	return []sample{
		{"sites", Sites{Frame: admin, NewURL: "/n", Rows: []SiteRow{
			{"Wiki", "/admin/sites/a/", "wiki.example.org", "", false},
			{long, "/admin/sites/b/", strings.Repeat("host.example.org ", 30), "/static/ /health", true},
		}}},
		{"sites-empty", Sites{Frame: admin, NewURL: "/n"}},
		{"sites-hostile", Sites{nasty, []SiteRow{{hostile, "/s", hostile, hostile, true}}, "/n"}},
		{"site-form", form},
		{"site-form-change", change},
		{"site-form-wrong", wrong},
		{"site-form-meanwhile", meanwhile},
		{"site-form-hostile", SiteForm{nasty, false, "/a", "/c", "/d", "/o", hostile, "/now", badText, badText, badText,
			badText, badText, options, hostile, true, true, []FieldError{{ID: "hosts", Message: hostile}},
			[]Snippet{{"proxy-x", hostile, hostile}}}},
	}
}
