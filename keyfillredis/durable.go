package keyfillredis

import (
	"context"
	"log/slog"
	"strings"
)

// asked are the settings of a server that decide whether a failure loses data, each with a
// function that reports whether a value is safe.
var asked = []struct {
	name string
	good func(value string) bool
}{
	{"appendonly", func(v string) bool { return v == "yes" }},
	{"appendfsync", func(v string) bool { return v == "always" }},
	{"no-appendfsync-on-rewrite", func(v string) bool { return v == "no" }},
	// Only the policies with allkeys remove keys that have no time to live, as keyfill's
	// keys.
	{"maxmemory-policy", func(v string) bool { return !strings.HasPrefix(v, "allkeys-") }},
}

// look asks the server for the settings in asked, once in the life of a store, and logs
// those that may lose numbers. It also logs that a server does not report them, as a
// managed one may not.
func (s *store) look(ctx context.Context) {
	if s.looking.Swap(true) {
		return
	}
	var wrong []any
	for _, setting := range asked {
		answer, err := s.client.ConfigGet(ctx, setting.name).Result()
		value, told := answer[setting.name]
		switch {
		case err != nil, !told:
			slog.Default().InfoContext(ctx, "keyfillredis: the server does not say whether it keeps what it has answered")
			return
		case !setting.good(value):
			wrong = append(wrong, slog.String(setting.name, value))
		}
	}
	if wrong != nil {
		slog.Default().WarnContext(ctx, "keyfillredis: the settings of the server may lose numbers that it has given", wrong...)
	}
}
