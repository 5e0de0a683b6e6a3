package provider

import (
	"fmt"
	"testing"
	"testing/synctest"

	"mandate/provider/clients"
	"mandate/provider/limits"
	"mandate/provider/people"
	"mandate/provider/policy"
	"mandate/storage"
)

// While all counters of a kind are used up, the addresses of a wide network share one. A
// flood of one thing must not use up the tries of another.
func TestFloodOfOneThingSparesOthers(t *testing.T) {
	const room, refused = 16, "429 temporarily_unavailable"
	flood := func(t *testing.T, ask func(address string) string) {
		for i := range room + 1 { // the last address uses up the counter of the wide network
			for n := 0; ask(fmt.Sprintf("192.0.%d.1", i)) != refused; n++ {
				if n > limits.Of(limits.OfAddress).Tries {
					t.Fatal("still not slowed")
				}
			}
		}
		if got := ask("192.0.99.1"); got != refused {
			t.Fatal("another address of the wide network:", got)
		}
	}
	for _, flooded := range []string{"unknown clients", "requests of devices"} {
		t.Run(flooded, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := begin(t, func(c *Config) { c.Device.MaxPending = 0 })
				f.limits.Tries = limits.NewThrottle(room)
				television, s := f.television(), f.login("alice")
				nobody := &clients.Registered{
					Application: storage.Application{ClientID: "nobody", ClientType: policy.Confidential},
					Secret:      "x",
				}
				things := map[string]func(address string) string{
					"unknown clients": func(address string) string {
						_, _, err := f.Grants.Token(t.Context(), by(nobody, "grant_type", policy.GrantClient), address)
						return kind(err)
					},
					"requests of devices": func(address string) string { return kind(second(f.device(television, address))) },
					"logins": func(address string) string {
						return kind(second(f.People.Login(t.Context(), "nobody", "wrong", people.Browser{Address: address})))
					},
					"user codes": func(address string) string {
						return kind(second(f.Devices.Find(t.Context(), "BBBB-BBBB", s, address)))
					},
				}
				flood(t, things[flooded])
				delete(things, flooded)
				for thing, ask := range things {
					if got := ask("192.0.99.1"); got == refused {
						t.Errorf("%s: %s", thing, got)
					}
				}
			})
		})
	}
}
