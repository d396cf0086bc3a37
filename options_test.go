package keyfill_test

import (
	"database/sql"
	"log/slog"
	"strings"
	"testing"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/policy"
)

// TestOptionsDefaultLogger: a report goes to the logger that is the program's
// default one when it is made, not when the name was registered.
func TestOptionsDefaultLogger(t *testing.T) {
	cfg := config("sqlite")
	cfg.Mode = policy.ModeDryRun
	name, _ := wrap(t, &fakeDriver{strength: contexts}, cfg)
	db, err := sql.Open(name, "")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()

	var log strings.Builder
	before := slog.Default()
	defer slog.SetDefault(before)
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	mustExec(t, db, insert, 1, 2)
	if n := strings.Count(log.String(), "sent unfilled"); n != 1 {
		t.Errorf("the default logger has %d reports, want 1: %q", n, log.String())
	}
}

// TestOptionsAreCopied: what a caller does to its policy afterwards changes
// nothing.
func TestOptionsAreCopied(t *testing.T) {
	cfg := config("sqlite")
	d := &fakeDriver{strength: contexts}
	c, err := keyfill.WrapConnector(&fakeConnector{d}, keyfill.Options{Policy: cfg})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	cfg.Dialect, cfg.Tables["t*"] = "nonsense", policy.Table{}
	// The connector's driver makes the next connector of the same options.
	again, err := c.Driver().Open("")
	if err != nil {
		t.Fatal(err)
	}
	again.Close()
}
