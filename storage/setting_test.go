package storage

import (
	"fmt"
	"testing"
)

func TestSettingThatNobodyWroteIsNotFound(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		value, err := w.Setting(t.Context(), "key")
		is(t, "Setting", err, ErrNotFound)
		if value != "" {
			t.Errorf("got %q", value)
		}
	})
}

func TestSettingIsWrittenOnce(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		stores := w.pair(t)
		stands := make([]string, 64)
		for _, err := range race(64, func(i int) error {
			var err error
			stands[i], err = stores[i%2].AddSetting(t.Context(), "key", fmt.Sprint("value ", i))
			return err
		}) {
			must(t, err)
		}
		want, err := w.Setting(t.Context(), "key")
		must(t, err)
		for i, got := range stands {
			if got != want {
				t.Errorf("node %d uses %q, the database has %q", i, got, want)
			}
		}
	})
}
