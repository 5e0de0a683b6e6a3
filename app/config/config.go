// Package config reads the settings of the program: one YAML file, each key of
// which an environment variable may override. It reports every mistake at once,
// each with its file, line and key, and never repeats a value that may be secret.
package config

import (
	"mandate/provider/authorize"
	"mandate/provider/clients"
	"mandate/provider/device"
	"mandate/provider/grant"
	"mandate/provider/keys"
	"mandate/provider/limits"
	"mandate/provider/logout"
	"mandate/provider/mail"
	"mandate/provider/notices"
	"mandate/provider/outbound"
	"mandate/provider/people"
	"mandate/provider/policy"
	"mandate/provider/possession"
	"mandate/provider/redirect"
	"mandate/provider/registration"
	"mandate/provider/resources"
	"mandate/provider/tokens"
	"mandate/storage"
	"mandate/templates"
)

// Config is the whole configuration: the settings of each component. A component declares its own, in its struct.
//
// The tags of a field contain the key and the default, the comment explains it; the documentation of the settings is
// generated from both: the first paragraph of the comment is the row of a table, the others follow the table. The
// tag subject is the heading, for the fields that follow too. The tag after is the key that `config print` has before
// this one, if it is not that of the field before.
//
// In the file a time.Duration is a whole number of seconds, or of days if the key ends in _DAYS. The tags min and max
// limit a number, oneof lists the allowed words. The tag secret marks a value that
// is never shown ("url": only the password in it is hidden) and that can be read
// from a file, which `<KEY>_FILE` names.
type Config struct {
	Address
	MTLS
	Ops
	Database storage.Config
	Secret
	Outbound outbound.Config
	Log
	People  people.Config
	Notices notices.Config
	Hashing limits.Config
	Mail    mail.Config
	Brand   templates.Brand
	Events
	Requests
	Sample
	Stop
	Sweep
	Proxy
	// Provider contains the settings that have the names of django-oauth-toolkit.
	Provider Provider `key:"OAUTH2_PROVIDER"`

	// sources says where each key was set, by its full name ("OAUTH2_PROVIDER.SCOPES", "RULES[0].PATH"). A key that it
	// lacks has its default.
	sources map[string]source
	// ServerKey is SECRET_KEY decoded: 32 bytes, or nil if it is not set.
	ServerKey []byte
	// NonceKey is RESOURCE_SERVER_DPOP_NONCE_KEY decoded, or nil if it is not set.
	NonceKey []byte
}

// Provider is the OAUTH2_PROVIDER block. Its keys have the names and meanings that
// they have in django-oauth-toolkit; the defaults follow RFC 9700.
type Provider struct {
	policy.Settings
	Resources resources.Config
	SampleScopes
	Open         clients.OpenConfig
	Registration registration.Config
	Authorize    authorize.Config
	Device       device.Config
	Proofs       possession.Config
	Grant        grant.Config
	Redirects    redirect.Policy
	Batch
	Tokens tokens.Config
	Keys   keys.Config
	Logout logout.Config
	ResourceServer
}

// Pairs is a YAML mapping from value to value that keeps the order of the file.
type Pairs = []people.Mapped
