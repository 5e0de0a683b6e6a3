package presets

import "testing"

// A port that only the other scheme has by itself is part of the address. An empty query is a query.
func TestAddressKeepsThePortOfAnotherScheme(t *testing.T) {
	for raw, want := range map[string]string{
		"http://intranet.lan:443": "http://intranet.lan:443", "https://intranet.lan:80/": "https://intranet.lan:80",
		"https://intranet.lan:":  "https://intranet.lan",
		"https://intranet.lan/?": "",
	} {
		got, err := Address(raw)
		if got != want || (err != nil) != (want == "") {
			t.Errorf("%s gives %q, %v; want %q", raw, got, err, want)
		}
	}
}

// Each value that a registrant chooses could end the quotes of a setting, so each of them is checked.
func TestEachValueOfSettingsIsChecked(t *testing.T) {
	const bad = `a"b`
	for field, v := range map[string]Values{
		"client_id": {ClientID: bad}, "client_secret": {ClientSecret: bad}, "issuer": {Issuer: bad},
		"scope":                     {Scopes: []string{"openid", bad}},
		"redirect_uris":             {Redirects: []string{"https://a.example", bad}},
		"post_logout_redirect_uris": {PostLogout: []string{bad}},
	} {
		if got := v.Unquotable(); got != field {
			t.Errorf("%s: %q", field, got)
		}
		if text, err := (Program{Name: "grafana"}).Settings(v); err == nil {
			t.Errorf("%s is written:\n%s", field, text)
		}
	}
}
