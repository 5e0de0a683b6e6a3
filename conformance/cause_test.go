package conformance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mandate/conformance/check"
	"mandate/conformance/engine"
	"mandate/conformance/rules"
	"mandate/conformance/wire"
)

// realReport reads what a run on a server of another project found: the results that failed or were blocked, with the
// first lines of the exchanges.
func realReport(t *testing.T, name string) *engine.Report {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "reports", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var all []struct {
		ID, Reason, Sent, Got string
		Level                 check.Level
		Status                check.Status
	}
	err = json.Unmarshal(text, &all)
	if err != nil {
		t.Fatal(err)
	}
	r := &engine.Report{}
	for _, x := range all {
		result := check.Result{Rule: check.Rule{ID: x.ID, Level: x.Level}, Status: x.Status, Reason: x.Reason}
		if x.Sent != "" {
			result.Exchange = exchange(x.Sent, x.Got)
		}
		r.Results = append(r.Results, result)
	}
	return r
}

// The causes of several results in real reports, and how many results each has.
func TestCausesOfRealReports(t *testing.T) {
	for name, want := range map[string]map[string]int{
		"keycloak": {
			"a code was issued, although the server did not issue the id_token_hint":                 5,
			"there is no Bearer challenge: 401 Unauthorized":                                         5,
			"email profile was granted, but a refresh returned openid too":                           2,
			"the signature with HS256 is invalid: token signature is invalid: signature is invalid":  2,
			"the answer is 401 Unauthorized with error \"unauthorized_client\", want invalid_client": 2,
		},
		"django-oauth-toolkit": {
			"GET http://127.0.0.1:43167/o/authorize/ is answered with 500 Internal Server Error": 36,
			"the introspection response has no aud":                                              3,
			"no page tells the person what is wrong: 200 OK":                                     2,
		},
	} {
		report := realReport(t, name)
		got, sum := map[string]int{}, 0
		for _, c := range report.Causes() {
			got[c.Text] = max(got[c.Text], len(c.Results))
			sum += len(c.Results)
		}
		for text, n := range want {
			if got[text] != n {
				t.Errorf("%s: %d results have the cause %q, want %d", name, got[text], text, n)
			}
		}
		others := 0
		for _, r := range report.Results {
			if r.Rule.Level == check.May && r.Status == check.Fail {
				others++
			}
		}
		if sum+others != len(report.Results) {
			t.Errorf("%s: %d of %d results have a cause", name, sum, len(report.Results)-others)
		}
	}
}

// exchange returns an exchange from the first lines of a request and of an answer, and from their bodies.
func exchange(sent, got string) *wire.Exchange {
	a := &wire.Answer{}
	var address string
	_, _ = fmt.Sscan(sent, &a.Method, &address)
	_, _ = fmt.Sscan(got, &a.Status)
	_, a.SentForm, _ = strings.Cut(sent, "\n\n")
	_, body, _ := strings.Cut(got, "\n\n")
	a.URL, a.Body = wire.ParseURL(address), []byte(body)
	x := wire.NewMask().Exchange(a)
	return &x
}

// failure returns a failure, or another result, of a rule of its own.
func failure(id string, status check.Status, reason, sent, got string) check.Result {
	r := check.Result{Rule: check.Rule{ID: "TEST/1/" + id, Level: check.Must}, Status: status, Reason: reason}
	if sent != "" {
		r.Exchange = exchange(sent, got)
	}
	return r
}

func TestCauses(t *testing.T) {
	const token, wrongScope = "POST https://as.example/token", "400 Bad Request\n\n" +
		`{"error":"invalid_scope","error_description":"no such scope"}`
	for name, c := range map[string]struct {
		a, b check.Result
		same bool
	}{
		"values that change": {
			failure("a", check.Fail,
				"the browser was sent to https://c.example/cb?code=$CODE2&state=GKOICFF4WR2XFGGY2BTXEHTLXW after 2.5s", "", ""),
			failure("b", check.Fail,
				"the browser was sent to https://c.example/cb?code=$CODE&state=UHWM7CUHWGNDLOSVB3DTLXURHE after 3s", "", ""), true},
		"masked values": {failure("a", check.Fail, "aud is $CLIENT_ID", "", ""),
			failure("b", check.Fail, "aud is $CLIENT_ID12", "", ""), true},
		"another error in an address": {
			failure("a", check.Fail, "the browser was sent to https://c.example/cb?error=invalid_scope&state=x", "", ""),
			failure("b", check.Fail, "the browser was sent to https://c.example/cb?error=server_error&state=x", "", ""), false},
		"another reason": {failure("a", check.Fail, "aud is missing", "", ""),
			failure("b", check.Fail, "nbf is missing", "", ""), false},
		"a 307": {failure("a", check.Fail, "the password was sent again", "POST https://as.example/login?x=1",
			"307 Temporary Redirect\n"),
			failure("b", check.Blocked, "no code", "POST https://as.example/login?x=2", "307 Temporary Redirect\n"), true},
		"a 500 elsewhere": {failure("a", check.Fail, "the server failed: 500 Internal Server Error",
			"POST https://as.example/token", "500 Internal Server Error\n"),
			failure("b", check.Fail, "the server failed: 500 Internal Server Error", "POST https://as.example/revoke",
				"500 Internal Server Error\n"), false},
		"a step with the same error": {failure("a", check.Blocked, "no token was issued: 400 Bad Request, invalid_scope",
			token, wrongScope),
			failure("b", check.Blocked, "no refresh token: 400 Bad Request, invalid_scope", token, wrongScope), true},
		"the same mistake in the target at two steps": {failure("a", check.Blocked,
			"no code was issued: the server asks for the password again: user.username or user.password of the target may be "+
				"wrong", "", ""),
			failure("b", check.Blocked, "the person was not asked: the server asks for the password again: user.username or "+
				"user.password of the target may be wrong", "", ""), true},
		"a page with the number of the request": {failure("a", check.Blocked,
			`no code was issued: the server shows a page: 400 Bad Request, "This is \"no\" request": Error code invalid_client Request M2NFGY`, "", ""),
			failure("b", check.Blocked,
				`no code was issued: the server shows a page: 400 Bad Request, "This is \"no\" request": Error code invalid_client Request KDG2LZ`, "", ""), true},
		"a page with another error": {failure("a", check.Blocked,
			`no code was issued: the server shows a page: 400 Bad Request, "oops": invalid_client`, "", ""),
			failure("b", check.Blocked, `no code was issued: the server shows a page: 400 Bad Request, "oops": invalid_request`,
				"", ""), false},
		"two clients with a wrong secret": {failure("a", check.Blocked,
			"no token was issued: 401: the server does not accept the client code: clients.code.secret or clients.code.auth "+
				"of the target may be wrong", "", ""),
			failure("b", check.Blocked, "no token was issued: 401: the server does not accept the client jwt: "+
				"clients.jwt.secret or clients.jwt.auth of the target may be wrong", "", ""), false},
		"two questions with the same answer": {failure("a", check.Fail, "Pragma is missing", token, wrongScope),
			failure("b", check.Fail, "Cache-Control is missing", token, wrongScope), false},
		"a status at two endpoints": {failure("a", check.Fail, "the answer is 403 Forbidden, want 401", token,
			"403 Forbidden\n"), failure("b", check.Fail, "the answer is 403 Forbidden, want 401", "GET https://api.example/",
			"403 Forbidden\n"), false},
	} {
		causes := (&engine.Report{Results: []check.Result{c.a, c.b}}).Causes()
		if (len(causes) == 1) != c.same {
			t.Errorf("%s: %+v", name, causes)
		}
	}
}

// One fact fails several rules, with a reason of each.
func TestCauseIsTheDecidedFact(t *testing.T) {
	var report engine.Report
	for _, r := range rules.All() {
		if strings.HasPrefix(r.ID, "OIDCCore/3.1.2.1/max-age") && r.Fact != "" {
			report.Results = append(report.Results,
				check.Result{Rule: r, Status: check.Fail, Reason: strings.Repeat("no ", len(report.Results)) + "reason"})
		}
	}
	causes := report.Causes()
	if len(causes) != 1 || len(report.Results) != 3 || causes[0].Text != "max_age has no effect" {
		t.Errorf("%d failures have the causes %+v", len(report.Results), causes)
	}
	for _, r := range rules.All() { // a rule that has the check of another one is decided by the same
		if r.ID == "RFC6749/3.1.2.3/simple-string-comparison" && r.Fact == "" {
			t.Error("the rule whose check others have has no fact")
		}
	}
}

// Each fact decides several rules that exist.
func TestFactsNameRules(t *testing.T) {
	count := map[string]int{}
	for _, r := range rules.All() {
		count[r.Fact]++
	}
	for fact, n := range count {
		if n < 2 {
			t.Errorf("%q decides %d rules", fact, n)
		}
	}
}

// The worst cause comes first, and then the most frequent one.
func TestCausesAreSorted(t *testing.T) {
	report := &engine.Report{Results: []check.Result{
		failure("a", check.Blocked, "no page", "", ""), failure("b", check.Blocked, "no page", "", ""),
		failure("c", check.Blocked, "no page", "", ""),
		failure("d", check.Fail, "once", "", ""), failure("e", check.Fail, "twice", "", ""),
		failure("f", check.Fail, "twice", "", ""), failure("g", check.Pass, "", "", "")}}
	var texts []string
	for _, c := range report.Causes() {
		texts = append(texts, c.Text)
	}
	if want := []string{"twice", "once", "no page"}; !slices.Equal(texts, want) {
		t.Errorf("%q, want %q", texts, want)
	}
	for format, want := range map[string]string{"text": "Results with the same cause: 2 twice FAIL MUST: TEST/1/e, " +
		"TEST/1/f 3 no page blocked: TEST/1/a, TEST/1/b, TEST/1/c",
		"json": `"causes": [ { "text": "twice", "rules": [ "TEST/1/e", "TEST/1/f" ] }, {`,
		"html": "<small>2 rules</small>twice</h3>"} {
		var out bytes.Buffer
		err := engine.Formats()[format](report, &out)
		if text := strings.Join(strings.Fields(out.String()), " "); err != nil || !strings.Contains(text, want) {
			t.Errorf("%s: %v: %s", format, err, text)
		}
	}
}
