package handlers

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/gorilla/mux"

	"mandate/handlers/resource"
	"mandate/handlers/web"
	"mandate/provider/events"
	"mandate/templates"
)

// eventsOf has, for each route that accepts a form, the kinds of events that it stores. Those of a failure are
// not among them.
var eventsOf = map[string]string{
	"/o/register/":      "application.added",
	"/o/register/{id}/": "application.changed application.deleted",
	"/login/":           "sign-in",
	"/o/logout/":        "sign-out",

	"/login/factor/":                     "sign-in session.strengthened recovery-code.used factor.added",
	"/login/passkey/":                    "sign-in",
	"/logout/":                           "sign-out",
	"/password/forgot/":                  "password.link", // once a node has answered
	"/password/reset/{link}/":            "password.reset",
	"/setup/{link}/":                     "person.added person.promoted",
	"/sign-up/{link}/":                   "person.added sign-in",
	"/sign-up/{link}/passkey/":           "person.added factor.added sign-in",
	"/admin/invitations/new/":            "invitation.added",
	"/admin/invitations/list/":           "invitation.added",
	"/admin/invitations/{id}/renew/":     "invitation.renewed",
	"/admin/invitations/{id}/withdraw/":  "invitation.withdrawn",
	"/o/consent/":                        "consent.given consent.denied",
	"/device/answer/":                    "device.approved device.denied",
	"/account/profile/":                  "person.changed",
	"/account/email/":                    "address.link",
	"/account/email/{link}/":             "person.changed",
	"/account/email/back/{link}/":        "person.changed sessions.ended",
	"/account/password/":                 "password.changed",
	"/account/factors/totp/":             "factor.added",
	"/account/factors/totp/remove/":      "factor.removed",
	"/account/factors/codes/":            "recovery-codes.made",
	"/account/passkeys/new/":             "factor.added",
	"/account/passkeys/{id}/":            "factor.renamed",
	"/account/passkeys/{id}/remove/":     "factor.removed",
	"/account/address/":                  "address.link",
	"/account/address/{link}/":           "address.verified",
	"/account/identities/{id}/remove/":   "factor.removed",
	"/account/sessions/end/":             "sessions.ended",
	"/account/sessions/{id}/end/":        "session.ended",
	"/account/applications/{id}/revoke/": "consent.revoked",
	"/o/applications/register/":          "application.added",
	"/o/applications/programs/":          "application.added",
	"/o/applications/{id}/update/":       "application.changed",
	"/o/applications/{id}/owner/":        "application.assigned",
	"/o/applications/{id}/rotate/":       "secret.rotated",
	"/o/applications/{id}/test-key/":     "application.changed",
	"/o/applications/{id}/revoke/":       "application.revoked",
	"/o/applications/{id}/delete/":       "application.deleted",
	"/admin/users/new/":                  "person.added person.promoted auditor.added",
	"/admin/users/{id}/": "person.changed person.promoted person.demoted person.enabled " +
		"person.disabled password.reset delegate.added delegate.removed auditor.added auditor.removed",
	"/admin/users/{id}/sessions/end/":             "sessions.ended",
	"/admin/users/{id}/sessions/{session}/end/":   "session.ended",
	"/admin/users/{id}/factors/":                  "factors.reset",
	"/admin/users/{id}/passkeys/{of}/remove/":     "factor.removed",
	"/admin/users/{id}/identities/{of}/remove/":   "factor.removed",
	"/admin/users/{id}/applications/{of}/revoke/": "consent.revoked",
	"/admin/users/{id}/membership/":               "person.changed",
	"/admin/users/{id}/reset-link/":               "password.link",
	"/admin/users/{id}/delete/":                   "person.deleted application.deleted application.assigned",
	"/members/{name}/invite/":                     "invitation.added",
	"/members/{name}/people/{id}/remove/":         "person.changed",
	"/members/{name}/people/{id}/disable/":        "person.disabled",
	"/members/{name}/people/{id}/enable/":         "person.enabled",
	"/members/{name}/people/{id}/factors/":        "factors.reset",
	"/members/{name}/people/{id}/link/":           "password.link",
	"/admin/groups/":                              "group.added",
	"/admin/groups/{name}/delete/":                "group.deleted",
	"/admin/resources/new/":                       "resource.added",
	"/admin/resources/change/":                    "resource.changed",
	"/admin/resources/delete/":                    "resource.deleted",
	"/admin/sites/new/":                           "application.added",
	"/admin/sites/{id}/":                          "application.changed",
	"/admin/sites/{id}/delete/":                   "application.deleted",
	"/admin/registration-tokens/":                 "registration-token.added",
	"/admin/registration-tokens/{id}/delete/":     "registration-token.deleted",
	"/admin/events/export/":                       "events.exported",
	"/users/":                                     "person.added",
}

// storesNone has the routes that accept a form and store no event, with the reason.
var storesNone = map[string]string{
	"/o/token/": "too many; only the reuse of a refresh token or code is an event, and a wrong " +
		"password",
	"/o/revoke_token/":                "too many: an application revokes its own token",
	"/o/revoke/":                      "the same",
	"/o/device_authorization/":        "the decision of the person is the event",
	"/o/device-authorization/":        "the same",
	"/o/par/":                         "the same",
	"/o/introspect/":                  "it changes nothing",
	"/o/userinfo/":                    "it changes nothing",
	"/o/authorize/":                   "the decision of the person is the event",
	"/login/with/{name}/":             "it leads to the other server; the sign-in is the event",
	"/device/":                        "it finds a request",
	"/sign-up/":                       "a stranger asks for a link; the account is the event",
	"/.mandate/sign-out/":             "the session of the person stays; its end is the event",
	"/account/identities/new/{name}/": "it leads to the other server; the way back is the event",
}

// Whoever adds a route that accepts a form says here which events it stores.
func TestEveryFormHasItsEvent(t *testing.T) {
	pages, err := templates.New("", templates.Brand{})
	if err != nil {
		t.Fatal(err)
	}
	guard, err := resource.NewGuard(resource.GuardConfig{Verifier: verifier{}, Audience: "https://id.example.com"})
	if err != nil {
		t.Fatal(err)
	}
	s, err := web.New(Config{
		BaseURL:      &url.URL{Scheme: "https", Host: "id.example.com"},
		SampleAPI:    guard,
		Registration: true,
		OpenID:       true,
		RPLogout:     true,
	}, nil, pages)
	if err != nil {
		t.Fatal(err)
	}
	routes := routes(s).(*router)
	paths := slices.Collect(maps.Keys(routes.fixed))
	err = routes.Walk(func(route *mux.Route, _ *mux.Router, _ []*mux.Route) error {
		path, err := route.GetPathTemplate()
		paths = append(paths, path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for _, path := range paths {
		if !strings.HasSuffix(path, "/") {
			continue // the same without its slash
		}
		// No route supports this method, so each names those that it supports.
		r := httptest.NewRequest("BREW", strings.NewReplacer("{", "", "}", "").Replace(path), nil)
		w := httptest.NewRecorder()
		routes.ServeHTTP(w, r)
		allowed := w.Header().Get("Allow")
		if path == "/users/" { // the guard comes first
			allowed = http.MethodPost
		}
		if !strings.Contains(allowed, http.MethodPost) && !strings.Contains(allowed, http.MethodPut) {
			continue
		}
		listed[path] = true
		if (eventsOf[path] == "") == (storesNone[path] == "") {
			t.Errorf("%s is in none or in both of eventsOf and storesNone", path)
		}
		for kind := range strings.FieldsSeq(eventsOf[path]) {
			if !events.Known(kind) {
				t.Errorf("%s: there is no kind %s", path, kind)
			}
		}
	}
	for _, table := range []map[string]string{eventsOf, storesNone} {
		for path := range table {
			if !listed[path] {
				t.Errorf("%s is no route that accepts a form", path)
			}
		}
	}
}
