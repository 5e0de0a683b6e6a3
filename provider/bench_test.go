package provider

import (
	"testing"

	"mandate/provider/policy"
)

// What the provider does inside a request, on a database in a file. Run with
//
//	go test ./provider -run xx -bench Grant -count 10 | tee new.txt
//
// and compare two of these by benchstat. `make bench` measures the whole server.

func BenchmarkGrantClientCredentials(b *testing.B) {
	f := begin(b)
	app := f.app()
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			_, _, err := f.Grants.Token(b.Context(), by(app, "grant_type", policy.GrantClient), "192.0.2.1")
			if err != nil {
				b.Error(err)
			}
		}
	})
}

// The grace period of a refresh token costs the derivation of its successor.
func BenchmarkGrantRefresh(b *testing.B) {
	for name, changes := range map[string][]func(*Config){"without grace": nil, "grace": {grace}} {
		b.Run(name, func(b *testing.B) {
			f := begin(b, changes...)
			app, s := f.app(), f.login("alice")
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				token := f.tokens(app, s).RefreshToken
				for pb.Next() {
					answer, err := f.refresh(app, token)
					if err != nil {
						b.Error(err)
						return
					}
					token = answer.RefreshToken
				}
			})
		})
	}
}

func BenchmarkGrantCode(b *testing.B) {
	f := begin(b)
	app, s := f.app(), f.login("alice")
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			_, err := f.exchange(app, f.code(app, s))
			if err != nil {
				b.Error(err)
			}
		}
	})
}

func BenchmarkIntrospection(b *testing.B) {
	f := begin(b)
	app := f.app(introspects)
	token := f.must(f.token(app, "grant_type", policy.GrantClient)).AccessToken
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			answer, _, err := f.Tokens.Introspect(b.Context(), by(app, "token", token), "192.0.2.1")
			if err != nil || !answer.Active {
				b.Error(answer, err)
			}
		}
	})
}
