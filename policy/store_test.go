package policy_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/policy"
)

func TestStoreResolve(t *testing.T) {
	const variable, dsn = "KEYFILL_TEST_STORE_DSN", "user:secret@tcp(db)/x"
	t.Setenv(variable, dsn)
	for _, s := range []policy.Store{{Driver: "d", DSN: dsn}, {Driver: "d", DSNEnv: variable}} {
		if got, err := s.Resolve(); got != dsn || err != nil {
			t.Errorf("Resolve of %v = %q, %v", s, got, err)
		}
	}
	t.Setenv(variable, "")
	_, err := policy.Store{Driver: "d", DSNEnv: variable}.Resolve()
	var e *policy.Error
	if want := `policy: the environment variable "KEYFILL_TEST_STORE_DSN" is not set; let it hold the DSN`; !errors.As(err, &e) || plain(err) != want {
		t.Errorf("Resolve of a variable that is not set fails with %v, want %s", err, want)
	}
}

// TestStoreIsNotShown prints a configuration, and errors of one that is wrong in
// every way, with a DSN in every place.
func TestStoreIsNotShown(t *testing.T) {
	const dsn = "postgres://user:secret@db/x"
	cfg := policy.Config{
		Stores: map[string]policy.Store{"central": {Driver: "pgx", DSN: dsn}},
		Tables: map[string]policy.Table{"orders": {Column: "id"}},
	}
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
		if text := fmt.Sprintf(format, cfg); strings.Contains(text, "secret") || !strings.Contains(text, "pgx") {
			t.Errorf("%s of the configuration is %s", format, text)
		}
	}
	if _, err := cfg.Compile(dialect.MySQL()); err != nil {
		t.Errorf("Compile: %v", err)
	}
	for _, s := range []policy.Store{
		{Driver: dsn, DSN: dsn}, {Driver: "pgx", DSN: dsn, DSNEnv: dsn}, {Driver: "pgx", DSNEnv: dsn}, {DSN: dsn},
	} {
		for _, name := range []string{"central", "none", dsn} {
			cfg.Stores = map[string]policy.Store{name: s}
			cfg.Sources = map[string]policy.Source{"s": {Kind: "sequence", Store: dsn, Name: dsn + "{"}}
			_, err := cfg.Compile(dialect.MySQL())
			if err == nil || strings.Contains(err.Error(), "secret") {
				t.Errorf("Compile with the store %q: %v fails with %v", name, s, err)
			}
		}
		if _, err := (policy.Store{DSNEnv: dsn}).Resolve(); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("Resolve fails with %v", err)
		}
	}
}

func TestStoreOfGo(t *testing.T) {
	cfg := policy.Config{
		Stores:  map[string]policy.Store{"central": {Driver: "pgx", DSN: "x"}},
		Sources: map[string]policy.Source{"s": {Kind: "sequence", Store: "central"}},
		Tables:  map[string]policy.Table{"orders": {Column: "id", Source: "s"}},
	}
	p, err := cfg.Compile(dialect.PostgreSQL())
	if err != nil {
		t.Fatal(err)
	}
	if got := p.Match("", "orders").Keys[0].Source.Store; got != "central" {
		t.Errorf("the store is %q, want central", got)
	}
}
