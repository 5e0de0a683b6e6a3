package templates

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"flag"
	"html"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var in = flag.String("in", "en", "the language of the samples that are written")

var branded = flag.Bool("branded", false, "write the samples with another brand")

var write = flag.String("write", "", "write every sample and the static files to this folder, to look at them")

func TestEveryPageIsWellFormed(t *testing.T) {
	pages, err := New("/auth", Brand{})
	if err != nil {
		t.Fatal(err)
	}
	drawn := map[reflect.Type]bool{}
	for _, s := range samples() {
		t.Run(s.name, func(t *testing.T) {
			body, err := pages.Render(pages.Languages.English(), s.page)
			if err != nil {
				t.Fatal(err)
			}
			drawn[reflect.TypeOf(s.page)] = true
			if page, ok := s.page.(Excluded); ok && page.BackURI != "" {
				body = bytes.Replace(body, []byte(`action="`+page.BackURI+`"`), []byte(`action="/"`), 1)
			}
			if post, ok := s.page.(FormPost); ok {
				// The one form that leads elsewhere, which is what it is for.
				body = bytes.Replace(body, []byte(`action="`+post.Action+`"`), []byte(`action="/"`), 1)
			}
			switch s.page.(type) {
			case Consent, DeviceApproval, Login, ErrorPage, Home, Excluded:
				// The pages of the application, which learn nothing about this one.
				body = regexp.MustCompile(`<a [^>]*rel="noopener noreferrer nofollow">`).ReplaceAll(body, []byte(`<a href="/">`))
			}
			for _, fault := range checkDocument(body) {
				t.Error(fault)
			}
		})
	}
	for _, page := range catalogue() {
		if !drawn[reflect.TypeOf(page.of)] {
			t.Errorf("no sample of %T", page.of)
		}
	}
}

// The page of a refused request leads to an application on the device, and never to a script.
func TestWhereARefusedRequestLeads(t *testing.T) {
	for address, want := range map[string]bool{
		"https://client.example/cb?error=x": true, "http://127.0.0.1:5000/cb": true, "cursor://name/path?error=x": true,
		"com.example.app:/cb": true,
		"javascript:alert(1)": false, "JavaScript:alert(1)": false, "vbscript:x": false, "data:text/html,x": false,
		"blob:https://a.example/": false, "/": false, "//evil.example/": false, "": false,
	} {
		if got := string(onward(address)); got != "" != want || want && got != address {
			t.Errorf("%s: %q", address, got)
		}
	}
}

func TestUnknownPageIsAnError(t *testing.T) {
	pages, err := New("", Brand{})
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range []any{nil, "login", Frame{}, &Login{}} {
		_, err := pages.Render(pages.Languages.English(), page)
		if err == nil {
			t.Errorf("Render(%T) drew something", page)
		}
	}
}

func TestPasswordsAreNotSentBack(t *testing.T) {
	pages, err := New("", Brand{})
	if err != nil {
		t.Fatal(err)
	}
	secret := Field{Value: "correct horse", Error: "wrong"}
	for _, page := range []any{Setup{Password: secret},
		Account{PasswordAction: "/p", CurrentPassword: secret, NewPassword: secret}, UserForm{Password: secret}} {
		body, err := pages.Render(pages.Languages.English(), page)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(body), secret.Value) {
			t.Errorf("%T repeats a password", page)
		}
	}
}

// What nobody but its owner should learn or do is not merely hidden by a style.
func TestPagesKeepToWhoLooks(t *testing.T) {
	pages, err := New("", Brand{})
	if err != nil {
		t.Fatal(err)
	}
	guarded := []Control{{ID: "skip_consent", Kind: "toggle"}}
	for _, test := range []struct {
		page   any
		text   string
		expect bool
	}{
		{Home{Frame: Frame{Username: "a"}}, "/admin/users/", false},
		{Home{Frame: Frame{Username: "a", Admin: true}}, "/admin/users/", true},
		{Home{}, "Sign out", false},
		{ApplicationForm{Guarded: guarded}, "skip_consent", false},
		{ApplicationForm{Admin: true, OwnerURL: "/owner/", Guarded: guarded}, "skip_consent", false},
		{ApplicationForm{Admin: true, OwnerURL: "/owner/"}, "/owner/", true},
		{ApplicationForm{Privileges: true, Guarded: guarded}, "skip_consent", true},
		{Application{RotateURL: "/rotate/"}, "/rotate/", true},
		{Application{RotateURL: "/rotate/", Public: true}, "/rotate/", false},
		{Application{}, "client_secret", false},
		{Application{NewSecret: "x"}, "client_secret", true},
		{UserForm{Self: true, DeleteURL: "/delete/"}, "/delete/", false},
		{Consent{Frame: Frame{Username: "a", Admin: true}}, "/admin/users/", false},
		{Consent{}, "this API", false},
		{Consent{Access: Access{Resources: []API{{Name: "Mailbox"}}}}, "this API", true},
		{Consent{Access: Access{Resources: []API{{Name: "Mailbox"}}, AlsoServer: true}}, "these APIs", true},
		{ResourceForm{New: true}, `id="uri" name="uri"`, true},
		{ResourceForm{}, `name="uri"`, false},
		{Resources{Rows: []ResourceRow{{Name: "Mailbox"}}}, "<a href=\"\"", false},
	} {
		body, err := pages.Render(pages.Languages.English(), test.page)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(body), test.text) != test.expect {
			t.Errorf("%T: has %q: %v, expected %v", test.page, test.text, !test.expect, test.expect)
		}
	}
}

func TestStaticFilesAreKeptForEver(t *testing.T) {
	pages, err := New("/auth", Brand{})
	if err != nil {
		t.Fatal(err)
	}
	body, err := pages.Render(pages.Languages.English(), Application{})
	if err != nil {
		t.Fatal(err)
	}
	links := regexp.MustCompile(`/auth(/static/[a-z]+\.[0-9a-f]{8}\.(css|js|svg))"`).FindAllStringSubmatch(string(body),
		-1)
	kinds := map[string]string{"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8",
		"svg": "image/svg+xml"}
	seen := map[string]bool{}
	for _, link := range links {
		seen[link[2]] = true
		w := httptest.NewRecorder()
		pages.Static().ServeHTTP(w, httptest.NewRequest("GET", link[1], nil))
		h := w.Header()
		if w.Code != 200 || w.Body.Len() == 0 || h.Get("Content-Type") != kinds[link[2]] ||
			h.Get("Cache-Control") != "public, max-age=31536000, immutable" || h.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("GET %s: %d %v", link[1], w.Code, h)
		}
		sum := sha256.Sum256(w.Body.Bytes())
		digest := `js" integrity="sha256-` + base64.StdEncoding.EncodeToString(sum[:])
		if link[2] == "js" && !strings.Contains(html.UnescapeString(string(body)), digest) {
			t.Errorf("the page has not the digest of %s", link[1])
		}
	}
	if len(seen) != 3 {
		t.Errorf("the page links to %v", links)
	}
	for path, status := range map[string]int{"/static/style.css": 404, "/static/": 404, "/static/../templates.go": 404,
		"/style.css": 404} {
		w := httptest.NewRecorder()
		pages.Static().ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		if w.Code != status || w.Header().Get("Cache-Control") != "" {
			t.Errorf("GET %s: %d %v", path, w.Code, w.Header())
		}
	}
	w := httptest.NewRecorder()
	pages.Static().ServeHTTP(w, httptest.NewRequest("POST", links[0][1], nil))
	if w.Code != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d", w.Code)
	}
}

// A page with texts of the catalogue is in the language of its reader.
func TestPagesWithTextsAreTranslated(t *testing.T) {
	for _, p := range catalogue() {
		source, err := files.ReadFile(p.file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(source), `{{t "`) && p.inEnglish() {
			t.Errorf("%s is in English for everybody", p.file)
		}
	}
}

func TestStyleSheetLoadsNothing(t *testing.T) {
	sheet, err := static.ReadFile("static/style.css")
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"url(", "@import", "http"} {
		if strings.Contains(string(sheet), word) {
			t.Errorf("style.css has %q", word)
		}
	}
}

// The test of the test: what checkDocument must not let through.
func TestCheckDocumentFindsFaults(t *testing.T) {
	frame := func(main string) string {
		return `<!doctype html><html lang="en"><head><title>T</title></head><body><header></header><main><h1>H</h1>` + main +
			`</main></body></html>`
	}
	faults := checkDocument([]byte(frame(`<p><a href="/x">fine</a></p>`)))
	if len(faults) > 0 {
		t.Fatalf("a sound page: %v", faults)
	}
	for _, main := range []string{
		`<p>`, `</p>`, `<b><i></b></i>`, `<br/>`, `<p><div></div></p>`, `<p id="a"></p><p id="a"></p>`, `<p id="a b"></p>`,
		`<p class="a" class="b"></p>`,
		`<p style="color:red"></p>`, `<p onclick="x()"></p>`, `<style></style>`, `<script>x()</script>`,
		`<script src="https://cdn.example/x.js" integrity="x"></script>`, `<script src="/x.js"></script>`,
		`<img src="/x">`, `<img alt="" src="//cdn.example/x">`, `<a href="https://example.com/">x</a>`,
		`<a href="javascript:x()">x</a>`, `<a href="#nowhere">x</a>`,
		`<form method="post" action="/x"><input id="a" name="a"></form>`, `<label for="a">x</label>`,
		`<p aria-describedby="a"></p>`, `<button>x</button>`,
		`<form method="post"></form>`, `<form method="post" action="/x"><form method="post" action="/y"></form></form>`,
		`<h3>x</h3>`, `<h1>x</h1>`, `<main></main>`,
		`<a href="#ZgotmplZ">x</a>`, `<a autofocus></a><a autofocus></a>`,
	} {
		if len(checkDocument([]byte(frame(main)))) == 0 {
			t.Errorf("nothing wrong with %s", main)
		}
	}
}

// With -write it leaves the samples where a person can look at them.
func TestWriteSamples(t *testing.T) {
	folder := cmp.Or(*write, t.TempDir())
	save := func(name string, body []byte) {
		file := filepath.Join(folder, name)
		err := os.MkdirAll(filepath.Dir(file), 0o755)
		if err == nil {
			err = os.WriteFile(file, body, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	draw := func(b Brand, language, prefix string, names ...string) {
		// Relative links, so that the files open from a disk; every sample is in one folder beside static.
		pages, err := New(".", b)
		if err != nil {
			t.Fatal(err)
		}
		for name, file := range pages.assets.files {
			save("static/"+name, file.body)
		}
		for _, s := range samples() {
			if len(names) > 0 && !slices.Contains(names, s.name) {
				continue
			}
			body, err := pages.Render(pages.Languages.Listed(language), s.page)
			if err != nil {
				t.Fatal(err)
			}
			save(prefix+s.name+".html", body)
		}
	}
	another := Brand{Name: "Stadtwerke Beispielhausen", Logo: svgOf(`<circle cx="10" cy="5" r="5" fill="#8a1c7c"/>`),
		Color: "#8a1c7c", HelpURL: "https://example.com/help", TermsURL: "https://example.com/terms",
		PrivacyURL: "https://example.com/privacy"}
	b := Brand{}
	if *branded {
		b = another
	}
	draw(b, *in, "")
	// German has the longest words, and the other pages differ only in their texts. TestBrowserAccessibility reads these.
	draw(another, "de", "brand-", "login-servers", "consent-described", "account", "recovery-codes", "users")
	mails, err := NewMails(b)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range mailSamples() {
		subject, text, html, err := mails.Render(mails.Languages.Listed(*in), s.page)
		if err != nil {
			t.Fatal(err)
		}
		save("mail-"+s.name+".html", []byte(html))
		save("mail-"+s.name+".txt", []byte("Subject: "+subject+"\n\n"+text))
	}
}
