package storage

import (
	"crypto/rand"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"testing"

	"mandate/storage/postgrestest"
)

func TestOneTimeValueIsUsedOnce(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		stores := w.pair(t)
		won := map[string]int{}
		outcomes := race(96, func(i int) error {
			return stores[i%2].SeeOnce(t.Context(), "value "+strconv.Itoa(i%3), later, at)
		})
		for i, err := range outcomes {
			if err == nil {
				won["value "+strconv.Itoa(i%3)]++
			} else if !errors.Is(err, ErrSpent) {
				t.Error(err)
			}
		}
		for value, n := range won {
			if n != 1 {
				t.Errorf("%s was used %d times", value, n)
			}
		}
		if len(won) != 3 {
			t.Errorf("used %v, want each of three values", won)
		}
		is(t, "another value", w.SeeOnce(t.Context(), "another", later, at), nil)
	})
}

// The row of a value that has expired neither refuses a new value, nor lets two calls use it.
func TestExpiredOneTimeValueGivesWayOnce(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		must(t, w.SeeOnce(t.Context(), "value", at, at-10))
		is(t, "before it expires", w.SeeOnce(t.Context(), "value", later, at-1), ErrSpent)
		won := 0
		stores := w.pair(t)
		for _, err := range race(32, func(i int) error { return stores[i%2].SeeOnce(t.Context(), "value", later, at) }) {
			if err == nil {
				won++
			} else if !errors.Is(err, ErrSpent) {
				t.Error(err)
			}
		}
		if won != 1 {
			t.Errorf("%d calls used it, want 1", won)
		}
		_, err := w.Sweep(t.Context(), at, 10)
		must(t, err)
		is(t, "after the clean-up", w.SeeOnce(t.Context(), "value", later, at), ErrSpent)
		n, err := w.Sweep(t.Context(), later, 10)
		must(t, err)
		if n != 1 || count(t, w.Store, `SELECT COUNT(*) FROM seen`) != 0 {
			t.Errorf("the clean-up deleted %d rows, want 1", n)
		}
	})
}

// A batch may hold one value twice, a value that was used, and tokens. A value that was used
// keeps no token from being stored.
func TestBatchOfTokensAndOneTimeValues(t *testing.T) {
	w := migrated(t, postgresURL(t))
	must(t, w.SeeOnce(t.Context(), "used", later, at))
	for _, tokens := range []int{0, 1, 3} {
		var batch []write
		for i := range tokens {
			batch = append(batch, write{token: &Token{Digest: fmt.Sprint(tokens, " ", i), ApplicationID: new("app"), Resource: "r", Generation: 7, Scope: "a b", IssuedAt: at, ExpiresAt: later, ChargedTo: new(`{"NULL", \}`), CNF: "{}"}})
		}
		for _, digest := range []string{"c", "a", "used", "a", "b", "d", "c", "e"} {
			if digest != "used" {
				digest = fmt.Sprint(digest, tokens)
			}
			batch = append(batch, write{value: &seen{digest, later, at, rand.Text()}})
		}
		want := append(make([]error, tokens), nil, nil, ErrSpent, ErrSpent, nil, nil, ErrSpent, nil)
		got := w.writeBatch(batch)
		if !slices.Equal(got, want) {
			t.Errorf("%d tokens: got %v, want %v", tokens, got, want)
		}
		for _, one := range batch[:tokens] {
			var stored Token
			must(t, w.get(t.Context(), &stored, `SELECT `+tokenColumns+` FROM tokens WHERE digest = $1`, one.token.Digest))
			if !reflect.DeepEqual(stored, *one.token) {
				t.Errorf("stored %+v, want %+v", stored, *one.token)
			}
		}
	}
}

// If the answer of the database is lost, the statement runs again. It must not take its own
// row for that of another call.
func TestOneTimeValueWhoseAnswerIsLostIsNotRefused(t *testing.T) {
	w, proxy := throughProxy(t)
	for _, action := range []postgrestest.Action{postgrestest.Cut, postgrestest.Swallow} {
		for range 2 { // first unprepared, then prepared
			value := rand.Text()
			proxy.Rule(once("INSERT INTO seen", action))
			is(t, "the first use", w.SeeOnce(t.Context(), value, later, at), nil)
			is(t, "the second use", w.SeeOnce(t.Context(), value, later, at), ErrSpent)
		}
	}
}
