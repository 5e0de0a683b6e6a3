package people

import (
	"log/slog"
	"time"

	"mandate/provider/limits"
	"mandate/provider/policy"
	"mandate/provider/seal"
	"mandate/storage"
)

// PeopleConfig is what an operator decides about people.
type Config struct {
	SessionLifetime   time.Duration
	SessionIdle       time.Duration
	PasswordMinLength int
}

// People are the users, their groups, passwords and browser sessions.
type People struct {
	config  Config
	rules   *policy.Rules
	store   *storage.Store
	limits  *limits.Limits
	devices seal.Sealer // browsers that are known
	flashes seal.Sealer // texts that a page shows once
	setup   string      // the secret part of the first administrator's link
	ended   func()      // called when sessions have ended
	log     *slog.Logger
}

// NewPeople makes the component. ended is called when sessions have ended.
func New(config Config, rules *policy.Rules, store *storage.Store, l *limits.Limits, sealers Sealers, setup string, ended func(), log *slog.Logger) *People {
	return &People{config, rules, store, l, sealers.Devices, sealers.Flashes, setup, ended, log}
}

// Sealers encrypt what people's browsers keep.
type Sealers struct{ Devices, Flashes seal.Sealer }
