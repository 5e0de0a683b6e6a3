package storage

import (
	"crypto/rand"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// newDevice returns a request whose codes are valid until at+300.
func newDevice(applicationID string) Device {
	return Device{Digest: rand.Text(), UserCode: rand.Text(), ApplicationID: applicationID, Scope: "read write",
		Resource: "https://files.example/",
		State:    DevicePending, Interval: 5, NextPollAt: at, ChargedTo: "owner", Network: "192.0.2.1", Address: "192.0.2.1",
		UserAgent: "television",
		CreatedAt: at, ExpiresAt: at + 300 + ExpiredDeviceLife}
}

func (w world) device(t *testing.T, applicationID string) Device {
	t.Helper()
	d := newDevice(applicationID)
	must(t, w.AddDevice(t.Context(), d, 0, 0))
	return d
}

// approvalOf returns the grant that approves a request.
func approvalOf(d Device, userID string) Grant {
	g := newGrant(userID, d.ApplicationID)
	g.GrantType, g.CodeDigest, g.CodeExpiresAt = "device", &d.Digest, d.CodesEnd()
	return g
}

func TestDeviceIsReadByBothCodes(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		d := w.device(t, "app")
		for what, got := range map[string]func() (Device, error){
			"device code": func() (Device, error) { return w.DeviceByCode(t.Context(), d.Digest) },
			"user code":   func() (Device, error) { return w.DeviceByUserCode(t.Context(), d.UserCode, at) },
		} {
			read, err := got()
			must(t, err)
			if diff := cmp.Diff(d, read); diff != "" {
				t.Errorf("by its %s: %s", what, diff)
			}
		}
		_, err := w.DeviceByUserCode(t.Context(), d.UserCode, d.CodesEnd())
		is(t, "an expired user code", err, ErrNotFound)
		is(t, "the same user code again", w.AddDevice(t.Context(), Device{Digest: "other", UserCode: d.UserCode}, 0, 0),
			ErrConflict)
	})
}

// A poll that comes too early extends the interval, and does not move the time of the next
// poll (RFC 8628 §3.5).
func TestPollOfADeviceIsEarlyOrInTime(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		d := w.device(t, "app")
		for i, poll := range []struct {
			now      int64
			early    bool
			interval int64
			next     int64
		}{
			{at, false, 5, at + 5},
			{at + 1, true, 10, at + 5},
			{at + 1, true, 15, at + 5},
			{at + 4, false, 15, at + 19}, // a second earlier is in time
			{at + 17, true, 20, at + 19},
			{at + 40, false, 20, at + 60},
		} {
			early, err := w.PollDevice(t.Context(), d.Digest, "app", poll.now)
			must(t, err)
			got, err := w.DeviceByCode(t.Context(), d.Digest)
			must(t, err)
			if early != poll.early || got.Interval != poll.interval || got.NextPollAt != poll.next {
				t.Errorf("poll %d: early %v, interval %d, next poll at+%d", i, early, got.Interval, got.NextPollAt-at)
			}
		}
	})
}

func TestOnlyAPendingRequestOfTheApplicationIsPolled(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		app := w.application(t, "app").ID
		alice := w.person(t, "alice")
		w.goesOn(t, "session of "+alice.ID, alice.ID)
		d, approved, denied := w.device(t, app), w.device(t, app), w.device(t, app)
		must(t, w.ApproveDevice(t.Context(), approvalOf(approved, alice.ID), ""))
		must(t, w.DenyDevice(t.Context(), denied.Digest, at))
		for what, poll := range map[string]struct {
			digest, application string
			now                 int64
		}{
			"unknown":             {"unknown", app, at},
			"another application": {d.Digest, "other", at},
			"expired":             {d.Digest, app, d.CodesEnd()},
			"approved":            {approved.Digest, app, at},
			"denied":              {denied.Digest, app, at},
		} {
			_, err := w.PollDevice(t.Context(), poll.digest, poll.application, poll.now)
			is(t, what, err, ErrNotFound)
		}
		unpolled, err := w.DeviceByCode(t.Context(), d.Digest)
		must(t, err)
		if diff := cmp.Diff(d, unpolled); diff != "" {
			t.Errorf("the polls changed the request: %s", diff)
		}
	})
}

// Concurrent polls share a statement, and each gets the answer for its own device.
func TestConcurrentPollsOfDevices(t *testing.T) {
	eachIsolation(t, func(t *testing.T, w world) {
		stores := w.pair(t)
		var waiting []Device
		for range 16 {
			waiting = append(waiting, w.device(t, "app"))
		}
		results := make([]bool, 128)
		for i, err := range race(128, func(i int) error {
			application, digest := "app", waiting[i%16].Digest
			switch {
			case i >= 112:
				digest = "unknown"
			case i >= 96:
				application = "other"
			}
			var err error
			results[i], err = stores[i%2].PollDevice(t.Context(), digest, application, at)
			return err
		}) {
			if (i >= 96) != errors.Is(err, ErrNotFound) || i < 96 && err != nil {
				t.Errorf("poll %d: %v", i, err)
			}
		}
		for n, d := range waiting {
			inTime, early := 0, 0
			for i := n; i < 96; i += 16 {
				if results[i] {
					early++
				} else {
					inTime++
				}
			}
			read, err := w.DeviceByCode(t.Context(), d.Digest)
			must(t, err)
			if inTime != 1 || early != 5 || read.NextPollAt != at+5 {
				t.Errorf("device %d: %d polls in time, %d early, the next at+%d", n, inTime, early, read.NextPollAt-at)
			}
		}
	})
}

func TestRequestOfADeviceIsDecidedOnce(t *testing.T) {
	eachIsolation(t, func(t *testing.T, w world) {
		app := w.application(t, "app").ID
		alice, stores := w.person(t, "alice"), w.pair(t)
		w.goesOn(t, "session of "+alice.ID, alice.ID)
		d := w.device(t, app)
		decided := 0
		for _, err := range race(32, func(i int) error {
			if i%2 == 0 {
				return stores[i/2%2].DenyDevice(t.Context(), d.Digest, at)
			}
			return stores[i/2%2].ApproveDevice(t.Context(), approvalOf(d, alice.ID), "")
		}) {
			if err == nil {
				decided++
			} else if !errors.Is(err, ErrNotFound) {
				t.Error(err)
			}
		}
		if decided != 1 {
			t.Errorf("%d decisions succeeded", decided)
		}
		read, err := w.DeviceByCode(t.Context(), d.Digest)
		must(t, err)
		_, err = w.GrantByCode(t.Context(), d.Digest, at)
		if has := err == nil; has != (read.State == DeviceApproved) {
			t.Errorf("the request is %s, and there is a grant: %v", read.State, has)
		}
	})
}

func TestApprovalNeedsAPendingRequestAndASession(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		app := w.application(t, "app").ID
		alice := w.person(t, "alice")
		d := w.device(t, app)
		is(t, "without the session", w.ApproveDevice(t.Context(), approvalOf(d, alice.ID), ""), ErrSpent)
		read, err := w.DeviceByCode(t.Context(), d.Digest)
		must(t, err)
		if read.State != DevicePending {
			t.Errorf("after it failed, the request is %s", read.State)
		}
		w.goesOn(t, "session of "+alice.ID, alice.ID)
		late := approvalOf(d, alice.ID)
		late.CreatedAt = d.CodesEnd()
		is(t, "too late", w.ApproveDevice(t.Context(), late, ""), ErrNotFound)
		must(t, w.ApproveDevice(t.Context(), approvalOf(d, alice.ID), ""))
		is(t, "deny what is approved", w.DenyDevice(t.Context(), d.Digest, at), ErrNotFound)
	})
}

func TestRequestsOfDevicesAreLimited(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		add := func(owner, network string, created int64) error {
			d := newDevice("app")
			d.ChargedTo, d.Network, d.CreatedAt = owner, network, created
			return w.AddDevice(t.Context(), d, 5, 2)
		}
		for i, c := range []struct {
			owner, network string
			want           error
		}{
			{"one", "a", nil}, {"one", "a", nil}, {"one", "a", ErrFull}, {"two", "a", nil},
			{"one", "b", nil}, {"one", "b", nil}, {"one", "c", nil},
			{"one", "d", nil}, {"one", "d", ErrFull}, // the quota is full: another network that has more makes room
		} {
			is(t, fmt.Sprint("request ", i), add(c.owner, c.network, at), c.want)
		}
		is(t, "once their codes have expired", add("one", "a", newDevice("").CodesEnd()), nil)
		decided := newDevice("app")
		decided.ChargedTo, decided.Network = "three", "a"
		must(t, w.AddDevice(t.Context(), decided, 5, 1))
		must(t, w.DenyDevice(t.Context(), decided.Digest, at))
		is(t, "once it is decided", add("three", "a", at), nil)
	})
}

func TestRequestsOfDevicesAreSweptLater(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		d := w.device(t, "app")
		for now, want := range map[int64]int{d.CodesEnd(): 1, d.ExpiresAt - 1: 1} {
			_, err := w.Sweep(t.Context(), now, 10)
			must(t, err)
			if got := counts(t, w.Store)["devices"]; got != want {
				t.Errorf("at+%d: %d requests are left, want %d", now-at, got, want)
			}
		}
		_, err := w.Sweep(t.Context(), d.ExpiresAt, 10)
		must(t, err)
		if got := counts(t, w.Store)["devices"]; got != 0 {
			t.Errorf("%d requests are left", got)
		}
	})
}

// RFC 8628 §3.5: after its codes have ended, a request can be neither approved nor denied.
func TestEndedRequestOfADeviceIsNotDecided(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		alice := w.person(t, "alice")
		w.goesOn(t, "session of "+alice.ID, alice.ID)
		d := w.device(t, "app")
		late := approvalOf(d, alice.ID)
		late.CreatedAt = d.CodesEnd()
		is(t, "an approval", w.ApproveDevice(t.Context(), late, ""), ErrNotFound)
		is(t, "a denial", w.DenyDevice(t.Context(), d.Digest, d.CodesEnd()), ErrNotFound)
		read, err := w.DeviceByCode(t.Context(), d.Digest)
		must(t, err)
		if n := counts(t, w.Store)["grants"]; n != 0 {
			t.Errorf("%d grants are stored", n)
		}
		if read.State != DevicePending {
			t.Error("the request is", read.State)
		}
		must(t, w.DenyDevice(t.Context(), d.Digest, d.CodesEnd()-1))
	})
}
