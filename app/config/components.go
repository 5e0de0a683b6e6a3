package config

import (
	"net/netip"
	"time"
)

// Database is where the server keeps its data.
type Database struct {
	// DatabaseURL is `sqlite:///file.db` (relative to the working directory), `sqlite:////srv/file.db` (absolute) or
	// `postgres://user:password@host/database?sslmode=verify-full`.
	//
	// Several PostgreSQL hosts are separated by commas (`host1:5432,host2:5432`): the server uses the one that accepts
	// writes.
	DatabaseURL string `key:"DATABASE_URL" default:"sqlite:///mandate.db" secret:"url" subject:"Database and key"`
	// DatabaseListenURL is the PostgreSQL URL by which a node receives notifications about changes that other nodes
	// make.
	//
	// It is needed if `DATABASE_URL` leads to a pooler that gives each transaction another connection. If it is empty,
	// `DATABASE_URL` is used.
	DatabaseListenURL string `key:"DATABASE_LISTEN_URL" default:"" secret:"url"`
	// DatabaseMaxConnections is the largest number of PostgreSQL connections that a node opens, besides the one that
	// receives notifications.
	DatabaseMaxConnections int `key:"DATABASE_MAX_CONNECTIONS" default:"32" min:"2" max:"1000"`
}

// Outbound is whom the server calls.
type Outbound struct {
	// OutboundAllowedNetworks lists special-use networks (CIDR) that the server may call. By default it calls public
	// addresses only (RFC 6890).
	//
	// In such a network, for instance `10.0.0.0/8`, the server may call registered back-channel logout URIs and fetch
	// the keys of `SOFTWARE_STATEMENT_ISSUERS`, and the `SIGN_IN_SERVERS` may be there. It calls the addresses of
	// applications for which nobody is responsible (see `OPEN_CLIENTS`), and fetches their metadata documents, there
	// too if `OPEN_HOSTS` lists their hosts, and at a loopback address only while `BASE_URL` has one.
	OutboundAllowedNetworks []netip.Prefix `key:"OUTBOUND_ALLOWED_NETWORKS" default:"[]" subject:"Outbound requests"`
}

// People is how people get accounts and sign in.
type People struct {
	// SessionCookieAge is the lifetime of a browser session in seconds, counted from the sign-in.
	SessionCookieAge time.Duration `key:"SESSION_COOKIE_AGE" default:"1209600" min:"60" max:"31536000" subject:"People and sign-in" after:"OUTBOUND_ALLOWED_NETWORKS"`
	// SessionIdle is the number of seconds after which a browser session without a request ends. The default is
	// lowered to `SESSION_COOKIE_AGE` if that is smaller.
	SessionIdle time.Duration `key:"SESSION_IDLE_SECONDS" default:"259200" min:"60" max:"31536000"`
	// PasswordMinLength is the smallest number of characters in a new password. NIST SP 800-63B-4 §3.1.1.2 requires 15
	// if the password is the only factor.
	//
	// Passwords that are commonly used or expected are refused whatever their length. Existing passwords stay valid.
	PasswordMinLength int `key:"PASSWORD_MIN_LENGTH" default:"15" min:"1" max:"64" after:"LOG_FORMAT"`
	// SecondFactor says of whom a second factor is demanded beside the password: `optional` leaves it to each person.
	//
	// `administrators` demands it of administrators, `everybody` of all people. A person who must have one and has
	// none adds it at the sign-in, once `SECOND_FACTOR_GRACE_DAYS` are over. The password grant is refused for a
	// person who signs in with a second factor.
	SecondFactor string `key:"SECOND_FACTOR" default:"optional" oneof:"optional administrators everybody"`
	// SecondFactorGraceDays is the number of days for which a person of whom `SECOND_FACTOR` demands a second factor
	// may still sign in without one.
	//
	// The days count from the first sign-in under the policy. With 0, the person adds one at that sign-in.
	SecondFactorGraceDays int `key:"SECOND_FACTOR_GRACE_DAYS" default:"7" min:"0" max:"365"`
	// SignUp says who may make an account of their own: nobody (`off`), people who were [invited](sign-up.md), or also
	// everybody else (`open`).
	//
	// With `invited`, an administrator or the operator has invited the person. With `open`, everybody who reads the
	// mail of an address may make an account, so it needs `SMTP_URL`.
	SignUp string `key:"SIGN_UP" default:"invited" oneof:"off invited open"`
	// SignUpAllowedDomains are the only domains of the addresses of people who make an account without an invitation,
	// in lower case. A subdomain needs an entry of its own.
	//
	// If the list is empty, every domain is allowed.
	SignUpAllowedDomains []string `key:"SIGN_UP_ALLOWED_DOMAINS" default:"[]"`
	// InvitationExpire is the number of seconds for which an invitation works, unless the inviter says otherwise.
	InvitationExpire time.Duration `key:"INVITATION_EXPIRE_SECONDS" default:"604800" min:"60" max:"31536000"`
	// SignInServers are other OpenID Providers with which people [sign in](sign-in.md#with-another-server).
	//
	// An item has the form `{NAME: company, LABEL: Example Company, ISSUER: https://login.example.com, CLIENT_ID:
	// mandate, CLIENT_SECRET_FILE: /run/secrets/company}`. The login page has a button for each, in this order.
	// Register the redirect URI `BASE_URL/login/with/NAME/callback/` there.
	SignInServers []SignInServer `key:"SIGN_IN_SERVERS" default:"[]"`
}

// Notices is the mail to people.
type Notices struct {
	// SignUpMaxMailsPerHour is the largest number of messages that people who ask for an account can cause in one
	// hour.
	//
	// One IPv4 /24 or IPv6 /48 may have a tenth of it (at least one). 0 means no limit.
	SignUpMaxMailsPerHour int `key:"SIGN_UP_MAX_MAILS_PER_HOUR" default:"1000" min:"0" max:"1000000" subject:"Mail" after:"SIGN_UP_ALLOWED_DOMAINS"`
}

// Hashing is the cost of a password.
type Hashing struct {
	// PasswordHashMemoryKiB is the memory of one Argon2id hash in KiB (RFC 9106 §3.1).
	PasswordHashMemoryKiB int `key:"PASSWORD_HASH_MEMORY_KIB" default:"19456" min:"7168" max:"1048576" subject:"People and sign-in" after:"SIGN_IN_SERVERS"`
	// PasswordHashIterations is the number of passes of one Argon2id hash. Memory times passes must be at least 35840,
	// the weakest parameters in the OWASP password storage cheat sheet.
	PasswordHashIterations int `key:"PASSWORD_HASH_ITERATIONS" default:"2" min:"1" max:"64"`
	// PasswordHashConcurrency is the number of passwords that are hashed at the same time.
	//
	// It limits the memory that many simultaneous sign-ins use. 0 derives it from the cores, and from the memory limit
	// of the container or unit.
	PasswordHashConcurrency int `key:"PASSWORD_HASH_CONCURRENCY" default:"0" min:"0" max:"1024"`
}

// Mail is the mail server.
type Mail struct {
	// SMTPURL is the mail server by which Mandate sends mail to people, such as `smtp://user:password@host:587`.
	//
	// With `smtp:`, STARTTLS is required unless the host is this machine. `smtps://user:password@host:465` speaks TLS
	// from the first byte. If the setting is empty, Mandate sends no mail, and administrators pass links on
	// themselves.
	SMTPURL string `key:"SMTP_URL" default:"" secret:"url" subject:"Mail"`
	// MailFrom is the sender of this mail: `noreply@example.org`, or `Example <noreply@example.org>`. It is required
	// with `SMTP_URL`.
	MailFrom string `key:"MAIL_FROM" default:""`
}

// Brand is how pages and mail look.
type Brand struct {
	// BrandName is the name of the service: in the header and the title of each page, in mail, in authenticator apps
	// and in the browser's list of passkeys.
	//
	// If it is empty, it is Mandate, and authenticator apps show the host of `BASE_URL`.
	BrandName string `key:"BRAND_NAME" default:"" subject:"Brand"`
	// BrandLogoFile is the [logo](make-it-yours.md#a-logo) in the header: an SVG without scripts that loads nothing,
	// or a PNG, of at most 128 KiB.
	//
	// If it is more than twice as wide as high, it stands without `BRAND_NAME`, because it contains the name. The file
	// is read at the start.
	BrandLogoFile string `key:"BRAND_LOGO_FILE" default:""`
	// BrandColor is the colour of links and buttons, such as `"#0d5752"`.
	//
	// The server does not start if it is hard to read on the backgrounds of the pages: it needs a contrast of 4.5 to 1
	// (WCAG 2.2 §1.4.3). The colours for the dark scheme and for the pointer are derived from it.
	BrandColor string `key:"BRAND_COLOR" default:""`
	// HelpURL is the page that helps people, or `mailto:` and an address. Each page and each message links to it.
	HelpURL string `key:"HELP_URL" default:""`
	// TermsURL is the page with the terms of the service. Each page and each message links to it.
	TermsURL string `key:"TERMS_URL" default:""`
	// PrivacyURL is the page with the privacy policy of the service. Each page and each message links to it.
	PrivacyURL string `key:"PRIVACY_URL" default:""`
}

// Events is the event log.
type Events struct {
	// EventLog is where this node also writes each event of the [event log](event-log.md#as-lines-of-json): `off`,
	// `stdout`, or the path of a file.
	//
	// An event is one line of JSON, written after the event was stored. Commands that change something write to the
	// file too.
	EventLog string `key:"EVENT_LOG" default:"off" subject:"Log and events"`
	// EventRetentionDays is the number of days for which the [event log](event-log.md) keeps an event.
	EventRetentionDays int `key:"EVENT_RETENTION_DAYS" default:"365" min:"1" max:"36500"`
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
