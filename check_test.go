package keyfill_test

import (
	"bytes"
	"context"
	"database/sql/driver"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/policy"
)

// TestCheckPanics: a driver that panics under the check in the background ends the
// check, which is logged, and not the application.
func TestCheckPanics(t *testing.T) {
	d := &fakeDriver{strength: contexts}
	asked, once := make(chan struct{}), new(sync.Once)
	d.query = func(string, []driver.NamedValue) (driver.Rows, error) {
		once.Do(func() { close(asked) })
		panic("a fault of the driver")
	}
	cfg := config("mysql")
	cfg.Mode = policy.ModeDryRun
	var log bytes.Buffer
	db, err := keyfill.OpenDB(&fakeConnector{d}, keyfill.Options{Policy: cfg, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.PingContext(context.Background()); err != nil {
		t.Error(err)
	}
	<-asked
	if err := db.Close(); err != nil { // it waits for the check
		t.Error(err)
	}
	if !strings.Contains(log.String(), "a fault of the driver") {
		t.Errorf("the log has %q", log.String())
	}
}
