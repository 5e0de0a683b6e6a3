package config

import (
	"io"
	"log/slog"
	"strconv"
	"strings"
)

// Logger writes log lines to w, in the configured format, from the configured level
// on.
func (c *Config) Logger(w io.Writer) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(c.LogLevel)) // Load checked the word
	options := &slog.HandlerOptions{Level: level}
	if c.LogFormat == "json" {
		options.ReplaceAttr = func(_ []string, a slog.Attr) slog.Attr { return printable(a) }
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}

// printable escapes what no terminal should get: a stranger chooses some of the texts. The text
// format does the same.
func printable(a slog.Attr) slog.Attr {
	text := a.Value.String()
	if _, isError := a.Value.Any().(error); a.Value.Kind() != slog.KindString && !isError || !strings.ContainsFunc(
		text, hidden,
	) {
		return a
	}
	var safe strings.Builder
	for _, r := range text {
		if hidden(r) {
			quoted := strconv.QuoteRuneToASCII(r)
			safe.WriteString(quoted[1 : len(quoted)-1])
			continue
		}
		safe.WriteRune(r)
	}
	return slog.String(a.Key, safe.String())
}

func hidden(r rune) bool { return r > '~' && !strconv.IsPrint(r) }
