package wire

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// A secret of the target is masked however a server writes it.
func TestMaskSpellings(t *testing.T) {
	const secret = `ab/cd+ef"gh'ij&kl!1`
	var page strings.Builder
	template.Must(template.New("x").Parse(`<input name=x value="{{.}}">`)).Execute(&page, secret)
	object, _ := json.Marshal(map[string]string{"error_description": "not good: " + secret}) // it is a string
	m := NewMask()
	m.OwnClient("code", "m 1", secret)
	basic := base64.StdEncoding.EncodeToString([]byte("m 1:" + secret))
	encoded := base64.StdEncoding.EncodeToString([]byte("m+1:" + url.QueryEscape(secret)))
	for text, want := range map[string]string{
		page.String():    `<input name=x value="$CODE_SECRET">`,
		string(object):   `{"error_description":"not good: $CODE_SECRET"}`,
		"said " + secret: "said $CODE_SECRET",
		`{"x":"not good: ab\/cd+ef\"gh'ij\u0026kl!1"}`:                `{"x":"not good: $CODE_SECRET"}`,
		`{"x":"not good: ab/cd+ef\"gh'ij&kl!1"}`:                      `{"x":"not good: $CODE_SECRET"}`,
		`<b>ab/cd+ef&#34;gh&#39;ij&amp;kl!1</b>`:                      `<b>$CODE_SECRET</b>`,
		`<b>ab/cd+ef&quot;gh&#x27;ij&amp;kl!1</b>`:                    `<b>$CODE_SECRET</b>`,
		`<b>ab&#x2F;cd+ef&quot;gh&#x27;ij&amp;kl!1</b>`:               `<b>$CODE_SECRET</b>`,
		"/x?y=ab%2Fcd%2Bef%22gh'ij%26kl!1":                            "/x?y=$CODE_SECRET",
		"/x?y=ab%2fcd%2bef%22gh%27ij%26kl%211":                        "/x?y=$CODE_SECRET",
		"/x?y=%2Fz%3Fs%3Dab%252Fcd%252Bef%2522gh%2527ij%2526kl%25211": "/x?y=%2Fz%3Fs%3D$CODE_SECRET",
		fmt.Sprintf("the server said %q", secret):                     `the server said "$CODE_SECRET"`,
		"it is YWIvY2QrZWYiZ2gnaWoma2whMQ==":                          "it is $CODE_SECRET",
		"it is YWIvY2QrZWYiZ2gnaWoma2whMQ":                            "it is $CODE_SECRET",
		"Authorization: Basic " + basic + "\n":                        "Authorization: Basic $CODE_CREDENTIALS\n",
		"Authorization: Basic " + encoded + "\n":                      "Authorization: Basic $CODE_CREDENTIALS\n",
	} {
		if got := m.Hide(text); got != want {
			t.Errorf("%s becomes %s, want %s", text, got, want)
		}
	}
}

// A short password, and one that could be a word, is masked wherever it is a whole word. A value that is public, or a
// word of the protocol, is not.
func TestMaskWords(t *testing.T) {
	m := NewMask()
	m.Show("alice")
	m.Own("password", "correcthorse")
	m.Own("code_secret", "s~2")
	m.OwnClient("machine", "m1", "hunter2")
	m.Own("second_secret", "alice")
	m.Own("third_secret", "token")
	m.Own("fourth_secret", "x")
	for text, want := range map[string]string{
		"You typed correcthorse, alice":                   "You typed $PASSWORD, alice",
		"incorrecthorses and correcthorse_1":              "incorrecthorses and correcthorse_1",
		`<b>correcthorse</b>{"x":"\ncorrecthorse\u0020"}`: `<b>$PASSWORD</b>{"x":"\n$PASSWORD\u0020"}`,
		"/x?back=%2Fy%3Fpw%3Dcorrecthorse%26x":            "/x?back=%2Fy%3Fpw%3D$PASSWORD%26x",
		"the secret s~2 is wrong, 's~2'":                  "the secret $CODE_SECRET is wrong, '$CODE_SECRET'",
		"hunter2 is not hunter22":                         "$MACHINE_SECRET is not hunter22",
		"Basic bTE6aHVudGVyMg==":                          "Basic $MACHINE_CREDENTIALS",
		"Y29ycmVjdGhvcnNl":                                "$PASSWORD",
		"the token x":                                     "the token x",
		"token=token&code=x":                              "token=$THIRD_SECRET&code=$FOURTH_SECRET",
	} {
		if got := m.Hide(text); got != want {
			t.Errorf("%s becomes %s, want %s", text, got, want)
		}
	}
}

// The time for an answer of a mebibyte that looks like many secrets grows with its length. What has no name is masked
// too.
func TestMaskManySecrets(t *testing.T) {
	var body strings.Builder
	for i := 0; body.Len() < 1<<20-64; i++ {
		fmt.Fprintf(&body, `{"code":"%08x"},`, i+0x10000000)
	}
	for name, text := range map[string]string{
		"codes":   body.String(),
		"pairs":   strings.Repeat("code=x&token=y&", 1<<16),
		"fields":  strings.Repeat(`<input type=hidden name=a value="abcdefghijklmnopqrstuvwxyz">`, 1<<14),
		"equals":  strings.Repeat("code=%=", 1<<17),
		"tags":    strings.Repeat(`<input value=`, 1<<16),
		"escapes": strings.Repeat(`%2F\u0026correcthorse`, 1<<15),
	} {
		mask := func(text string) (*Mask, Exchange, time.Duration) {
			m := NewMask()
			m.Own("password", "correcthorse")
			a := &Answer{Method: "POST", URL: &url.URL{Scheme: "http", Host: "h"}, SentHeader: http.Header{}, Body: []byte(text)}
			began := time.Now()
			m.Learn(a)
			e := m.Exchange(a)
			return m, e, time.Since(began)
		}
		// The time grows with the length, and not with its square. A moment is not measured: the machine may be busy.
		_, _, quarter := mask(text[:len(text)/4])
		m, e, took := mask(text)
		if took > 12*quarter && took > time.Second {
			t.Errorf("%s took %s, and a quarter of it %s", name, took, quarter)
		}
		if name == "codes" &&
			(!strings.Contains(e.Got, "left out") ||
				m.Hide("code=1000ffff and code=10000001") != "code=$SECRET and code=$CODE2") {
			t.Errorf("%s, %s", e.Got, m.Hide("code=1000ffff and code=10000001"))
		}
	}
}

// The name of a variable that the server wrote itself is no variable.
func TestCurlVariablesOfTheServer(t *testing.T) {
	m := NewMask()
	m.Own("password", "hunter2hunter2")
	a := &Answer{Method: "GET", URL: ParseURL("http://10.0.0.9/x?a=$PASSWORD&b=\uE000PASSWORD\uE001&c=hunter2hunter2"),
		SentHeader: http.Header{}, Header: http.Header{}}
	for _, script := range []string{m.Exchange(a).Repeat,
		m.Repeat(a, Visit{Begins: func(*Answer) *Answer { return nil }})} {
		if want := `curl -i 'http://10.0.0.9/x?a=$PASSWORD&b=?PASSWORD?&c='"$PASSWORD"`; script != want {
			t.Errorf("it is %s, want %s", script, want)
		}
	}
}

// curl sends one request, whatever the address has. A command that nobody can paste is not shown in full.
func TestCurlOneRequest(t *testing.T) {
	a := &Answer{Method: "GET", URL: ParseURL("http://10.0.0.9/x?y=[1-1000000]"), SentHeader: http.Header{},
		Header: http.Header{}}
	if got := NewMask().curl(a, ""); got != "curl -i -g 'http://10.0.0.9/x?y=[1-1000000]'" {
		t.Error(got)
	}
	a = &Answer{Method: "POST", URL: ParseURL("http://10.0.0.9/x?" + strings.Repeat("long", 1<<14)),
		SentHeader: http.Header{"X": {strings.Repeat("long", 1<<14)}},
		SentForm:   url.Values{"pad": {strings.Repeat("é\n", 300<<10)}}.Encode(), contentType: FormEncoded,
		Header: http.Header{}}
	e := NewMask().Exchange(a)
	if !strings.HasPrefix(e.Repeat, "# Too long to repeat: curl -i ") || strings.Contains(e.Repeat, "\n") || len(e.Repeat)+
		len(e.Sent) > 10<<10 {
		t.Errorf("%d and %d bytes: %.200s", len(e.Repeat), len(e.Sent), e.Repeat)
	}
}
