package rules

import (
	"encoding/base64"
	"maps"
	"slices"
	"strings"

	"mandate/conformance/jose"
	"mandate/conformance/need"
	"mandate/conformance/target"
	"mandate/conformance/wire"
)

// oidcClaimTypes has the checks of the rules about claim types and stable subjects (OIDC Core §5.6, §5.7).
var oidcClaimTypes = checks{
	"OIDCCore/5.6/normal": oidcCoreNormal,
}

func oidcCoreNormal(t *T) {
	claims, direct := knownClaims(t), 0
	for name, value := range claims {
		if isAboutPerson(name) {
			direct++
		}
		object, _ := value.(map[string]any)
		for _, inner := range slices.Sorted(maps.Keys(object)) {
			if isAboutPerson(inner) && claims[inner] == nil && name != "address" && !strings.HasPrefix(name, "_") &&
				name != "verified_claims" {
				t.Errorf("%s is inside of the member %s", inner, name)
			}
		}
	}
	if direct == 0 {
		t.Skipf("UserInfo returns no standard claim but sub for the person of the target: give this person a value, such " +
			"as a name")
	}
}

// oidcRequestObjects has the checks of the rules about request objects and self-issued providers (OIDC Core §6, §7).
var oidcRequestObjects = checks{
	"OIDCCore/6.1/not-supported": func(t *T) {
		if provider(t).Is("request_parameter_supported") {
			t.Skipf("the rule applies to a server without request objects: the metadata of this one contains " +
				"request_parameter_supported: true")
		}
		c, mark := t.Client(need.Code), t.Random()
		t.Code(t.OpenID(c))
		r := t.Authorize(t.OpenID(c).Set("request", requestObject(t, c, mark)))
		if r.Params.Get("state") == mark || r.ErrorCode() == "invalid_request_object" {
			t.Skipf("the rule applies to a server without request objects: this one reads them, although its metadata does " +
				"not say so")
		}
		t.WantRedirectError(r, "request_not_supported")
	},
	"OIDCCore/6.2/not-supported": func(t *T) {
		// OIDC Discovery §3: the default is true.
		if provider(t)["request_uri_parameter_supported"] != false {
			t.Skipf("the rule applies to a server whose metadata contains request_uri_parameter_supported: false; without " +
				"this member the server supports request_uri by default")
		}
		t.Code(t.OpenID(t.Client(need.Code)))
		r := t.OpenID(t.Client(need.Code)).Set("request_uri", "https://client.example/request.jwt")
		t.WantRedirectError(t.Authorize(r), "request_uri_not_supported")
	},
	"OIDCCore/7.4/sub-jwk": func(t *T) {
		if _, there := t.SignIn(t.Client(need.Code)).Claims["sub_jwk"]; there {
			t.Failf("the ID token has sub_jwk")
		}
	},
}

// requestObject returns an unsigned request object of a client, with a state.
func requestObject(t *T, c *target.Client, state string) string {
	return jose.Unsigned("." +
		jose.Encoded(map[string]any{"iss": c.ID, "aud": t.Issuer(), "response_type": "code", "client_id": c.ID,
			"redirect_uri": c.RedirectURI(), "scope": "openid", "state": state}) + ".")[0]
}

// oidcSubjects has the checks of the rules about subject identifiers (OIDC Core §8).
var oidcSubjects = checks{
	"OIDCCore/8/types-listed": func(t *T) {
		m := provider(t)
		if len(m) == 0 {
			t.Skipf("the rule applies to a server that publishes metadata")
		}
		if !m.Lists("subject_types_supported", "public") && !m.Lists("subject_types_supported", "pairwise") {
			t.Failf("subject_types_supported lists neither public nor pairwise: it is %s", Quoted(m["subject_types_supported"]))
		}
	},
	"OIDCCore/8/public-same": func(t *T) {
		one, other := t.Subject(t.SignIn(t.Client(need.Code))), t.Subject(t.SignIn(t.Client(need.Second)))
		if one == other {
			return
		}
		if provider(t).Lists("subject_types_supported", "pairwise") {
			t.Skipf("the rule needs clients code and second with public subjects: their sub differs, and the server supports " +
				"pairwise subjects")
		}
		t.Failf("the clients code and second get different subs of the same person, and the server does not list pairwise " +
			"subjects")
	},
	"OIDCCore/8/pairwise-differs": func(t *T) {
		wantSectors(t, need.Code, need.Pairwise)
		public, own := t.Subject(t.SignIn(t.Client(need.Code))), t.Subject(t.SignIn(t.Client(need.Pairwise)))
		if own == public {
			t.Failf("the clients code and pairwise get the same sub of the same person")
		}
	},
	"OIDCCore/8.1/sectors-differ": func(t *T) {
		wantSectors(t, need.Pairwise, need.Elsewhere)
		one, other := t.Subject(t.SignIn(t.Client(need.Pairwise))), t.Subject(t.SignIn(t.Client(need.Elsewhere)))
		if one == other {
			t.Failf("the clients pairwise and elsewhere, whose redirect URIs have different hosts, get the same sub of the " +
				"same person")
		}
	},
	"OIDCCore/8.1/deterministic": func(t *T) {
		c := t.Client(need.Pairwise)
		one := t.Subject(t.IDToken(t.GrantIn(t.NewBrowser(), t.OpenID(c))))
		if other := t.Subject(t.IDToken(t.GrantIn(t.NewBrowser(), t.OpenID(c)))); one != other {
			t.Failf("the same person has one sub at the first login and another at the second")
		}
	},
	"OIDCCore/8.1/not-reversible": oidcCoreNotReversible,
	"OIDCCore/8.1/same-at-userinfo": func(t *T) {
		tokens := t.GrantFor(t.OpenID(t.Client(need.Pairwise)))
		if sub := t.UserClaims(tokens.Access)["sub"]; sub != any(t.Subject(t.IDToken(tokens))) {
			t.Failf("sub of UserInfo is not that of the ID token")
		}
	},
}

func oidcCoreNotReversible(t *T) {
	sub := t.Subject(t.SignIn(t.Client(need.Pairwise)))
	public := t.Subject(t.SignIn(t.Client(need.Code)))
	if sub == public {
		t.Blockedf("the clients code and pairwise get the same sub (OIDCCore/8/pairwise-differs)")
	}
	readings := []string{sub}
	for _, encoding := range []*base64.Encoding{base64.RawURLEncoding, base64.StdEncoding, base64.RawStdEncoding} {
		raw, err := encoding.DecodeString(sub)
		if err == nil {
			readings = append(readings, string(raw))
		}
	}
	for _, reading := range readings {
		for _, secret := range []string{public, t.User().Username} {
			if discloses(strings.ToLower(reading), strings.ToLower(secret)) {
				t.Failf("the pairwise subject %q contains %q", sub, secret)
			}
		}
	}
}

// isAboutPerson reports whether a claim is a standard one about a person (OIDC Core §5.1).
func isAboutPerson(name string) bool {
	at := slices.Index(registeredClaims, "updated_at")
	return name != "sub" && slices.Contains(registeredClaims[:at+1], name)
}

// wantSectors skips the check if the redirect URIs of two clients have the same host, so that their pairwise subjects
// may be equal (OIDC Core §8.1).
func wantSectors(t *T, one, other Need) {
	if wire.ParseURL(t.Client(one).RedirectURI()).Hostname() == wire.ParseURL(t.Client(other).RedirectURI()).Hostname() {
		t.Skipf("the redirect URIs of the clients %s and %s have the same host: register them with different hosts",
			one, other)
	}
	// OIDC Discovery §3: a server that does not list the type may have registered the client with it all the same.
	registered := t.Client(other).Registration
	if types, listed := t.Metadata().List("subject_types_supported"); listed && !slices.Contains(types, "pairwise") &&
		(registered == nil || registered.Text("subject_type") != "pairwise") {
		t.Skipf("subject_types_supported is %q, and no answer of the server says that the client %s has pairwise subjects",
			types, other)
	}
}

// discloses reports whether a text contains a name. A short name can be in any text by chance, so that it has to stand
// between other characters than letters and digits.
func discloses(text, name string) bool {
	if len(name) >= 6 {
		return strings.Contains(text, name)
	}
	words := strings.FieldsFunc(text, func(r rune) bool { return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9') })
	return text == name || slices.Contains(words, name)
}
