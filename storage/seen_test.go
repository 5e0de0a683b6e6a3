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
			return stores[i%2].SeeOnce(t.Context(), OneTime{"value " + strconv.Itoa(i%3), later, at})
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
		is(t, "another value", w.SeeOnce(t.Context(), OneTime{"another", later, at}), nil)
	})
}

// The row of a value that has expired neither refuses a new value, nor lets two calls use it.
func TestExpiredOneTimeValueGivesWayOnce(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		must(t, w.SeeOnce(t.Context(), OneTime{"value", at, at - 10}))
		is(t, "before it expires", w.SeeOnce(t.Context(), OneTime{"value", later, at - 1}), ErrSpent)
		won := 0
		stores := w.pair(t)
		for _, err := range race(32,
			func(i int) error { return stores[i%2].SeeOnce(t.Context(), OneTime{"value", later, at}) }) {
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
		is(t, "after the clean-up", w.SeeOnce(t.Context(), OneTime{"value", later, at}), ErrSpent)
		n, err := w.Sweep(t.Context(), later, 10)
		must(t, err)
		if n != 1 || count(t, w.Store, `SELECT COUNT(*) FROM seen`) != 0 {
			t.Errorf("the clean-up deleted %d rows, want 1", n)
		}
	})
}

// A token depends on its value alone: calls with one value get one token, and other calls of the
// same batch get theirs.
func TestTokenOfAOneTimeValueIsStoredOnce(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		stores := w.pair(t)
		outcomes := race(96, func(i int) error {
			token := Token{Digest: strconv.Itoa(i), ApplicationID: new("app"), ExpiresAt: later}
			if i%4 == 3 {
				return stores[i%2].AddToken(t.Context(), token)
			}
			return stores[i%2].AddTokenOnce(t.Context(), token, OneTime{"value " + strconv.Itoa(i%3), later, at})
		})
		won := 0
		for i, err := range outcomes {
			if err != nil && (i%4 == 3 || !errors.Is(err, ErrSpent)) {
				t.Errorf("%d: %v", i, err)
			}
			if stored := count(t, w.Store, `SELECT COUNT(*) FROM tokens WHERE digest = $1`,
				strconv.Itoa(i)); stored == 1 != (err == nil) {
				t.Errorf("%d: %d tokens, error %v", i, stored, err)
			}
			if err == nil && i%4 != 3 {
				won++
			}
		}
		if won != 3 {
			t.Errorf("%d calls used the three values", won)
		}
	})
}

// A batch may hold one value twice, a value that was used, and tokens of which some depend on a
// value.
func TestBatchOfTokensAndOneTimeValues(t *testing.T) {
	w := migrated(t, postgresURL(t))
	must(t, w.SeeOnce(t.Context(), OneTime{"used", later, at}))
	for round, alone := range []bool{true, false} {
		token := func(i int) *Token {
			return &Token{Digest: fmt.Sprint(round, i), ApplicationID: new("app"), Resource: "r", Generation: 7, Scope: "a b",
				IssuedAt: at, ExpiresAt: later, ChargedTo: new(`{"NULL", \}`), CNF: "{}"}
		}
		var batch []write
		for i, digest := range []string{"c", "a", "used", "a", "b", "d", "c", "e"} {
			if digest != "used" {
				digest = fmt.Sprint(digest, round)
			}
			one := write{value: &seen{OneTime{digest, later, at}, rand.Text()}}
			if !alone && digest != fmt.Sprint("d", round) {
				one.token = token(i)
			}
			batch = append(batch, one)
		}
		if !alone {
			batch = append(batch, write{token: token(8)})
		}
		want := append([]error{nil, nil, ErrSpent, ErrSpent, nil, nil, ErrSpent, nil}, make([]error, len(batch)-8)...)
		got := w.writeBatch(batch)
		if !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
		for i, one := range batch {
			if one.token == nil {
				continue
			}
			var stored Token
			err := w.get(t.Context(), &stored, `SELECT `+tokenColumns+` FROM tokens WHERE digest = $1`, one.token.Digest)
			if want[i] != nil {
				is(t, "the token of a value that was used", err, ErrNotFound)
			} else if must(t, err); !reflect.DeepEqual(stored, *one.token) {
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
			is(t, "the first use", w.SeeOnce(t.Context(), OneTime{value, later, at}), nil)
			is(t, "the second use", w.SeeOnce(t.Context(), OneTime{value, later, at}), ErrSpent)
			token := Token{Digest: value, ApplicationID: new("app"), ExpiresAt: later}
			is(t, "a token of the used value", w.AddTokenOnce(t.Context(), token, OneTime{value, later, at}), ErrSpent)
			proxy.Rule(once("WITH used", action))
			is(t, "a token", w.AddTokenOnce(t.Context(), token, OneTime{value + "!", later, at}), nil)
			if n := count(t, w.Store, `SELECT COUNT(*) FROM tokens WHERE digest = $1`, value); n != 1 {
				t.Errorf("%d tokens are stored, want 1", n)
			}
		}
	}
}
