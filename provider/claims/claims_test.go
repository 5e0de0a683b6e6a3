package claims_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mandate/provider/claims"
)

var alice = claims.Person{
	Groups:     []string{"shop-admins", "shop-staff", "vpn"},
	Profile:    map[string]any{"email": "alice@example.org", "email_verified": true, "nickname": "ally"},
	Attributes: map[string]any{"quota": json.Number("50"), "beta": true, "teams": []any{"red", "blue"}, "sub": "root"},
}

// values has parts of rules, and below each the value for alice.
const values = `
"from":"groups"
	["shop-admins","shop-staff","vpn"]

"from":"groups","filter":"shop-"
	["shop-admins","shop-staff"]

"from":"groups","filter":"shop-","trim":true
	["admins","staff"]

"from":"groups","filter":"vpn","trim":true
	[]

"from":"groups","filter":"vpn","prefix":"oidc:"
	["oidc:vpn"]

"from":"groups","filter":"none-"
	[]

"from":"groups","filter":"none-","default":["guest"]
	["guest"]

"from":"groups","map":{"vpn":"remote","shop-admins":1}
	["remote",1]

"from":"groups","map":{"vpn":"a","shop-staff":"a"}
	["a"]

"from":"groups","map":{"Vpn":"remote"}
	[]

"from":"groups","map":{"root":"Admin"},"text":true
	null

"from":"groups","map":{"x":"A"},"text":true,"default":5
	5

"from":"groups","filter":"shop-","trim":true,"map":{"staff":"Editor","admins":"Admin"},"text":true
	"Editor"

"from":"groups","filter":"shop-","trim":true,"map":{"admins":"Admin","staff":"Editor"},"text":true
	"Admin"

"from":"profile.email"
	"alice@example.org"

"from":"profile.email","prefix":"mailto:"
	"mailto:alice@example.org"

"from":"profile.email","filter":"bob"
	null

"from":"profile.gender"
	null

"from":"profile.gender","default":"none"
	"none"

"from":"value","value":true
	true

"from":"attribute.quota"
	50

"from":"attribute.quota","prefix":"GB "
	"GB 50"

"from":"attribute.quota","map":{"50":"large"}
	"large"

"from":"attribute.beta"
	true

"from":"attribute.sub"
	"root"

"from":"attribute.teams"
	["red","blue"]

"from":"attribute.teams","map":{"blue":"b"},"text":true
	"b"

"from":"attribute.none"
	null

"from":"attribute.none","default":10
	10

"from":"value","value":10
	10

"from":"value","value":["a","b"]
	["a","b"]

"from":"value","value":123456789012345678
	123456789012345678

"from":"profile.email","map":{"alice@example.org":false}
	false
`

// Each rule gives one person a value, or leaves the claim out.
func TestValues(t *testing.T) {
	for line := range strings.SplitSeq(values, "\n\n") {
		rule, want, _ := strings.Cut(strings.TrimSpace(line), "\n\t")
		r, err := claims.Parse(`{"name":"x",` + rule + `,"in":["id_token"]}`)
		if err != nil {
			t.Errorf("%s: %v", rule, err)
			continue
		}
		got, err := json.Marshal(r.Of(alice))
		if err != nil || string(got) != want {
			t.Errorf("%s: %s, want %s (%v)", rule, got, want, err)
		}
		again, err := claims.Parse(r.String())
		if d := cmp.Diff(r, again); d != "" || err != nil {
			t.Errorf("%s: what is stored differs: %s %v", rule, d, err)
		}
	}
}

// A mistake has a sentence that says what to change, and no rule can pass for a claim of a protocol.
func TestMistakes(t *testing.T) {
	with := func(name string) string {
		raw, _ := json.Marshal(name)
		return `{"name":` + string(raw) + `,"from":"groups","in":["id_token"]}`
	}
	known := claims.Known{Scopes: []string{"openid"}, Attributes: []string{"quota"}}
	a := func(rest string) string { return `{"name":"a",` + rest + `,"in":["id_token"]}` }
	for rule, want := range map[string]string{
		``:                                    "one JSON object",
		`role = groups`:                       "one JSON object",
		`["name"]`:                            "one JSON object",
		with("role") + `{}`:                   "one JSON object",
		with("role") + "\xff":                 "one JSON object",
		`{"name":"a\xffb"}`:                   "one JSON object",
		with("sub"):                           "RFC 7519",
		with("SUB"):                           "RFC 7519",
		with("Act"):                           "RFC 8693",
		with("sub#de"):                        "ASCII",
		with("ѕub"):                           "ASCII", // the first letter is Cyrillic
		with("sub\u200b"):                     "ASCII",
		with("ſub"):                           "ASCII", // a long s, which is s for some comparisons without case
		with(" sub"):                          "ASCII",
		with("__proto__"):                     "ASCII",
		with("_claim_names"):                  "ASCII",
		with(strings.Repeat("a", 101)):        "ASCII",
		with("email_verified"):                "OIDC Core",
		with("cnf"):                           "RFC 7800",
		with("client_id"):                     "RFC 7662",
		`{"from":"groups","in":["id_token"]}`: `"name" is missing`,
		a(`"name":"sub","from":"groups"`):     "twice",
		`{"Name":"a","from":"groups","in":["id_token"]}`:                           `no "Name"`,
		`{"name":"a","from":"groups","in":["id_token"],"script":"x"}`:              `no "script"`,
		`{"name":"a","from":"groups"}`:                                             `"in" is missing`,
		`{"name":"a","from":"groups","in":[]}`:                                     "list of texts",
		`{"name":"a","from":"groups","in":["everywhere"]}`:                         "everywhere",
		a(`"from":"group"`):                                                        "missing or unknown",
		a(`"from":"groups.x"`):                                                     "missing or unknown",
		a(`"from":"profile.password"`):                                             "profile.email",
		a(`"from":"attribute.none"`):                                               "no attribute",
		a(`"from":"attribute.Quota"`):                                              "missing or unknown",
		a(`"from":"attribute"`):                                                    "missing or unknown",
		a(`"from":"value"`):                                                        `"value" is missing`,
		a(`"from":"value","value":{"a":1}`):                                        "a text, a number",
		a(`"from":"value","value":null`):                                           "a text, a number",
		a(`"from":"value","value":1,"text":true`):                                  "fixed value has only",
		a(`"from":"groups","value":1`):                                             `only for "from":"value"`,
		a(`"from":"groups","trim":true`):                                           `add "filter"`,
		a(`"from":"groups","text":false`):                                          "only be true",
		a(`"from":"groups","map":{}`):                                              `"map" must be`,
		a(`"from":"groups","map":{"x":["y"]}`):                                     "a text, a number",
		a(`"from":"groups","map":{"x":1,"x":2}`):                                   "twice",
		`{"name":"a","from":"groups","in":["id_token"],"resources":["https://a"]}`: `"resources" is only`,
		`{"name":"a","from":"groups","in":["id_token"],"scope":"none"}`:            "no scope",
		`{"name":"a","from":"groups","in":["id_token"],"prefix":"` + strings.Repeat("x", 201) + `"}`:        "1 to 200 bytes",
		`{"name":"a","from":"groups","in":["id_token"],"prefix":"` + "\\n" + `"}`:                           "1 to 200 bytes",
		`{"name":"a","from":"groups","map":{` + `"` + strings.Repeat("x", 2000) + `":1},"in":["id_token"]}`: "2000 bytes",
	} {
		var found []string
		claims.Check([]string{rule}, known, func(m string) { found = append(found, m) })
		if len(found) != 1 || !strings.Contains(found[0], want) || !strings.HasSuffix(found[0], ".") {
			t.Errorf("%s: %q, want %q", rule, found, want)
		}
	}
	for what, lines := range map[string][]string{
		"another rule has": {with("role"), with("ROLE")},
		"at most 20 rules": strings.Split(strings.Repeat(with("a")+"\n", 21), "\n")[:21],
	} {
		var found []string
		claims.Check(lines, claims.Known{}, func(m string) { found = append(found, m) })
		if len(found) != 1 || !strings.Contains(found[0], what) {
			t.Errorf("%q, want %q", found, what)
		}
	}
}

// A rule says where its claim is, for which scope, and which APIs learn it.
func TestPlaces(t *testing.T) {
	set, err := claims.Read(`{"name":"a","from":"groups","in":["id_token","access_token"],"resources":["https://one/"]}
{"name":"b","from":"groups","in":["access_token"],"scope":"email"}
{"name":"c","from":"value","value":1,"in":["access_token"]}`)
	if err != nil {
		t.Fatal(err)
	}
	names := func(s claims.Set) (all string) {
		for _, r := range s {
			all += r.Name
		}
		return all
	}
	for got, want := range map[string]string{
		"id token " + names(set.At(claims.IDToken, nil)):                                              "id token a",
		"userinfo " + names(set.At(claims.UserInfo, nil)):                                             "userinfo ",
		"no scope " + names(set.At(claims.AccessToken, nil)):                                          "no scope ac",
		"scope " + names(set.At(claims.AccessToken, []string{"email"})):                               "scope abc",
		"one " + names(set.For([]string{"https://one/"})):                                             "one abc",
		"two " + names(set.For([]string{"https://one/", "https://two/"})):                             "two bc",
		"case " + names(set.For([]string{"https://ONE/"})):                                            "case bc",
		"unasked " + names(claims.Unasked(set[0].String()+"\n"+set[1].String()+"\n"+set[2].String())): "unasked a",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A group that is renamed keeps its roles, and nothing else of the rules changes.
func TestRenameGroup(t *testing.T) {
	rule := func(m string) string { return `{"name":"a","from":"groups","map":` + m + `,"in":["id_token"]}` }
	other := `{"name":"b","from":"profile.email","map":{"staff":"x"},"in":["id_token"]}`
	for before, after := range map[string]string{
		`{"staff":"x","vpn":"y"}`:               `{"crew":"x","vpn":"y"}`,
		`{"crew":"x","staff":"x"}`:              `{"crew":"x"}`,
		`{"staff 2":"x"}`:                       `{"staff 2":"x"}`,
		`{"crew":"nobody","staff":"x"}`:         `{"crew":"x"}`,
		`{"staff":"x","crew":"nobody","a":"b"}`: `{"crew":"x","a":"b"}`,
	} {
		got, err := claims.RenameGroup(rule(before)+"\n"+other, "staff", "crew")
		if want := rule(after) + "\n" + other; got != want || err != nil {
			t.Errorf("%s\n%s, want\n%s (%v)", before, got, want, err)
		}
	}
	got, err := claims.RenameGroup(rule(`{"staff":"x"}`), "staff", `<a> & "b"`)
	if want := rule(`{"<a> & \"b\"":"x"}`); got != want || err != nil {
		t.Errorf("%s, want %s (%v)", got, want, err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(`{"name":"role","from":"groups","map":{"staff":"editor"},"default":"viewer","in":["id_token"]}`)
	f.Fuzz(func(t *testing.T, line string) {
		r, err := claims.Parse(line)
		if err != nil {
			return
		}
		again, err := claims.Parse(r.String())
		if d := cmp.Diff(r, again); d != "" || err != nil || strings.Contains(r.String(), "\n") {
			t.Errorf("%s %v", d, err)
		}
		if claims.Reserved(r.Name) != "" {
			t.Error(r.Name)
		}
	})
}

// Whoever may change their own profile must not choose a role with it: only what is proved can have a map.
func TestAttackOwnProfileBecomesARole(t *testing.T) {
	rule := func(field string) (claims.Rule, error) {
		return claims.Parse(`{"name":"role","from":"profile.` + field + `","map":{"root":"Admin"},"in":["id_token"]}`)
	}
	for _, field := range []string{"name", "given_name", "nickname", "preferred_username", "website", "phone_number"} {
		_, err := rule(field)
		if err == nil || !strings.Contains(err.Error(), "people may choose it") {
			t.Errorf("profile.%s: %v", field, err)
		}
	}
	r, err := rule("email")
	if err != nil {
		t.Fatal(err)
	}
	for _, proved := range []bool{true, false} {
		value := r.Of(claims.Person{Profile: map[string]any{"email": "root", "email_verified": proved}})
		if (value == "Admin") != proved {
			t.Errorf("address proved %t: %v", proved, value)
		}
	}
}

// Neither upper case, a map, a default nor the name of an attribute makes a rule for a claim of a protocol.
func TestAttackAttributeBecomesAProtocolClaim(t *testing.T) {
	for _, name := range []string{"sub", "Sub", "aud", "ACT", "cnf", "client_id", "email_verified", "Azp", "may_act"} {
		for _, more := range []string{
			``, `,"map":{"root":"root"}`, `,"default":"root"`, `,"prefix":"root"`, `,"text":true`,
		} {
			for _, from := range []string{"attribute.sub", "attribute." + strings.ToLower(name), "groups"} {
				line := `{"name":"` + name + `","from":"` + from + `"` + more + `,"in":["access_token"]}`
				if _, err := claims.Parse(line); err == nil {
					t.Errorf("%s is allowed", line)
				}
			}
		}
	}
	// What the name of an attribute is does not matter: the rule has a name of its own.
	set, err := claims.Read(`{"name":"x","from":"attribute.sub","map":{"root":"sub"},"in":["id_token"]}`)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(map[string]any{"x": "sub"}, set.Claims(alice)); d != "" {
		t.Error(d)
	}
}
