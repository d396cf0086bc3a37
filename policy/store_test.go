package policy_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/keysource"
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
		{Driver: "etcd", Endpoints: []string{dsn}, EndpointsEnv: dsn, UserEnv: dsn, PasswordEnv: dsn, Prefix: dsn, TLS: &keysource.StoreTLS{CA: dsn}},
	} {
		if text := fmt.Sprintf("%v %+v %#v", s, s, s); strings.Contains(text, "secret") {
			t.Errorf("a store is shown as %s", text)
		}
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

func TestStoreResolveEndpoints(t *testing.T) {
	const servers, user, password = "KEYFILL_TEST_STORE_SERVERS", "KEYFILL_TEST_STORE_USER", "KEYFILL_TEST_STORE_PASSWORD"
	t.Setenv(servers, "https://a:1, b.internal:2379")
	t.Setenv(user, "shop")
	t.Setenv(password, "secret")
	s := policy.Store{
		Driver: "etcd", EndpointsEnv: servers, Prefix: "shop/", UserEnv: user, PasswordEnv: password,
		TLS: &keysource.StoreTLS{CA: "ca.pem"},
	}
	want := keysource.Endpoints{
		Addresses: []string{"https://a:1", "b.internal:2379"}, Prefix: "shop/", User: "shop", Password: "secret",
		TLS: &keysource.StoreTLS{CA: "ca.pem"},
	}
	got, given, err := s.ResolveEndpoints()
	if !reflect.DeepEqual(got, want) || !given || err != nil {
		t.Errorf("ResolveEndpoints = %+v, %t, %v, want %+v", got, given, err, want)
	}
	s.EndpointsEnv, s.Endpoints = "", want.Addresses
	got, given, err = s.ResolveEndpoints()
	if !reflect.DeepEqual(got, want) || !given || err != nil {
		t.Errorf("ResolveEndpoints of addresses = %+v, %t, %v, want %+v", got, given, err, want)
	}
	got.TLS.CA, got.Addresses[0] = "changed", "changed"
	if s.TLS.CA != "ca.pem" || s.Endpoints[0] != "https://a:1" {
		t.Errorf("a change of what ResolveEndpoints returned has changed the store to %v", s)
	}
	if _, given, err := (policy.Store{Driver: "pgx", DSN: "x"}).ResolveEndpoints(); given || err != nil {
		t.Errorf("ResolveEndpoints of a DSN: %t, %v", given, err)
	}
	for _, bad := range []struct{ variable, value, want string }{
		{servers, "", `policy: the environment variable "KEYFILL_TEST_STORE_SERVERS" is not set; let it hold the addresses of the servers`},
		{user, "", `policy: the environment variable "KEYFILL_TEST_STORE_USER" is not set; let it hold the user`},
		{password, "", `policy: the environment variable "KEYFILL_TEST_STORE_PASSWORD" is not set; let it hold the password`},
		{servers, "a:1,user:secret@b:1", `policy: the environment variable "KEYFILL_TEST_STORE_SERVERS" holds something else than addresses; write host:port or https://host:port, with commas between them and without a password`},
		{servers, "a:1;b:2", `policy: the environment variable "KEYFILL_TEST_STORE_SERVERS" holds something else than addresses; write host:port or https://host:port, with commas between them and without a password`},
	} {
		t.Run(bad.variable, func(t *testing.T) {
			t.Setenv(bad.variable, bad.value)
			_, _, err := policy.Store{Driver: "etcd", EndpointsEnv: servers, UserEnv: user, PasswordEnv: password}.ResolveEndpoints()
			if plain(err) != bad.want {
				t.Errorf("ResolveEndpoints fails with %v, want %s", err, bad.want)
			}
		})
	}
}

// TestCloneOfStores: a copy of a configuration has addresses and TLS of its own.
func TestCloneOfStores(t *testing.T) {
	cfg := policy.Config{Stores: map[string]policy.Store{"central": {Driver: "etcd", Endpoints: []string{"a:1"}, TLS: &keysource.StoreTLS{CA: "ca.pem"}}}}
	copied := cfg.Clone()
	cfg.Stores["central"].Endpoints[0] = "b:1"
	cfg.Stores["central"].TLS.CA = "other.pem"
	if s := copied.Stores["central"]; s.Endpoints[0] != "a:1" || s.TLS.CA != "ca.pem" {
		t.Errorf("the copy has changed to %+v and %+v", s.Endpoints, s.TLS)
	}
}

// TestStoreSecretInFile: a password that stands as a tag or as a name inside stores: is in no
// error, wherever a slip of the pen has put it.
func TestStoreSecretInFile(t *testing.T) {
	const secret = "Gehe1mXq"
	for _, stores := range []string{
		"!" + secret + " {central: {driver: etcd, dsn: x}}",
		secret,
		"[" + secret + "]",
		"{!" + secret + " central: {driver: etcd, dsn: x}}",
		"{" + secret + ": 1}",
		"{" + secret + "}",
		"{? {" + secret + ": 1} : 1}",
		"{" + secret + ": 1, " + secret + ": 1}",
		"{" + secret + " e: {driver: etcd, dsn: x}}",
		"{central: !" + secret + " {driver: etcd, dsn: x}}",
		"{central: " + secret + "}",
		"{central: {driver: !" + secret + " etcd, dsn: x}}",
		"{central: {driver: etcd, dsn: !" + secret + "}}",
		"{central: {driver: etcd, dsn: !" + secret + " x}}",
		"{central: {driver: etcd, dsn: !!" + secret + " x}}",
		"{central: {driver: etcd, dsn: x, !" + secret + " prefix: x}}",
		"{central: {driver: etcd, dsn: x, " + secret + ": 1}}",
		"{central: {driver: etcd, dsn: x, " + secret + ": 1, " + secret + ": 1}}",
		"{central: {driver: etcd, dsn: {" + secret + ": 1}}}",
		"{central: {driver: etcd, dsn: x" + secret + ": 1}}",
		"{central: {driver: etcd, dsn: &" + secret + " x}}",
		"{central: {driver: etcd, dsn: *" + secret + "}}",
		"{central: {driver: etcd, dsn: %" + secret + "}}",
		"{central: {driver: etcd, dsn: '" + secret + "' " + secret + "}}",
		"{central: {driver: etcd, dsn: \"" + secret + "\\" + secret + "\"}}",
		"{central: {driver: etcd, endpoints: [!" + secret + " x]}}",
		"{central: {driver: etcd, endpoints: [" + secret + ": 1]}}",
		"{central: {driver: etcd, endpoints: ['h:1'], tls: !" + secret + " {}}}",
		"{central: {driver: etcd, endpoints: ['h:1'], tls: {" + secret + ": 1}}}",
		"{central: {driver: etcd, endpoints: ['h:1'], tls: {ca: !" + secret + " x}}}",
		"{central: {driver: etcd, endpoints: ['h:1'], tls: {ca: {" + secret + ": 1}}}}",
		"{central: {<<: {" + secret + ": 1}, driver: etcd}}",
	} {
		text := "version: 1\nstores: " + stores + "\ntables: {orders: {column: id}}\n"
		cfg, err := policy.Parse([]byte(text))
		if err == nil {
			_, err = cfg.Compile(dialect.MySQL())
		}
		if err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("%s\n%v", text, err)
		}
	}
	for text, want := range map[string]string{ // a name that is known is shown, and one that is near to what was written
		"{central: {driver: etcd, dsn: x, driver: etcd}}": `field "driver" twice`,
		"{central: {driver: etcd, dnsEnv: X}}":            `did you mean "dsn_env"?`,
	} {
		if _, err := policy.Parse([]byte("version: 1\nstores: " + text + "\ntables: {orders: {column: id}}\n")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

func TestStoreWords(t *testing.T) {
	if shown, are := policy.StoreWords(); !slices.Equal(shown, are) {
		t.Errorf("errors show the fields %q of a store, which has %q", shown, are)
	}
}
