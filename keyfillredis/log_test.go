package keyfillredis_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/keyfillredis"
)

// TestClientLog: what the client says goes to slog's default logger at level debug, without a
// piece of a DSN, and not to stderr.
func TestClientLog(t *testing.T) {
	var log bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})))
	defer slog.SetDefault(before)
	for _, dsn := range []string{
		"redis://shop:secret@secret.invalid:6379/0",
		"redis://shop:secret@secret.invalid:26379/0?master_name=secret",
	} {
		log.Reset()
		s, err := keyfillredis.Driver{}.OpenStore(dsn)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Reserver(state("secret")).Reserve(t.Context(), 1, 0); err == nil || strings.Contains(err.Error(), "secret.") {
			t.Errorf("%v", err)
		}
		_ = s.Close()
		text := log.String()
		if !strings.Contains(text, "level=DEBUG msg=\"keyfillredis: the client says: ") || strings.Contains(text, "secret") {
			t.Errorf("the log is %q", text)
		}
	}
}
