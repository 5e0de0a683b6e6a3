package demo

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"mandate/handlers/resource"
	"mandate/provider"
	"mandate/provider/clients"
	"mandate/provider/people"
	"mandate/provider/policy"
	"mandate/provider/resources"
)

// mcpPath is the path of the MCP server, whose URL is its resource indicator (RFC 8707).
const mcpPath = "/mcp"

// Tools is the MCP server of the demo (Model Context Protocol, 2025-11-25). Its guard
// introspects tokens over HTTP, as it would in any other process. A client needs only the
// URL: the challenge of the guard leads it to the rest.
type Tools struct {
	provider *provider.Provider
	paths    []string // mcpPath, and that of the guard's metadata (RFC 9728 §3)
	handler  http.Handler
}

// fillMCP registers the MCP server as a resource, and the application that introspects
// its tokens.
func (c *Cast) fillMCP(ctx context.Context) error {
	var err error
	c.tools, err = c.fillApplication(ctx, clients.Registration{
		Name:       "MCP server",
		GrantTypes: []string{policy.GrantClient},
	})
	if err == nil {
		_, err = c.provider.Resources.Add(ctx, policy.Operator(), resources.Registration{
			URI:           c.base + mcpPath,
			Name:          "Demo tools",
			Scopes:        []string{"read", "write"},
			Introspectors: []string{c.tools.id},
		})
	}
	return err
}

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

// tool is what an MCP server says of a tool. InputSchema is a JSON Schema.
type tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"inputSchema"`
}

// writer is the tool that changes something.
const writer = "add_person"

var tools = []tool{
	{
		"who_am_i",
		"Says for whom the access token acts, and what it allows (scope read).",
		json.RawMessage(`{"type":"object"}`),
	},
	{"list_people", "Lists the people of the demo (scope read).", json.RawMessage(`{"type":"object"}`)},
	{
		writer,
		"Adds a person to the demo (scopes read and write).",
		json.RawMessage(`{"type":"object","required":["username"],` +
			`"properties":{"username":{"type":"string","description":"the name of the new person"}}}`),
	},
}

var errNoTool = errors.New("there is no such tool")

// call runs a tool. The guard has checked the token and its scopes.
func (t *Tools) call(ctx context.Context, name string, arguments map[string]any) (map[string]any, error) {
	switch name {
	case "who_am_i":
		token, _ := resource.FromContext(ctx)
		return map[string]any{"username": token.Username, "client_id": token.ClientID, "scope": token.Scope}, nil
	case "list_people":
		users, _, err := t.provider.People.Users(ctx, "", 100, 0)
		names := []string{}
		for _, u := range users {
			names = append(names, u.Username)
		}
		return map[string]any{"usernames": names}, err
	case writer:
		username, _ := arguments["username"].(string)
		u, err := t.provider.People.AddUser(ctx, policy.Actor{}, people.Person{Username: username, Password: newPassword()})
		return map[string]any{"usernames": []string{u.Username}}, err
	}
	return nil, errNoTool
}
