package clientauth

import (
	"encoding/base64"
	"net/url"
	"strings"
	"testing"

	"mandate/provider/oauth"
	"mandate/provider/oauth/oauthtest"
)

func basic(text string) string { return "Basic " + base64.StdEncoding.EncodeToString([]byte(text)) }

func TestBasic(t *testing.T) {
	for _, test := range []struct{ rule, header, id, secret string }{
		{"RFC7617/2 id and secret", basic("client:secret"), "client", "secret"},
		{
			"RFC9110/11.1 the scheme has no case",
			"bAsIc " + base64.StdEncoding.EncodeToString([]byte("client:secret")),
			"client",
			"secret",
		},
		{
			"RFC9110/11.4 more than one space",
			"Basic   " + base64.StdEncoding.EncodeToString([]byte("client:secret")),
			"client",
			"secret",
		},
		{"RFC6749/2.3.1 both are form-encoded", basic("my%20client%3A1:p%C3%A4ss+w%2Brd%25"), "my client:1", "päss w+rd%"},
		{"RFC7617/2 a colon belongs to the secret", basic("client:a:b:"), "client", "a:b:"},
		{"an empty secret", basic("client:"), "client", ""},
		{"an empty id", basic(":secret"), "", "secret"},
	} {
		t.Run(test.rule, func(t *testing.T) {
			got, err := parseBasic(test.header)
			if err != nil || got != (credentials{
				id:      test.id,
				secret:  test.secret,
				decoded: strings.Contains(test.rule, "form-encoded"),
			}) {
				t.Error(got, err)
			}
		})
	}
	for rule, header := range map[string]string{
		"nothing":                          "",
		"no credentials":                   "Basic",
		"no credentials after a space":     "Basic ",
		"another scheme":                   "Bearer x",
		"a scheme that begins alike":       "Basically " + basic("a:b")[6:],
		"not Base64":                       "Basic ???",
		"Base64 of the URL alphabet":       "Basic _-_-",
		"no padding":                       "Basic YTpiYw",
		"no colon":                         basic("client"),
		"only a NUL":                       basic("a\x00:b"),
		"an encoded NUL":                   basic("a%00:b"),
		"not UTF-8":                        basic("a:\xff"),
		"encoded and not UTF-8":            basic("a:%ff"),
		"percent-encoding that breaks off": basic("client:100%"),
		"percent-encoding that is none":    basic("cl%zzient:secret"),
	} {
		t.Run("RFC6749/5.2 "+rule, func(t *testing.T) {
			_, err := parseBasic(header)
			oauthtest.Want(t, err, "401 invalid_client")
			if e, ok := err.(*oauth.Error); !ok || !strings.HasPrefix(e.Challenge, "Basic ") {
				t.Error("without a challenge:", err)
			}
		})
	}
}

func FuzzBasic(f *testing.F) {
	for _, header := range []string{
		"",
		"Basic",
		"Basic ",
		"Basic YTpi",
		"basic  YTpi",
		basic("a:b:c"),
		basic("%:"),
		basic("a%00:b"),
		basic("\xff:b"),
		"Bearer x",
		"Basic YTpi\nYTpi",
	} {
		f.Add(header, "client", "secret")
	}
	f.Fuzz(func(t *testing.T, header, id, secret string) {
		got, err := parseBasic(header)
		if err != nil && oauthtest.Kind(err) != "401 invalid_client" {
			t.Fatal(err)
		}
		if err == nil && (!oauth.PlainText(got.id) || !oauth.PlainText(got.secret)) {
			t.Fatalf("%q gives %q", header, got.id+":"+got.secret)
		}
		if !oauth.PlainText(id) || !oauth.PlainText(secret) {
			return
		}
		// RFC 6749 §2.3.1: decoding returns exactly what was encoded.
		got, err = parseBasic(basic(url.QueryEscape(id) + ":" + url.QueryEscape(secret)))
		if err != nil || got.id != id || got.secret != secret {
			t.Fatalf("%q:%q comes back as %q, %v", id, secret, got.id+":"+got.secret, err)
		}
	})
}
