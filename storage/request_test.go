package storage

import (
	"context"
	"crypto/rand"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func newRequest() Request {
	return Request{Digest: rand.Text(), ClientID: "web", Parameters: "sealed", ChargedTo: "owner", Network: "192.0.2.1",
		OpensUntil: at + 90, ExpiresAt: at + 3600}
}

func (w world) request(t *testing.T) Request {
	t.Helper()
	r := newRequest()
	must(t, w.AddRequest(t.Context(), r, 0, 0, at))
	return r
}

func TestRequestIsReadUntilItIsSwept(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		r := w.request(t)
		read, err := w.Request(t.Context(), r.Digest)
		must(t, err)
		if diff := cmp.Diff(r, read); diff != "" {
			t.Error(diff)
		}
		_, err = w.Sweep(t.Context(), r.ExpiresAt, 10)
		must(t, err)
		_, err = w.Request(t.Context(), r.Digest)
		is(t, "swept", err, ErrNotFound)
	})
}

// Of many answers to one pushed request, on several nodes, one stores its grant. The others
// store nothing.
func TestRequestIsUsedOnceTogetherWithTheGrant(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		alice, a := w.person(t, "alice"), w.application(t, "web")
		n, stores := w.session(t, alice.ID), w.pair(t)
		r := w.request(t)
		outcomes := make([]error, 8)
		var all sync.WaitGroup
		for i := range outcomes {
			all.Go(func() {
				outcomes[i] = stores[i%2].AddGrant(context.WithoutCancel(t.Context()), inSession(newGrant(alice.ID, a.ID), n),
					"", r.Digest)
			})
		}
		all.Wait()
		stored := 0
		for _, err := range outcomes {
			if err == nil {
				stored++
			} else {
				is(t, "the others", err, ErrNotFound)
			}
		}
		if grants := count(t, w.Store, `SELECT COUNT(*) FROM grants`); stored != 1 || grants != 1 {
			t.Errorf("%d answers succeeded, and %d grants are stored: want 1", stored, grants)
		}
		read, err := w.Request(t.Context(), r.Digest)
		must(t, err)
		if read.UsedAt == nil || read.Parameters != "" {
			t.Errorf("the used request is %+v", read)
		}
		is(t, "a denial after it", w.UseRequest(t.Context(), r.Digest, at), ErrNotFound)
	})
}

// A grant that cannot be stored leaves the request unused: the person can try again.
func TestRequestStaysUnusedIfItsGrantFails(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		alice, a := w.person(t, "alice"), w.application(t, "web")
		r := w.request(t)
		n := w.session(t, alice.ID)
		g := inSession(newGrant(alice.ID, a.ID), n)
		must(t, w.EndSession(t.Context(), alice.ID, n.ID, at, false))
		is(t, "without a session", w.AddGrant(t.Context(), g, "", r.Digest), ErrSpent)
		is(t, "an expired one", w.UseRequest(t.Context(), r.Digest, r.ExpiresAt), ErrNotFound)
		must(t, w.UseRequest(t.Context(), r.Digest, at))
	})
}

func TestRequestsAreLimitedByQuotaAndNetwork(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		add := func(network string, now int64) error {
			r := newRequest()
			r.Network, r.ExpiresAt = network, now+3600
			return w.AddRequest(t.Context(), r, 3, 2, now)
		}
		used := newRequest()
		used.OpensUntil++
		must(t, w.AddRequest(t.Context(), used, 3, 2, at))
		must(t, add("192.0.2.1", at))
		is(t, "a third of one network", add("192.0.2.1", at), ErrFull)
		must(t, add("192.0.2.2", at))
		is(t, "a fourth, for which the network with two makes room", add("192.0.2.3", at), nil)
		is(t, "a fifth, where each network has one", add("192.0.2.3", at), ErrFull)
		must(t, w.UseRequest(t.Context(), used.Digest, at))
		must(t, add("192.0.2.3", at))
		must(t, add("192.0.2.1", at+3600)) // all others have expired
	})
}

// A request that nobody has opened expires soon. An opened one stays for as long as the person may
// take, and a used one is not brought back.
func TestKeptRequestExpiresLater(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		kept, other, used := w.request(t), w.request(t), w.request(t)
		must(t, w.UseRequest(t.Context(), used.Digest, at))
		later := kept.ExpiresAt + 7200
		for _, until := range []int64{later, later - 1} { // the second changes nothing
			must(t, w.KeepRequest(t.Context(), kept.Digest, until))
		}
		must(t, w.KeepRequest(t.Context(), used.Digest, later))
		_, err := w.Sweep(t.Context(), later-1, 10)
		must(t, err)
		read, err := w.Request(t.Context(), kept.Digest)
		must(t, err)
		kept.ExpiresAt = later
		if diff := cmp.Diff(kept, read); diff != "" {
			t.Error(diff)
		}
		for what, r := range map[string]Request{"not opened": other, "used": used} {
			_, err = w.Request(t.Context(), r.Digest)
			is(t, what, err, ErrNotFound)
		}
	})
}
