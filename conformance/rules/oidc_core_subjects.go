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

// oidcClaimTypes returns the rules about claim types and stable subjects (OIDC Core §5.6, §5.7).
func oidcClaimTypes() []Rule {
	const normalOnly = "Mandate has normal claims only."
	return []Rule{
		{
			ID: "OIDCCore/5.6/normal", Level: Must,
			Text:  "Claims that the server itself asserts are members of the JSON object.",
			Needs: userInfoNeeds(),
			Check: func(t *T) {
				claims, direct := knownClaims(t), 0
				for name, value := range claims {
					if isAboutPerson(name) {
						direct++
					}
					object, _ := value.(map[string]any)
					for _, inner := range slices.Sorted(maps.Keys(object)) {
						if isAboutPerson(inner) && claims[inner] == nil && name != "address" && !strings.HasPrefix(name, "_") && name != "verified_claims" {
							t.Errorf("%s is inside of the member %s", inner, name)
						}
					}
				}
				if direct == 0 {
					t.Skipf("UserInfo returns no standard claim but sub for the person of the target: give this person a value, such as a name")
				}
			},
		},
		{
			ID: "OIDCCore/5.6/others", Level: May, Inapplicable: normalOnly,
			Text: "The server supports aggregated and distributed claims.",
		},
		{
			ID: "OIDCCore/5.6.2/aggregated", Level: Must, Inapplicable: normalOnly,
			Text: "The JWT of aggregated claims contains all of them.",
		},
		{
			ID: "OIDCCore/5.6.2/aggregated-without-sub", Level: Should, Inapplicable: normalOnly,
			Text: "The JWT of aggregated claims has no sub, except one of its issuer.",
		},
		{
			ID: "OIDCCore/5.6.2/distributed", Level: Must, Inapplicable: normalOnly,
			Text: "The endpoint of distributed claims returns them as a JWT.",
		},
		{
			ID: "OIDCCore/5.6.2/header-taken", Level: Must, Inapplicable: normalOnly,
			Text: "The endpoint of distributed claims accepts the access token in the header.",
		},
		{
			ID: "OIDCCore/5.6.2/distributed-without-sub", Level: Should, Inapplicable: normalOnly,
			Text: "The JWT of distributed claims has no sub, except one of its issuer.",
		},
		{
			ID: "OIDCCore/5.6.2/iss", Level: Should, Inapplicable: normalOnly,
			Text: "The JWT of a claims provider has iss.",
		},
		{
			ID: "OIDCCore/5.7/never-reassigned", Level: Must,
			Text:     "The sub of a person is never assigned to another person.",
			TestedBy: "provider/user_test.go:TestSubjectIsNeverGivenAgain",
		},
	}
}

// oidcRequestObjects returns the rules about request objects and self-issued providers (OIDC Core §6, §7).
func oidcRequestObjects() []Rule {
	return []Rule{
		{
			ID: "OIDCCore/6.1/not-supported", Level: Must,
			Text:  "A server that does not support request objects answers request with request_not_supported.",
			Needs: authenticationNeeds(),
			Check: func(t *T) {
				if provider(t).Is("request_parameter_supported") {
					t.Skipf("the rule applies to a server without request objects: the metadata of this one contains request_parameter_supported: true")
				}
				c, mark := t.Client(need.Code), t.Random()
				t.Code(t.OpenID(c))
				r := t.Authorize(t.OpenID(c).Set("request", requestObject(t, c, mark)))
				if r.Params.Get("state") == mark || r.ErrorCode() == "invalid_request_object" {
					t.Skipf("the rule applies to a server without request objects: this one reads them, although its metadata does not say so")
				}
				t.WantRedirectError(r, "request_not_supported")
			},
		},
		{
			ID: "OIDCCore/6.1/supersedes", Level: Must, TestedBy: objectTest,
			Text: "The values in a request object override the parameters beside it.",
		},
		{
			ID: "OIDCCore/6.1/parameters-match", Level: Must, TestedBy: objectTest,
			Text: "response_type and client_id are also parameters beside a request object, with the same values.",
		},
		{
			ID: "OIDCCore/6.1/scope-outside", Level: Must, TestedBy: objectTest,
			Text: "The scope openid is also in the parameters beside a request object.",
		},
		{
			ID: "OIDCCore/6.2/not-supported", Level: Must,
			Text:  "A server that does not support request_uri answers it with request_uri_not_supported.",
			Needs: authenticationNeeds(),
			Check: func(t *T) {
				// OIDC Discovery §3: the default is true.
				if provider(t)["request_uri_parameter_supported"] != false {
					t.Skipf("the rule applies to a server whose metadata contains request_uri_parameter_supported: false; without this member the server supports request_uri by default")
				}
				t.Code(t.OpenID(t.Client(need.Code)))
				r := t.OpenID(t.Client(need.Code)).Set("request_uri", "https://client.example/request.jwt")
				t.WantRedirectError(t.Authorize(r), "request_uri_not_supported")
			},
		},
		{
			ID: "OIDCCore/6.2/https", Level: Must, TestedBy: "conformance/mandate/request_uri_test.go:TestAttackRequestURI",
			Text: "A request_uri uses https, unless its content is signed.",
		},
		{
			ID: "OIDCCore/6.2.3/fetched", Level: Must, TestedBy: "conformance/mandate/request_uri_test.go:TestRequestObjectsByReference",
			Text: "The server fetches the content of request_uri by GET.",
		},
		{
			ID: "OIDCCore/6.3.1/decrypted", Level: Must, Inapplicable: "Mandate does not encrypt and decrypt.",
			Text: "The server decrypts an encrypted request object, and returns an error if that fails.",
		},
		{
			ID: "OIDCCore/6.3.2/signature", Level: Must, TestedBy: "conformance/mandate/attack_object_test.go:TestAttackForgedRequestObject",
			Text: "The server verifies the signature of a request object with the client's key and algorithm, and returns an error if that fails.",
		},
		{
			ID: "OIDCCore/6.3.3/assembled", Level: Must, Inapplicable: "RFC 9101 §6.3 forbids this: only the parameters in the object count.",
			Text: "The request consists of the object and the parameters together, and is validated like any other.",
		},
		{
			ID: "OIDCCore/7/self-issued", Level: Must,
			Text:         "A self-issued provider meets the requirements for such providers.",
			Inapplicable: "Mandate is a server and no self-issued provider.",
		},
		{
			ID: "OIDCCore/7.4/sub-jwk", Level: Should,
			Text:  "An ID token that is not self-issued has no sub_jwk.",
			Needs: loginNeeds(),
			Check: func(t *T) {
				if _, there := t.SignIn(t.Client(need.Code)).Claims["sub_jwk"]; there {
					t.Failf("the ID token has sub_jwk")
				}
			},
		},
	}
}

// requestObject returns an unsigned request object of a client, with a state.
func requestObject(t *T, c *target.Client, state string) string {
	return jose.Unsigned("." + jose.Encoded(map[string]any{"iss": c.ID, "aud": t.Issuer(), "response_type": "code", "client_id": c.ID,
		"redirect_uri": c.RedirectURI(), "scope": "openid", "state": state}) + ".")[0]
}

// oidcSubjects returns the rules about subject identifiers (OIDC Core §8).
func oidcSubjects() []Rule {
	pairwise := []Need{need.Authorization, need.Token, need.Pairwise, need.User, need.OpenID}
	return []Rule{
		{
			ID: "OIDCCore/8/types-listed", Level: Must,
			Text:  "The metadata lists the subject types in subject_types_supported.",
			Needs: []Need{need.OpenID},
			Check: func(t *T) {
				m := provider(t)
				if len(m) == 0 {
					t.Skipf("the rule applies to a server that publishes metadata")
				}
				if !m.Lists("subject_types_supported", "public") && !m.Lists("subject_types_supported", "pairwise") {
					t.Failf("subject_types_supported lists neither public nor pairwise: it is %s", Quoted(m["subject_types_supported"]))
				}
			},
		},
		{
			ID: "OIDCCore/8/public-same", Level: Should,
			Text:  "Clients with public subjects get the same sub of a person.",
			Needs: loginNeeds(need.Second),
			Check: func(t *T) {
				one, other := t.Subject(t.SignIn(t.Client(need.Code))), t.Subject(t.SignIn(t.Client(need.Second)))
				if one == other {
					return
				}
				if provider(t).Lists("subject_types_supported", "pairwise") {
					t.Skipf("the rule needs clients code and second with public subjects: their sub differs, and the server supports pairwise subjects")
				}
				t.Failf("the clients code and second get different subs of the same person, and the server does not list pairwise subjects")
			},
		},
		{
			ID: "OIDCCore/8/pairwise-differs", Level: Must,
			Text:  "A client with pairwise subjects gets another sub than the public one.",
			Needs: append(loginNeeds(), need.Pairwise),
			Check: func(t *T) {
				wantSectors(t, need.Code, need.Pairwise)
				public, own := t.Subject(t.SignIn(t.Client(need.Code))), t.Subject(t.SignIn(t.Client(need.Pairwise)))
				if own == public {
					t.Failf("the clients code and pairwise get the same sub of the same person")
				}
			},
		},
		{
			ID: "OIDCCore/8.1/sectors-differ", Level: Must,
			Text:  "The pairwise subjects of two sectors differ.",
			Needs: append(slices.Clone(pairwise), need.Elsewhere),
			Check: func(t *T) {
				wantSectors(t, need.Pairwise, need.Elsewhere)
				one, other := t.Subject(t.SignIn(t.Client(need.Pairwise))), t.Subject(t.SignIn(t.Client(need.Elsewhere)))
				if one == other {
					t.Failf("the clients pairwise and elsewhere, whose redirect URIs have different hosts, get the same sub of the same person")
				}
			},
		},
		{
			ID: "OIDCCore/8.1/host-is-sector", Level: Must,
			Text:     "The sector is the host of the redirect URI: clients at one host get the same sub.",
			TestedBy: "conformance/mandate/openid_token_test.go:TestOIDCCore8Subjects",
		},
		{
			ID: "OIDCCore/8.1/several-hosts", Level: Must,
			Text:     "A client whose redirect URIs have several hosts cannot use pairwise subjects without a sector_identifier_uri.",
			TestedBy: "cmd/mandate/main_test.go:TestScripts",
		},
		{
			ID: "OIDCCore/8.1/deterministic", Level: Must,
			Text:  "A pairwise subject is the same at every login.",
			Needs: pairwise,
			Check: func(t *T) {
				c := t.Client(need.Pairwise)
				one := t.Subject(t.IDToken(t.GrantIn(t.NewBrowser(), t.OpenID(c))))
				if other := t.Subject(t.IDToken(t.GrantIn(t.NewBrowser(), t.OpenID(c)))); one != other {
					t.Failf("the same person has one sub at the first login and another at the second")
				}
			},
		},
		{
			ID: "OIDCCore/8.1/not-reversible", Level: Must,
			Text:  "A pairwise subject does not contain the public one or the user name, plain or encoded.",
			Needs: append(loginNeeds(), need.Pairwise),
			Check: func(t *T) {
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
			},
		},
		{
			ID: "OIDCCore/8.1/same-at-userinfo", Level: Must,
			Text:  "UserInfo returns the sub of the ID token to a client with pairwise subjects.",
			Needs: append(slices.Clone(pairwise), need.UserInfo),
			Check: func(t *T) {
				tokens := t.GrantFor(t.OpenID(t.Client(need.Pairwise)))
				if sub := t.UserClaims(tokens.Access)["sub"]; sub != any(t.Subject(t.IDToken(tokens))) {
					t.Failf("sub of UserInfo is not that of the ID token")
				}
			},
		},
		{
			ID: "OIDCCore/8.1/sector-identifier-uri", Level: Should,
			Text:     "A server with dynamic registration accepts sector_identifier_uri.",
			TestedBy: "conformance/mandate/initial_token_test.go:TestRegistrationSector",
		},
		{
			ID: "OIDCCore/8.1/sector-identifier-checked", Level: Must,
			Text:     "The list at a sector_identifier_uri, which uses https, contains all redirect URIs of the client.",
			TestedBy: "conformance/mandate/initial_token_test.go:TestRegistrationSector",
		},
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
		t.Skipf("the redirect URIs of the clients %s and %s have the same host: register them with different hosts", one, other)
	}
	// OIDC Discovery §3: a server that does not list the type may have registered the client with it all the same.
	registered := t.Client(other).Registration
	if types, listed := t.Metadata().List("subject_types_supported"); listed && !slices.Contains(types, "pairwise") &&
		(registered == nil || registered.Text("subject_type") != "pairwise") {
		t.Skipf("subject_types_supported is %q, and no answer of the server says that the client %s has pairwise subjects", types, other)
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
