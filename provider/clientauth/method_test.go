package clientauth

import (
	"context"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mandate/provider/jose"
	"mandate/provider/policy"
	"mandate/storage"
)

// The table has every method that a file declares.
func TestTableHasEveryMethod(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	declared := 0
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			list, is := d.(*ast.GenDecl)
			if !is || strings.HasSuffix(name, "_test.go") {
				continue
			}
			for _, spec := range list.Specs {
				declared += methodsIn(spec)
			}
		}
	}
	if declared != len(methods) {
		t.Errorf("the files declare %d methods, and the table has %d", declared, len(methods))
	}
}

// methodsIn returns how many methods a declaration declares.
func methodsIn(spec ast.Spec) int {
	values, is := spec.(*ast.ValueSpec)
	if !is {
		return 0
	}
	n := 0
	for _, v := range values.Values {
		if lit, is := v.(*ast.CompositeLit); is {
			if name, is := lit.Type.(*ast.Ident); is && name.Name == "Method" {
				n++
			}
		}
	}
	return n
}

// A row is complete: it says its strength, and what signs has algorithms and a place for its assertions. A client
// whose method has the strength Nothing is registered as public, and only none is such a method.
func TestRowsAreComplete(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range methods {
		if m.Name == "" || m.Label == "" || m.prove == nil || seen[m.Name] {
			t.Errorf("%q has no name, label or check, or is there twice", m.Name)
		}
		seen[m.Name] = true
		if m.Strength == 0 || (m.Strength == Nothing) != (m.Name == MethodNone) {
			t.Errorf("%s has the strength %d", m.Name, m.Strength)
		}
		signs := m.Needs == Keys || m.Needs == ReadableSecret
		if signs != (m.assertion != nil) || signs != (len(m.Algorithms) > 0) {
			t.Errorf("%s: a method with keys or a readable secret has assertions, and no other one has", m.Name)
		}
		if m.Open && !m.OwnKey() {
			t.Errorf("%s is for applications for which nobody is responsible: they make their own keys", m.Name)
		}
	}
	for _, at := range places {
		if at.has == nil || at.read == nil || at.search == nil {
			t.Error("a place of assertions lacks a function")
		}
	}
}

// What a method may be used for is said in its row, and does not follow from its kind. Whoever adds one decides.
func TestMethodsAllowedByName(t *testing.T) {
	for name, test := range map[string]struct{ got, want []string }{
		"nobody is responsible": {OpenMethods(), []string{MethodPrivateKey, MethodSelfSigned}},
		"FAPI 2.0 Security Profile §5.3.2.1": {
			NamesOf(func(m Method) bool { return m.FAPI }), []string{MethodPrivateKey, MethodCertificate, MethodSelfSigned},
		},
		"none is registered": {
			NamesOf(func(m Method) bool {
				return sendsBy(storage.Application{ClientType: policy.Confidential}, m.Name)
			}),
			[]string{MethodBasic, MethodPost},
		},
		"post is registered": {
			NamesOf(func(m Method) bool {
				return sendsBy(storage.Application{ClientType: policy.Confidential, AuthMethod: MethodPost}, m.Name)
			}),
			[]string{MethodPost},
		},
	} {
		if diff := cmp.Diff(test.want, test.got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// RFC 7591 §2: an assertion at the place of another method is not that of the client.
func TestAssertionStandsAtThePlaceOfTheMethod(t *testing.T) {
	a := storage.Application{
		ClientID: "c", ClientType: policy.Confidential, AuthMethod: MethodPrivateKey,
		Responsible: storage.ByOperator,
		JWKS: `{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"k","alg":"EdDSA",` +
			`"x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}`,
	}
	p := New(Config{}, Parts{}, Applications{
		Client: func(context.Context, string) (storage.Application, error) { return a, nil },
	})
	header := jose.Header{Algorithm: "EdDSA", KeyID: "k"}
	for at, want := range map[*place]bool{&inForm: true, {}: false} {
		one := &assertion{sent: credentials{place: at}}
		found, err := p.assertionKeys(t.Context(), one, header, []byte(`{"iss":"c","sub":"c"}`))
		if (len(found) == 1) != want || errors.Is(err, jose.ErrInvalid) == want {
			t.Errorf("%d keys, %v", len(found), err)
		}
	}
}

// RFC 6749 §2.3: not more than one authentication method in one request, at whatever place.
func TestAssertionsAtTwoPlaces(t *testing.T) {
	other := &place{
		has:    func(h http.Header, _ url.Values) bool { return h.Get("X-Assertion") != "" },
		read:   func(h http.Header, _ url.Values) (credentials, error) { return credentials{assertion: "x"}, nil },
		search: func(r *http.Request) []string { return r.Header.Values("X-Assertion") },
	}
	places = append(slices.Clone(places), other)
	t.Cleanup(func() { places = placesOf(methods) })
	r := httptest.NewRequest(http.MethodPost, "/o/token/", nil)
	r.Header.Set("X-Assertion", "x")
	form := url.Values{}
	sent, err := clientCredentials(r, form)
	if err != nil || sent.place != other || !SendsCredentials(r, form) || len(unreadAssertions(r)) != 1 {
		t.Errorf("at the other place: %v, %v", sent, err)
	}
	form = url.Values{"client_assertion_type": {AssertionType}, "client_assertion": {"y"}}
	if _, err := clientCredentials(r, form); err == nil {
		t.Error("assertions at two places are accepted")
	}
	if _, err := clientCredentials(r, url.Values{"client_secret": {""}}); err == nil {
		t.Error("an assertion and a secret are accepted")
	}
}

// The table of methods in the docs has each one.
func TestMethodsDocs(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "register-applications.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "| Method | The application sends |")
	table, _, _ = strings.Cut(table, "\n\n")
	for _, m := range methods {
		if !strings.Contains(table, "`"+m.Name+"`") {
			t.Errorf("the table of methods in docs/register-applications.md lacks %s", m.Name)
		}
	}
}
