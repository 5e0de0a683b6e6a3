package demo

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
)

const (
	maxMessage = 64 << 10 // the size of the largest message that the MCP server reads, in bytes
	callsTool  = "tools/call"
)

// versions are the versions of the protocol that the MCP server speaks, the newest first. A client of a later version
// begins with another method, which is refused, and then uses the newest of these.
var versions = []string{"2025-11-25", "2025-06-18", "2025-03-26"}

// rpc is a request of JSON-RPC 2.0. Without an ID it is a notification or a response, and has no answer.
type rpc struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name            string         `json:"name"`
		Arguments       map[string]any `json:"arguments"`
		ProtocolVersion string         `json:"protocolVersion"`
	} `json:"params"`
}

// answer has a result, or an error of JSON-RPC 2.0 §5.1.
type answer struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  any             `json:"result,omitempty"`
	Error   *problem        `json:"error,omitempty"`
}

type problem struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// readMessage returns the message of a request, and the status of the response if it has none.
func readMessage(r *http.Request) (m rpc, status int) {
	if r.Method != http.MethodPost {
		return m, http.StatusMethodNotAllowed
	}
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if kind != "application/json" {
		return m, http.StatusUnsupportedMediaType
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxMessage+1))
	if len(body) > maxMessage {
		return m, http.StatusRequestEntityTooLarge
	}
	if err != nil || json.Unmarshal(body, &m) != nil {
		return rpc{}, http.StatusBadRequest
	}
	return m, http.StatusOK
}

// write answers a message. The status is that of readMessage.
func (t *Tools) write(w http.ResponseWriter, r *http.Request, m rpc, status int) {
	if status == http.StatusOK && m.ID == nil {
		status = http.StatusAccepted
	}
	if status != http.StatusOK {
		w.Header().Set("Allow", http.MethodPost)
		w.WriteHeader(status)
		return
	}
	a := answer{Version: "2.0", ID: m.ID}
	a.Result, a.Error = t.result(r.Context(), m)
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(a) // an error means that the client has gone
}

func (t *Tools) result(ctx context.Context, m rpc) (any, *problem) {
	switch m.Method {
	case "initialize":
		version := m.Params.ProtocolVersion
		if !slices.Contains(versions, version) {
			version = versions[0]
		}
		return map[string]any{
			"protocolVersion": version, "capabilities": map[string]any{"tools": map[string]any{}},
			"serverInfo": map[string]any{"name": "mandate-demo", "title": "Demo tools", "version": "1"},
		}, nil
	case "ping":
		return map[string]any{}, nil
	case "tools/list":
		return map[string]any{"tools": tools}, nil
	case callsTool:
		found, err := t.call(ctx, m.Params.Name, m.Params.Arguments)
		if errors.Is(err, errNoTool) {
			return nil, &problem{-32602, "Unknown tool: " + m.Params.Name}
		}
		if err != nil {
			return map[string]any{"isError": true, "content": text(err.Error())}, nil
		}
		written, err := json.Marshal(found)
		if err != nil {
			return nil, &problem{-32603, "Internal error"}
		}
		return map[string]any{"structuredContent": found, "content": text(string(written))}, nil
	}
	return nil, &problem{-32601, "Method not found"}
}

func text(s string) []map[string]string { return []map[string]string{{"type": "text", "text": s}} }
