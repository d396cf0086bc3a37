package keyfillredis

import (
	"context"
	"log/slog"
	"strings"
)

// asked are the settings of a server that decide the cost of a failure, with the values
// that keep the answers of a store.
var asked = []struct {
	name string
	good func(value string) bool
}{
	{"appendonly", func(v string) bool { return v == "yes" }},
	{"appendfsync", func(v string) bool { return v == "always" }},
	{"no-appendfsync-on-rewrite", func(v string) bool { return v == "no" }},
	// Nothing here has a time to live: the other policies remove no state.
	{"maxmemory-policy", func(v string) bool { return !strings.HasPrefix(v, "allkeys-") }},
}

// look asks the server for these settings, once in the life of a store, and logs those
// that may lose numbers. A server that does not report them, as a managed one may not, is
// logged too.
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
			slog.Default().InfoContext(ctx, "keyfillredis: the server does not tell whether it keeps what it has answered")
			return
		case !setting.good(value):
			wrong = append(wrong, slog.String(setting.name, value))
		}
	}
	if wrong != nil {
		slog.Default().WarnContext(ctx, "keyfillredis: the settings of the server may lose numbers that it has given", wrong...)
	}
}
