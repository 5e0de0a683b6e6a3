package throttle

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// left uses all tries that are left, and returns their number.
func (t *Throttle) left(want Try) int {
	for n := 0; ; n++ {
		if _, wait := t.Take(want); wait > 0 || n == 1000 {
			return n
		}
	}
}

func TestThrottle(t *testing.T) {
	three := Limit{Tries: 3, Refill: 10 * time.Second}
	a, b := Try{Kind: 0, Key: "a", Wide: "wide"}, Try{Kind: 1, Key: "b", Wide: "wide"}
	begin := func(t *testing.T, rule string, test func(t *testing.T, th *Throttle)) {
		t.Run(rule, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test(t, New(100, three, three)) })
		})
	}
	begin(t, "tries run out, and come back one by one", func(t *testing.T, th *Throttle) {
		if n := th.left(a); n != 3 {
			t.Error(n, "tries")
		}
		for wait := 10 * time.Second; wait > 0; wait -= time.Second {
			if _, got := th.Take(a); got != wait || th.Wait(a) != wait {
				t.Errorf("wait for %v and %v, want %v", got, th.Wait(a), wait)
			}
			time.Sleep(time.Second)
		}
		if n := th.left(a); n != 1 {
			t.Error(n, "tries have come back")
		}
		time.Sleep(25 * time.Second)
		if n := th.left(a); n != 2 {
			t.Error(n, "tries have come back")
		}
	})
	begin(t, "no more tries are saved up than the limit", func(t *testing.T, th *Throttle) {
		_, _ = th.Take(a)
		time.Sleep(time.Hour)
		if n := th.left(a); n != 3 {
			t.Error(n, "tries after an hour")
		}
	})
	begin(t, "who is refused takes from no other counter, and waits for the later one", func(t *testing.T, th *Throttle) {
		th.left(a)
		time.Sleep(5 * time.Second)
		th.left(Try{Kind: 0, Key: "c", Wide: ""})
		for range 20 {
			if _, wait := th.Take(Try{Kind: 0, Key: "d", Wide: ""}, a, Try{Kind: 0, Key: "c", Wide: ""},
				b); wait != 10*time.Second {
				t.Error("wait for", wait)
			}
		}
		if n, m := th.left(b), th.left(Try{Kind: 0, Key: "d", Wide: ""}); n != 3 || m != 3 {
			t.Error(n, m, "tries are left")
		}
	})
	begin(t, "success gives back, never more than was there, and leaves nothing behind", func(t *testing.T, th *Throttle) {
		for range 100 {
			giveBack, wait := th.Take(a, b)
			if wait > 0 {
				t.Fatal("wait for", wait)
			}
			giveBack()
			giveBack()
		}
		if n := len(th.kinds[0].known) + len(th.kinds[1].order); n != 0 {
			t.Error(n, "counters are left of tries that were given back")
		}
		if n := th.left(a); n != 3 {
			t.Error(n, "tries")
		}
	})
	begin(t, "who looks takes nothing, and is not kept", func(t *testing.T, th *Throttle) {
		for range 10 {
			if th.Wait(a, b) != 0 {
				t.Error("there is none to wait for")
			}
		}
		if n := len(th.kinds[0].known) + len(th.kinds[1].order); n != 0 {
			t.Error(n, "counters")
		}
	})
	begin(t, "kinds are apart", func(t *testing.T, th *Throttle) {
		th.left(a)
		if n := th.left(Try{Kind: 1, Key: "a", Wide: "wide"}); n != 3 {
			t.Error(n, "tries of another kind")
		}
	})
}

func TestThrottleIsBounded(t *testing.T) {
	const most = 64
	three := Limit{Tries: 3, Refill: 10 * time.Second}
	begin := func(t *testing.T, rule string, test func(t *testing.T, th *Throttle)) {
		t.Run(rule, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test(t, New(most, three)) })
		})
	}
	// flood uses the given number of tries of each of n new keys.
	flood := func(th *Throttle, name string, n, each int) {
		for i := range n {
			for range each {
				_, _ = th.Take(Try{Kind: 0, Key: fmt.Sprint(name, i), Wide: name})
			}
		}
	}
	victim := Try{Kind: 0, Key: "victim", Wide: "home"}
	begin(t, "what is exhausted survives any flood of new keys", func(t *testing.T, th *Throttle) {
		th.left(victim)
		flood(th, "once", 100*most, 1)
		flood(th, "twice", 100*most, 2)
		if n := th.left(victim); n != 0 {
			t.Error(n, "new tries")
		}
		if n := th.Size(); n > most {
			t.Error(n, "counters")
		}
	})
	begin(t, "the fullest goes first", func(t *testing.T, th *Throttle) {
		flood(th, "twice", most/2, 2)
		flood(th, "once", most/2, 1)
		flood(th, "new", most/2, 2)
		for i := range most / 2 {
			if n := th.left(Try{Kind: 0, Key: fmt.Sprint("twice", i), Wide: "twice"}); n != 1 {
				t.Fatal(n, "tries of a counter that had one")
			}
		}
	})
	begin(t, "what is full again makes room, without being asked for", func(t *testing.T, th *Throttle) {
		flood(th, "once", most, 1)
		time.Sleep(10 * time.Second)
		flood(th, "new", most/2, 1)
		if n := th.Size(); n != most/2 {
			t.Error(n, "counters, want those that are new")
		}
	})
	begin(t, "where all are exhausted, who is new is counted with the neighbours and nobody else",
		func(t *testing.T, th *Throttle) {
			flood(th, "attacker", 10*most, 3)
			if n := th.left(Try{Kind: 0, Key: "another of them", Wide: "attacker"}); n != 0 {
				t.Error(n, "tries of one more of the attacker's")
			}
			if n := th.left(victim); n != 3 {
				t.Error(n, "tries from elsewhere")
			}
			if n := th.left(Try{Kind: 0, Key: "neighbour", Wide: "home"}); n != 0 {
				t.Error(n, "more tries of the same neighbours")
			}
			time.Sleep(10 * time.Second) // each has a try again, so one of them can go
			if n := th.left(Try{Kind: 0, Key: "new", Wide: "attacker"}); n != 3 {
				t.Error(n, "tries of who is new")
			}
		})
	begin(t, "where the wider counters are exhausted too, who is new waits and who is known does not",
		func(t *testing.T, th *Throttle) {
			giveBack, _ := th.Take(victim)
			for i := range 2 * most { // the victim's counter has two tries left, so it is replaced first
				th.left(Try{Kind: 0, Key: fmt.Sprint("attacker", i), Wide: fmt.Sprint("net", i)})
			}
			for i := range 10 * most {
				th.left(Try{Kind: 0, Key: fmt.Sprint("more", i), Wide: fmt.Sprint("net", i)})
			}
			if _, wait := th.Take(Try{Kind: 0, Key: "new", Wide: "new"}); wait <= 0 || wait > 10*time.Second {
				t.Error("who is new waits for", wait)
			}
			if n := th.Size(); n > most+most/8 {
				t.Error(n, "counters")
			}
			giveBack() // its counter was replaced, so this has no effect
			for i := range most {
				if th.left(Try{Kind: 0, Key: fmt.Sprint("attacker", i), Wide: "x"}) != 0 {
					t.Fatal("a try came from nowhere")
				}
			}
		})
	begin(t, "a try that needs two new counters where there is room for one takes neither",
		func(t *testing.T, th *Throttle) {
			flood(th, "attacker", most-1, 3)
			one := New(1, Limit{Tries: 1, Refill: time.Minute})
			_, wait := one.Take(Try{Kind: 0, Key: "a", Wide: "a"}, Try{Kind: 0, Key: "b", Wide: "a"},
				Try{Kind: 0, Key: "c", Wide: "a"})
			if wait == 0 {
				t.Error("it is taken")
			}
			if n := one.Size(); n != 0 {
				t.Error(n, "counters are left of it")
			}
		})
}

// A try costs no more when the memory is full.
func BenchmarkThrottleFull(b *testing.B) {
	const size = 50_000
	th := New(size, Limit{Tries: 100, Refill: time.Second})
	for i := range size {
		_, _ = th.Take(Try{Kind: 0, Key: fmt.Sprint("first", i), Wide: ""})
	}
	for i := 0; b.Loop(); i++ {
		_, _ = th.Take(Try{Kind: 0, Key: fmt.Sprint(i), Wide: ""})
	}
}

func TestSite(t *testing.T) {
	for address, want := range map[string]string{"192.0.2.1": "192.0.2.0/24", "::ffff:192.0.2.1": "192.0.2.0/24",
		"64:ff9b::192.0.2.1": "192.0.2.0/24", "64:ff9b::198.51.100.1": "198.51.100.0/24",
		"2001:db8:1:2::1": "2001:db8:1::/48", "2001:db8:1:ffff::1": "2001:db8:1::/48", "": ""} {
		if got := Site(address); got != want {
			t.Errorf("%q is in %q, want %q", address, got, want)
		}
	}
}

func TestNetwork(t *testing.T) {
	for address, want := range map[string][2]string{
		"192.0.2.1": {"192.0.2.1", "192.0.0.0/16"}, "::ffff:192.0.2.1": {"192.0.2.1", "192.0.0.0/16"},
		"2001:db8:1:2::1":      {"2001:db8:1:2::/64", "2001:db8::/32"},
		"2001:db8:0:0:ffff::1": {"2001:db8::/64", "2001:db8::/32"}, "fe80::1%eth0": {"fe80::/64", "fe80::/32"},
		"::1": {"::/64", "::/32"},
		// RFC 6052, RFC 8215
		"64:ff9b::192.0.2.1": {"192.0.2.1", "192.0.0.0/16"}, "64:ff9b:1::192.0.2.1": {"192.0.2.1", "192.0.0.0/16"},
		"": {"", ""}, "@": {"@", "@"}, "192.0.2.1:80": {"192.0.2.1:80", "192.0.2.1:80"},
	} {
		if got := [2]string{Network(address), WideNetwork(address)}; got != want {
			t.Errorf("%q is in %q, want %q", address, got, want)
		}
	}
}

// One customer with a whole IPv6 /48 or IPv4 /24 has the tries of SiteShare networks, and uses up nobody else's.
func TestSiteHasTheTriesOfAFewNetworks(t *testing.T) {
	const most, tries = 64, 3
	for _, site := range []struct{ name, format, neighbour, stranger string }{
		{"an IPv6 /48", "2001:db8:7:%x::1", "2001:db8:7:ffff::1", "2001:db8:8::1"},
		{"an IPv4 /24", "198.51.100.%d", "198.51.100.255", "198.51.101.1"},
	} {
		t.Run(site.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				th := New(most, Limit{Tries: tries, Refill: 10 * time.Second},
					Limit{Tries: tries, Refill: 10 * time.Second, Site: 2, SiteRefill: time.Minute})
				for kind, want := range []int{SiteShare * tries, 2 * tries} {
					flood := func() (n int) {
						for i := range 250 {
							n += th.left(From(kind, "what ", fmt.Sprintf(site.format, i)))
						}
						return n
					}
					if n := flood(); n != want {
						t.Errorf("kind %d: the whole site has %d tries, want %d", kind, n, want)
					}
					if n := th.left(From(kind, "what ", site.neighbour)); n != 0 {
						t.Errorf("kind %d: another network of the site has %d tries", kind, n)
					}
					if n := th.left(From(kind, "what ", site.stranger)); n != tries {
						t.Errorf("kind %d: another site has %d tries", kind, n)
					}
					if n := th.left(From(kind, "other ", fmt.Sprintf(site.format, 0))); n != tries {
						t.Errorf("kind %d: the same network has %d tries of something else", kind, n)
					}
					time.Sleep(time.Minute)
					if n, want := flood(), []int{SiteShare * tries, 1}[kind]; n != want {
						t.Errorf("kind %d: after a minute the site has %d tries, want %d", kind, n, want)
					}
				}
				if n := len(th.kinds[0].order); n > SiteShare*tries+2*tries {
					t.Error("the site has made", n, "counters of networks")
				}
			})
		})
	}
	giveBack := func(th *Throttle) {
		back, _ := th.Take(From(0, "", "192.0.2.1"))
		back()
		if n := th.Size(); n != 0 {
			t.Error("a success leaves", n, "counters")
		}
	}
	giveBack(New(most, Limit{Tries: 1, Refill: time.Minute}))
}
