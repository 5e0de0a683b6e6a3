package handlers

import (
	"net/url"
	"regexp"
	"strings"
	"testing"

	"mandate/provider/clients"
	"mandate/provider/events"
	"mandate/provider/policy"
)

// The page of an application shows the last refusals, each with what to change, and the owner sees them too. Each
// remedy leads to a field that the form has.
func TestRefusedRequestsOfAnApplication(t *testing.T) {
	s := newSite(t, "/auth")
	app, err := s.provider.Clients.Register(t.Context(), policy.Operator(), clients.Registration{
		Name:         "Shop",
		Owner:        "alice",
		ClientType:   policy.Confidential,
		GrantTypes:   []string{policy.GrantCode},
		RedirectURIs: []string{"https://shop.example/back"},
		PKCE:         policy.PKCERequired,
	})
	if err != nil {
		t.Fatal(err)
	}
	page := "/o/applications/" + app.Application.ID + "/"
	root, alice := s.as(t, "root"), s.as(t, "alice")
	root.get(t, page).wants(t, 200, "No request was refused in the last seven days.")
	for range 2 {
		alice.get(t, "/o/authorize/?"+url.Values{
			"client_id":     {app.Application.ClientID},
			"response_type": {"code"},
			"redirect_uri":  {"https://shop.example/back"},
		}.Encode()).wants(t, 303)
	}
	s.visitor(t).post(
		t, "/o/token/", "client_id", app.Application.ClientID, "client_secret", "<b>wrong", "grant_type",
		"authorization_code",
	).wants(t, 401)
	for name, v := range map[string]*visitor{"root": root, "alice": alice} {
		got := v.get(t, page)
		got.wants(
			t, 200, "Authorization request: <code>invalid_request</code>", "code_challenge is missing", "2 times, last ",
			"Turn on PKCE", "or the secret is wrong", "Sender unknown", `href="/auth`+page+`rotate/"`,
		)
		// alice cannot let an application come without PKCE.
		if link := `href="/auth` + page + "update/#pkce"; strings.Contains(got.body, link) != (name == "root") {
			t.Errorf("%s: the page leads to a field that the form does not have, or to none", name)
		}
		if strings.Contains(got.body, "/admin/events/?") != (name == "root") {
			t.Errorf("%s: the page leads to the event log, or does not", name)
		}
	}
	form := root.get(t, page+"update/").body
	for _, field := range clients.RemedyFields() {
		// Only an application with a certificate has its certificate refused, and only then the form has the field.
		if field != "certificate_subject" && !regexp.MustCompile(`id="`+field+`"`).MatchString(form) {
			t.Errorf("the form has no field %q", field)
		}
	}
}

// Whoever has an account, perhaps one of their own making, can send requests with the client ID of anybody's
// application. They are no acts of the application, in whose name the event log would accuse it (CWE-345, CWE-779).
func TestAttackRefusedRequestInTheNameOfAnApplication(t *testing.T) {
	s := newSite(t, "")
	app, err := s.provider.Clients.Register(t.Context(), policy.Operator(), clients.Registration{
		Name:         "Shop",
		ClientType:   policy.Confidential,
		GrantTypes:   []string{policy.GrantCode},
		RedirectURIs: []string{"https://shop.example/back"},
		PKCE:         policy.PKCERequired,
	})
	if err != nil {
		t.Fatal(err)
	}
	alice := s.as(t, "alice")
	query := "/o/authorize/?" + url.Values{
		"client_id":     {app.Application.ClientID},
		"response_type": {"code"},
		"redirect_uri":  {"https://shop.example/back"},
	}.Encode()
	alice.get(t, query).wants(t, 303)
	s.as(
		t,
		"root",
	).get(
		t,
		"/o/applications/"+app.Application.ID+"/",
	).wants(
		t,
		200,
		"code_challenge is missing",
		`<span class="tag">From a browser</span>`,
	)
	found, err := s.provider.Events.List(
		t.Context(),
		policy.Operator(),
		events.Filter{Kind: string(events.RequestRefused)},
		10,
	)
	if err != nil || len(found) != 1 {
		t.Fatalf("%d events, %v", len(found), err)
	}
	if found[0].ActorKind != "nobody" || found[0].ActorID != "" || found[0].ObjectID != app.Application.ClientID {
		t.Errorf("the event is %+v", found[0])
	}
}

// A person who sees an error page learns whom to tell. The name of an application for which nobody is responsible is
// that of a stranger, and a page that a person has only mistyped needs nobody.
func TestErrorPagesSayWhomToTell(t *testing.T) {
	s := newSite(t, "")
	app, err := s.provider.Clients.Register(t.Context(), policy.Operator(), clients.Registration{
		Name:         "Shop <b>",
		ClientType:   policy.Public,
		GrantTypes:   []string{policy.GrantCode},
		RedirectURIs: []string{"https://shop.example/back", "https://shop.example/other"},
	})
	if err != nil {
		t.Fatal(err)
	}
	v, query := s.visitor(t), "/o/authorize/?response_type=code&client_id="+url.QueryEscape(app.Application.ClientID)
	named := "Tell the people who run <strong><bdi>Shop &lt;b&gt;</bdi></strong>, or the operator of this server."
	v.get(t, query+"&redirect_uri=https://evil.example/").wants(t, 400, named)
	v.get(t, query).wants(t, 400, named)
	v.get(t, "/o/authorize/?client_id=").wants(t, 400, "Tell the operator of this server.")
	if got := v.get(t, "/nothing/"); strings.Contains(got.body, "Tell the") {
		t.Errorf("a mistyped address: %s", got.body)
	}
	german := v.request(t, get, query, "")
	german.Header.Set("Accept-Language", "de")
	v.do(t, german).wants(t, 400, "Betreiber von <strong><bdi>Shop")
}

// Whoever set up a program reads which client ID it sends, and a person reads whom to tell. The text is that of
// whoever wrote the link: it must not look like words of this server (class: content spoofing, CWE-451; a page of a
// login that repeats "call us at ..." of a link).
func TestAttackUnknownClientIDIsShownAsSent(t *testing.T) {
	s := newSite(t, "")
	v := s.visitor(t)
	shown := func(sent string) answer {
		t.Helper()
		got := v.get(t, "/o/authorize/?response_type=code&client_id="+url.QueryEscape(sent))
		got.wants(t, 400, "Client ID that the program sent", "Tell the people who run the program that sent you here")
		return got
	}
	for sent, want := range map[string]string{
		"grafana-2":                     "grafana-2",
		"https://app.example/client":    "https://app.example/client",
		" grafana":                      "%20grafana",
		"Call us: 0800":                 "Call%20us:%200800",
		`<b>"&'`:                        "%3Cb%3E%22%26%27",
		"ga\u202emo\u0456":              "ga%E2%80%AEmo%D1%96",
		strings.Repeat("a", 64):         strings.Repeat("a", 64),
		strings.Repeat("b", 65):         strings.Repeat("b", 64) + "…",
		strings.Repeat("é", 60) + "end": strings.Repeat("%C3%A9", 32) + "…",
	} {
		got := shown(sent)
		if want = `<code dir="ltr">` + want + "</code>"; strings.Count(got.body, want) != 1 {
			t.Errorf("%q: no %s in\n%s", sent, want, got.body)
		}
		if strings.ContainsAny(sent, " <\u202e") && strings.Contains(got.body, sent) {
			t.Errorf("%q stands on the page as it is", sent)
		}
	}
	german := v.request(t, get, "/o/authorize/?client_id=unknown", "")
	german.Header.Set("Accept-Language", "de")
	v.do(
		t,
		german,
	).wants(
		t,
		400,
		`<code dir="ltr">unknown</code>`,
		"Betreiber",
		`lang="en">No application with this client_id`,
	)
}
