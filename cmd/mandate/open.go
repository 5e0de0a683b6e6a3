package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"mandate/cmd/mandate/config"
	"mandate/cmd/mandate/eventlog"
	"mandate/cmd/mandate/telemetry"
	"mandate/provider"
	"mandate/storage"
	"mandate/templates"
	"mandate/templates/languages"
)

// opened is what a command works with: the settings, the database and the provider.
type opened struct {
	settings *config.Config
	store    *storage.Store
	provider *provider.Provider
	brand    templates.Brand
	metrics  *telemetry.Metrics // nil without OPS_LISTEN
	tracing  *telemetry.Tracing // nil if tracing is off
	events   *eventlog.Writer   // nil if EVENT_LOG is off
}

// purpose says what a command may do to make a database usable.
type purpose int

const (
	toUse     purpose = iota // it must exist: a second database in another folder would hide the server's
	toMigrate                // an embedded one is created if it does not exist, and its schema is updated
)

// open opens the configured database. The caller closes the store.
func (p *program) open(ctx context.Context, may purpose) (*opened, error) {
	settings, err := config.Load(p.config, p.environ)
	if err != nil {
		return nil, err
	}
	return open(ctx, settings, may, extras{}, settings.Logger(p.stderr))
}

// extras is what some commands add to the settings.
type extras struct {
	tracing   *telemetry.Tracing     // nil: tracing is off
	documents *provider.DocumentHost // nil: there is none
	stdout    io.Writer              // for EVENT_LOG: stdout; nil: a command, whose output it would spoil
}

func open(ctx context.Context, settings *config.Config, may purpose, more extras, log *slog.Logger) (*opened, error) {
	store, err := openStore(ctx, settings, may)
	if err != nil {
		return nil, err
	}
	o := &opened{settings: settings, store: store, tracing: more.tracing}
	o.writeEvents(more.stdout, log)
	err = o.prepare(ctx, may, more.documents, log)
	if err != nil {
		store.Close()
		return nil, err
	}
	return o, nil
}

// writeEvents writes the events that this process stores to EVENT_LOG. A command writes each at once, because it
// ends soon.
func (o *opened) writeEvents(stdout io.Writer, log *slog.Logger) {
	switch to := o.settings.EventLog; {
	case to == "off", to == "stdout" && stdout == nil:
		return
	case to == "stdout":
		o.events = eventlog.ToStream(stdout, log)
	default:
		o.events = eventlog.ToFile(to, log)
		if stdout == nil {
			o.events.AtOnce()
		}
	}
	o.store.OnEvents(func(events []storage.Event) {
		for _, e := range events {
			o.events.Write(append(provider.EventJSON(e), '\n'))
		}
	})
}

func (o *opened) prepare(ctx context.Context, may purpose, documents *provider.DocumentHost, log *slog.Logger) error {
	err := bringUpToDate(ctx, o.store, may)
	if err != nil {
		return err
	}
	key, err := serverKey(ctx, o.settings, o.store)
	if err != nil {
		return err
	}
	c := o.traceCalls(providerConfig(o.settings, key))
	c.ClientAuthorities, err = clientAuthorities(o.settings)
	if err != nil {
		return err
	}
	c.DocumentHost = documents
	o.brand, err = brandOf(o.settings)
	if err != nil {
		return err
	}
	c.Letters, err = newLetters(o.brand)
	if err != nil {
		return err
	}
	c.Name = o.settings.BrandName
	c.Languages = languages.Tags()
	o.provider, err = provider.New(ctx, c, o.store, log)
	return err
}

func openStore(ctx context.Context, settings *config.Config, may purpose) (*storage.Store, error) {
	file := settings.SQLitePath()
	if file != "" {
		err := provideFile(file, may)
		if err != nil {
			return nil, err
		}
	}
	store, err := storage.Config{URL: settings.DatabaseURL, ListenURL: settings.DatabaseListenURL, MaxConnections: settings.DatabaseMaxConnections}.Open(ctx)
	if err != nil {
		if advice := openAdvice(file, err); advice != "" {
			err = fmt.Errorf("%w: %s", err, advice)
		}
		return nil, err
	}
	return store, nil
}

// openAdvice says what to check if a database cannot be opened, or "" if the error says it.
func openAdvice(file string, err error) string {
	switch {
	case errors.Is(err, storage.ErrParameter):
		return ""
	case errors.Is(err, storage.ErrPooler):
		return "the server would answer with the records of others"
	case file != "" && isMissing(filepath.Dir(file)):
		return "the folder " + filepath.Dir(absolute(file)) + " does not exist: create it, or change DATABASE_URL"
	case file != "" && strings.Contains(err.Error(), "file is not a database"):
		return "the file is not an SQLite database: change DATABASE_URL, or move the file away: " + absolute(file)
	case file != "":
		return "check that DATABASE_URL names an SQLite file that this account can read and write, in a folder where it can write: " + absolute(file)
	case strings.Contains(err.Error(), "SSL is not enabled"):
		return "add ?sslmode=disable to DATABASE_URL if the database is on this machine, or enable TLS in the database"
	}
	return "check DATABASE_URL, and that the database is running"
}

func isMissing(path string) bool {
	_, err := os.Stat(path)
	return errors.Is(err, fs.ErrNotExist)
}

func absolute(path string) string {
	full, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	return full
}

// provideFile creates an empty database file that only this account can read.
// SQLite itself would create one that every account can read.
func provideFile(path string, may purpose) error {
	if may == toUse {
		_, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("there is no database at %s: check DATABASE_URL and --config. For a new one, start the server or run mandate migrate", absolute(path))
		}
		return err
	}
	if isMissing(path) && !isMissing(keyFile(path)) {
		// An empty server would print a link that makes whoever opens it the administrator.
		return fmt.Errorf("there is no database at %s, but its server key %s exists: restore the database from a backup, or check DATABASE_URL, or move the key away to begin with an empty database", absolute(path), absolute(keyFile(path)))
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("open the database: %w: %s", err, openAdvice(path, err))
	}
	return file.Close()
}

// bringUpToDate migrates an embedded database for the server, which is its only
// user. Other databases may serve nodes of
// another release: the operator decides when their schema changes.
func bringUpToDate(ctx context.Context, store *storage.Store, may purpose) error {
	pending, err := store.Pending(ctx)
	if err != nil {
		return fmt.Errorf("read the schema version: %w", err)
	}
	if len(pending) == 0 {
		return nil
	}
	if !store.Embedded() || may == toUse {
		return errors.New("the database's schema is older than this program: run mandate migrate")
	}
	steps, err := store.Migrate(ctx)
	if err != nil {
		return fmt.Errorf("migrate the database: %w", err)
	}
	for _, step := range steps {
		for _, note := range step.Notes {
			slog.Warn("the database was migrated: "+note, "migration", step.Name)
		}
	}
	return nil
}

// providerConfig converts the settings for the provider. Some fields of its Config
// forbid what the setting allows, or the reverse, so that their zero values are
// safe.
func providerConfig(c *config.Config, key []byte) provider.Config {
	p := c.Provider
	scopes := make([]provider.Scope, len(p.Scopes))
	for i, s := range p.Scopes {
		scopes[i] = s.Provider()
	}
	resources := make([]provider.ResourceRegistration, len(p.Resources))
	for i, r := range p.Resources {
		resources[i] = r.Registration()
	}
	issuers := make([]provider.StatementIssuer, len(p.SoftwareStatementIssuers))
	for i, issuer := range p.SoftwareStatementIssuers {
		issuers[i] = issuer.Trusted()
	}
	servers := make([]provider.SignInServer, len(c.SignInServers))
	for i, server := range c.SignInServers {
		servers[i] = server.Server()
	}
	return provider.Config{
		Issuer:                c.BaseURL + "/o",
		ServerKey:             key,
		Scopes:                scopes,
		DefaultScopes:         p.Defaults(),
		StrictScopes:          p.StrictScopes,
		AccessTokenMax:        p.AdministratorAccessTokenMax,
		JWTAccessTokenMax:     p.AdministratorJWTAccessTokenMax,
		GrantsByAdministrator: p.GrantsByAdministrator,
		ScopesByAdministrator: p.ScopesByAdministrator,
		PersonQuota: provider.Quota{Applications: p.PersonMaxApplications, Sessions: p.PersonMaxSessions, Approvals: p.PersonMaxApprovals,
			TokensPerMinute: p.PersonMaxTokensPerMinute, LiveTokens: p.PersonMaxLiveTokens},
		OpenQuota: provider.Quota{Applications: p.OpenMaxApplications, Approvals: p.OpenMaxApprovals,
			TokensPerMinute: p.OpenMaxTokensPerMinute, LiveTokens: p.OpenMaxLiveTokens},
		Open: provider.OpenConfig{Documents: slices.Contains(p.OpenClients, config.OpenDocuments), Registration: slices.Contains(p.OpenClients, config.OpenRegistration),
			WithToken: p.RegistrationWithToken, StatementRequired: p.OpenSoftwareStatementRequired,
			Hosts: p.OpenHosts, Schemes: p.OpenRedirectURISchemes, FixedLocalhostPort: !p.OpenLocalhostLoopback,
			NeverUsedLifetime: p.OpenNeverUsedExpire, UnusedLifetime: p.OpenUnusedExpire},
		OpenAccessTokenLifetime:  p.OpenAccessTokenExpire,
		OpenRefreshTokenLifetime: p.OpenRefreshTokenExpire,
		OpenRefreshGrace:         p.OpenRefreshTokenGracePeriod,
		Resources:                resources,
		StatementIssuers:         issuers,
		SignInServers:            servers,
		CodeLifetime:             p.AuthorizationCodeExpire,
		AccessTokenLifetime:      p.AccessTokenExpire,
		JWTAccessTokenLifetime:   p.JWTAccessTokenExpire,
		DeviceCodeLifetime:       p.DeviceCodeExpire,
		DeviceInterval:           p.DeviceFlowInterval,
		DeviceMaxPending:         p.DeviceMaxPending,
		RequirePushed:            p.RequirePushedRequests,
		RequireSigned:            p.RequireSignedRequestObject,
		ObjectsByReference:       p.RequestObjectsByReference,
		PushedLifetime:           p.PushedRequestExpire,
		PushedMaxPending:         p.PushedRequestMaxPending,
		RequireNonce:             p.DPoPNonceRequired,
		RefreshTokenLifetime:     p.RefreshTokenExpire,
		RefreshTokenMaxLifetime:  p.RefreshTokenAbsoluteExpire,
		RefreshGrace:             p.RefreshTokenGracePeriod,
		KeepRefreshTokens:        !p.RotateRefreshToken,
		PKCE:                     p.PKCERequired,
		AlwaysAsk:                p.RequestApprovalPrompt == "force",
		RedirectSchemes:          p.AllowedRedirectURISchemes,
		LocalhostLoopback:        p.AllowLocalhostLoopback,
		OpenID:                   p.OpenID,
		IDTokenLifetime:          p.IDTokenExpire,
		RSAPrivateKey:            p.OIDCPrivateKey,
		RSAInactiveKeys:          p.OIDCInactiveKeys,
		KeyLifetime:              p.OIDCKeyRotation,
		JWKSMaxAge:               p.OIDCJWKSMaxAge,
		RPLogout: provider.RPLogout{Enabled: p.OIDCRPLogout, AlwaysPrompt: p.OIDCRPLogoutAlwaysPrompt, StrictURIs: p.OIDCRPLogoutStrictURIs,
			RefuseExpired: !p.OIDCRPLogoutAcceptExpired, KeepTokens: !p.OIDCRPLogoutDeleteTokens},
		ClientCertificates:  c.MTLSListen != "" || c.MTLSCertificateHeader != "",
		CertificateURL:      c.MTLSBaseURL,
		OutboundNetworks:    c.OutboundAllowedNetworks,
		SessionLifetime:     c.SessionCookieAge,
		SessionIdle:         c.SessionIdle,
		PasswordMinLength:   c.PasswordMinLength,
		SignUp:              c.SignUp,
		SignUpDomains:       c.SignUpAllowedDomains,
		SignUpMailsPerHour:  c.SignUpMaxMailsPerHour,
		InvitationLifetime:  c.InvitationExpire,
		SecondFactor:        c.SecondFactor,
		SecondFactorGrace:   time.Duration(c.SecondFactorGraceDays) * 24 * time.Hour,
		PasswordMemoryKiB:   uint32(c.PasswordHashMemoryKiB),
		PasswordIterations:  uint32(c.PasswordHashIterations),
		PasswordConcurrency: cmp.Or(c.PasswordHashConcurrency, hashesWithin(memoryOf(os.DirFS("/")), c.PasswordHashMemoryKiB)),
		MailServer:          c.SMTPURL,
		MailFrom:            c.MailFrom,
		EventRetention:      time.Duration(c.EventRetentionDays) * 24 * time.Hour,
		SweepInterval:       c.CleanupInterval,
		MaxStaleness:        c.MaxStaleness,
		SweepBatch:          p.ClearExpiredTokensBatchSize,
	}
}

// timestamp formats a time so that people and scripts can read it.
func timestamp(seconds int64) string {
	return time.Unix(seconds, 0).UTC().Format(time.RFC3339)
}
