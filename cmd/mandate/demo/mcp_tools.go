package demo

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

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
