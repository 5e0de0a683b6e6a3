package app

import (
	"io"
	"log/slog"

	"mandate/app/config"
	"mandate/app/eventlog"
	"mandate/app/telemetry"
	"mandate/provider"
	"mandate/storage"
	"mandate/templates"
)

// App is the parts that work on one database: a server, or what a command needs of it.
type App struct {
	Settings *config.Config
	Store    *storage.Store
	Provider *provider.Provider

	brand   templates.Brand
	metrics *telemetry.Metrics // nil without OPS_LISTEN
	tracing *telemetry.Tracing // nil if tracing is off
	events  *eventlog.Writer   // nil if EVENT_LOG is off
	log     *slog.Logger
}

// Process is what a server uses of the process in which it runs.
type Process struct {
	Environ []string     // the variables of OpenTelemetry and of socket activation
	Stdout  io.Writer    // for people, and for EVENT_LOG: stdout
	Log     *slog.Logger // of the settings
	Lost    func() int64 // returns how many lines of Log were lost
	Version string       // of this program
}
