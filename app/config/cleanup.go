package config

import (
	"time"
)

// Events is the event log.
type Events struct {
	// EventLog is where this node also writes each event of the [event log](event-log.md#as-lines-of-json): `off`,
	// `stdout`, or the path of a file.
	//
	// An event is one line of JSON, written after the event was stored. Commands that change something write to the
	// file too.
	EventLog string `key:"EVENT_LOG" default:"off" subject:"Log and events"`
	// EventRetention is the number of days for which the [event log](event-log.md) keeps an event.
	EventRetention time.Duration `key:"EVENT_RETENTION_DAYS" default:"365" min:"1" max:"36500"`
}

// Sweep is how old rows are deleted.
type Sweep struct {
	// CleanupInterval is the pause in seconds between two batches of expired rows that the server deletes.
	CleanupInterval time.Duration `key:"CLEANUP_INTERVAL_SECONDS" default:"1" min:"1" max:"86400" subject:"Cleanup and caches"`
	// MaxStaleness is the number of seconds for which this node may use cached data about applications and tokens
	// while it receives no notifications about changes by other nodes.
	//
	// With 0 it then reads the data from the database each time. While it receives notifications, it applies a change
	// within 50 ms.
	MaxStaleness time.Duration `key:"MAX_STALENESS_SECONDS" default:"2" min:"0" max:"10"`
}

// Batch is how many rows are deleted at once.
type Batch struct {
	// ClearExpiredTokensBatchSize is the number of expired rows that one statement deletes.
	ClearExpiredTokensBatchSize int `key:"CLEAR_EXPIRED_TOKENS_BATCH_SIZE" default:"1000" min:"1" max:"100000" subject:"Cleanup and caches" after:"ALLOW_LOCALHOST_LOOPBACK"`
}
