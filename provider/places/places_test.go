package places

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

func TestHost(t *testing.T) {
	for at, want := range map[string]string{
		"https://a.example/keys": "a.example", "https://A.Example.:8443/keys": "a.example",
		"https://b.c.a.example":   "a.example",
		"https://one.evil.co.uk/": "evil.co.uk", "https://co.uk/": "co.uk", "https://one.github.io/": "one.github.io",
		"https://x.one.github.io/": "one.github.io",
		"http://localhost:8000/":   "localhost", "https://192.0.2.1/": "192.0.2.1", "https://192.0.2.2/": "192.0.2.2",
		"https://[::ffff:192.0.2.1]/": "192.0.2.1",
		"https://[2001:db8:1:2::3]/":  "2001:db8:1::/48", "https://[2001:db8:1:ffff::3]:1/": "2001:db8:1::/48",
		"https://[2001:db8:2::3]/": "2001:db8:2::/48", "%": "%",
	} {
		if got := Host(at); got != want {
			t.Errorf("%s: %q, want %q", at, got, want)
		}
	}
}

// enter takes as many places as there are, up to a number.
func enter(p *Places, most int, at, who string) (leave []func()) {
	for i := range most {
		one := p.Enter(fmt.Sprintf(at, i), fmt.Sprintf(who, i))
		if one == nil {
			return leave
		}
		leave = append(leave, one)
	}
	return leave
}

// A name server answers for any name below one domain, so these names are one host.
//
// Resembles CVE-2023-50868 in its class: one who registers a domain has any number of names below it.
func TestAttackNamesBelowOneDomain(t *testing.T) {
	for at, want := range map[string]int{
		"https://%d.evil.example/": PerHost, "https://x.%d.evil.co.uk/": PerHost, "https://[2001:db8:1:%d::1]/": PerHost,
		"https://evil.example:1%d/": PerHost,
		"https://evil-%d.example/":  Most, "https://%d.github.io/": Most,
	} {
		p := New()
		leave := enter(p, 100, at, "somebody %[1]d")
		if len(leave) != want || p.Taken() != want {
			t.Errorf("%s: %d places, %d are taken, want %d", at, len(leave), p.Taken(), want)
		}
		for _, one := range leave {
			one()
		}
		if p.Taken()+len(p.of[0].ofHost)+len(p.of[0].ofWho)+len(p.of[0].ofBoth) != 0 {
			t.Errorf("%s: %+v is left", at, p.of[0])
		}
	}
}

func TestWhoHasNoLimit(t *testing.T) {
	for who, want := range map[string]int{"mallory": PerWho, "": Most} {
		p := New()
		for i := range 2 * Most {
			p.Enter(fmt.Sprintf("https://evil-%d.example/", i), who)
		}
		if p.Taken() != want {
			t.Errorf("%q has %d places, want %d", who, p.Taken(), want)
		}
	}
}

// An address that was read once, and then fails, has no place among those that work, until it has not failed for a
// while.
func TestOneSuccessGivesNoLastingPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const good, bad = "https://good.example/", "https://bad.example/"
		p := New()
		p.Note(good, "", true, 0)
		p.Note(bad, "", true, 0)
		p.Note("https://never.example/", "", false, 0)
		p.Note(bad, "", false, 0)
		if len(p.known) != 2 {
			t.Errorf("%d addresses are remembered: one that was never read is", len(p.known))
		}
		works := func(at string, want bool) {
			t.Helper()
			if got := p.Works(at); got != want {
				t.Errorf("%s works: %v", at, got)
			}
		}
		works(good, true)
		works(bad, false)
		enter(p, Most, "https://evil-%d.example/", "somebody %[1]d")
		if p.Enter(bad, "") != nil {
			t.Error("an address that has failed has the place of one that works")
		}
		leave := p.Enter(good, "")
		if leave == nil {
			t.Fatal("an address that works has no place")
		}
		// Whether it works can change while it is read.
		p.Note(good, "", false, 0)
		leave()
		if p.of[1].all != 0 || p.of[0].all != Most {
			t.Errorf("%d and %d places are taken", p.of[0].all, p.of[1].all)
		}
		time.Sleep(Distrust - time.Second)
		p.Note(bad, "", true, 0)
		works(bad, false)
		time.Sleep(time.Second)
		works(bad, true)
	})
}

// One whose addresses all answer displaces his own from the memory, and not those of others.
func TestAttackMemoryOfOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New()
		p.Note("good", "bank", true, 0)
		for i := range 2 * known {
			time.Sleep(time.Millisecond)
			p.Note(fmt.Sprint(i), "mallory", true, 0)
		}
		if !p.Works("good") || len(p.known) != known {
			t.Errorf("%d addresses are remembered, and that of another is not one", len(p.known))
		}
		if p.Works("0") || !p.Works(fmt.Sprint(2*known-1)) {
			t.Error("the oldest one stays")
		}
	})
}

func TestFirst(t *testing.T) {
	now := time.Now()
	all := map[string]Entry{
		"fetched": {Unread: true, Stays: true}, "unread of many": {Unread: true, Who: "a", Last: now},
		"unread": {Unread: true, Who: "b", Last: now.Add(-time.Hour)},
		"fails":  {Who: "a", Fails: true, Last: now}, "old": {Who: "a", Last: now.Add(-time.Minute)},
		"new":        {Who: "a", Last: now},
		"of another": {Who: "b", Fails: true, Last: now.Add(-time.Hour)},
	}
	// While a and b have as many, the one that fails goes first.
	for _, want := range []string{"unread of many", "unread", "fails", "old", "of another", "new"} {
		got := First(all, func(_ string, e Entry) Entry { return e })
		if got != want {
			t.Fatalf("%q goes, want %q", got, want)
		}
		delete(all, got)
	}
	if got := First(all, func(_ string, e Entry) Entry { return e }); got != "" {
		t.Errorf("%q goes", got)
	}
}

// Addresses that answer, and always late, hold places as long as addresses that do not answer. So they have no places
// among those that work.
//
// Resembles CVE-2007-6750 (Slowloris) in its class: a peer who is slow, and makes no error, uses up what all share.
func TestAttackSlowAddressesThatAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const honest = "https://honest.example/"
		p := New()
		p.Note(honest, "honest", true, Slow)
		var leave []func()
		for i := range Most {
			at, who := fmt.Sprintf("https://slow-%d.example/", i), fmt.Sprint("somebody ", i)
			p.Note(at, who, true, Slow+1)
			if p.known[at] != nil {
				t.Fatal("an address that was always slow is remembered")
			}
			p.Note(at, who, true, 0)
			p.Note(at, who, true, Slow+1)
			one := p.Enter(at, who)
			if p.Works(at) || one == nil {
				t.Fatalf("address %d works: %v, it has a place: %v", i, p.Works(at), one != nil)
			}
			leave = append(leave, one)
		}
		if p.Enter(honest, "honest") == nil {
			t.Error("slow addresses have all places of those that work")
		}
		for _, one := range leave {
			one()
		}
		time.Sleep(Distrust)
		if !p.Works("https://slow-0.example/") {
			t.Error("an address is slow for ever")
		}
	})
}

// One alone does not take all places of a host: any client can have a URL of it.
func TestAttackPlacesOfAHost(t *testing.T) {
	p := New()
	for i := range 2 * PerHost {
		if got := p.Enter(fmt.Sprint("https://host.example/", i), "mallory") != nil; got != (i < PerBoth) {
			t.Errorf("place %d of one: %v", i, got)
		}
	}
	for i := range PerHost {
		if got := p.Enter(fmt.Sprint("https://host.example/of-others", i),
			fmt.Sprint(i)) != nil; got != (i < PerHost-PerBoth) {
			t.Errorf("place %d of others: %v", i, got)
		}
	}
	if p.TakenBy("mallory") != PerBoth || p.TakenBy("0") != 1 || p.TakenBy("another") != 0 {
		t.Errorf("%d and %d places are taken", p.TakenBy("mallory"), p.TakenBy("0"))
	}
	// Those for whom there is no limit have all.
	p = New()
	for i := range PerHost {
		if p.Enter(fmt.Sprint("https://host.example/", i), "") == nil {
			t.Errorf("there is no place %d for an administrator", i)
		}
	}
}
