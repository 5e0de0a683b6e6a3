package app

import (
	"testing"
	"time"

	"mandate/app/config"
)

// The names of these settings end in DAYS.
func TestSettingsInDays(t *testing.T) {
	c := providerConfig(&config.Config{
		Events: config.Events{EventRetentionDays: 2}, People: config.People{SecondFactorGraceDays: 3},
	}, nil)
	if c.EventRetention != 48*time.Hour || c.SecondFactorGrace != 72*time.Hour {
		t.Errorf("events are kept for %s, and people may wait for %s", c.EventRetention, c.SecondFactorGrace)
	}
}
