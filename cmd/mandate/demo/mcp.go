package demo

import (
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"mandate/handlers/resource"
)

// NewTools returns the MCP server of a demo that Fill has filled.
func NewTools(cast *Cast, log *slog.Logger) (*Tools, error) {
	introspection, err := resource.NewIntrospection(resource.IntrospectionConfig{
		URL:          cast.issuer + "/introspect/",
		ClientID:     cast.tools.id,
		ClientSecret: cast.tools.secret,
	})
	if err != nil {
		return nil, err
	}
	cache, err := resource.NewCache(resource.CacheConfig{Verifier: introspection, TTL: time.Second})
	if err != nil {
		return nil, err
	}
	// Scripts of every site may call it, because agents run in browsers too.
	guard, err := resource.NewGuard(resource.GuardConfig{
		Verifier:             cache,
		Realm:                "mcp",
		Audience:             cast.base + mcpPath,
		AuthorizationServers: []string{cast.issuer},
		Name:                 "Demo tools",
		AllowedOrigins:       []string{"*"},
		Logger:               log,
	})
	if err != nil {
		return nil, err
	}
	metadata, err := url.Parse(guard.MetadataURL())
	if err != nil {
		return nil, err
	}
	t := &Tools{provider: cast.provider, paths: []string{mcpPath, metadata.Path}}
	t.handler = guard.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked, status := readMessage(r)
		// RFC 6750 §3.1: the guard names the scopes that this call needs, so that the client can ask for them.
		scopes := []string{"read"}
		if asked.Method == callsTool && asked.Params.Name == writer {
			scopes = append(scopes, "write")
		}
		answers := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { t.write(w, r, asked, status) })
		guard.Require(answers, scopes...).ServeHTTP(w, r)
	}))
	return t, nil
}

// Before serves the MCP server and its metadata, and passes other requests to the server.
func (t *Tools) Before(server http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if slices.Contains(t.paths, strings.TrimSuffix(r.URL.Path, "/")) {
			t.handler.ServeHTTP(w, r)
			return
		}
		server.ServeHTTP(w, r)
	})
}
