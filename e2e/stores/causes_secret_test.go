package stores_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/testturn"
	"github.com/keyfill/keyfill/keyfillhttp"
	"github.com/keyfill/keyfill/keyfillprom"
	"github.com/keyfill/keyfill/policy"
)

// figuresOf returns what an operator sees of a mount: its page, its report in JSON, its metrics,
// and its statistics.
func figuresOf(t *testing.T, m *keyfill.Mount) string {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(keyfillprom.NewCollector(m, "shop"))
	all := fmt.Sprintf("%+v\n%+v\n", m.Sources(), m.Stats())
	for path, handler := range map[string]http.Handler{
		"/": keyfillhttp.Handler(m), "/?format=json": keyfillhttp.Handler(m), "/metrics": promhttp.HandlerFor(registry, promhttp.HandlerOpts{}),
	} {
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, path, nil))
		if answer.Code != http.StatusOK {
			t.Errorf("%s is answered with %d", path, answer.Code)
		}
		all += answer.Body.String()
	}
	return all
}

// secretDSNs are DSNs by the driver, with a password in each place where one may stand, or where
// a slip may put it. $AT is an address at which nothing listens.
var secretDSNs = map[string][]string{
	"mysql": {
		"u:$S@tcp($AT)/d", "$S:p@tcp($AT)/d", "u:p@tcp($S.invalid:1)/d", "u:p@$S($AT)/d", "u:p@tcp($AT)/$S", "u:p@tcp($AT)/d?$S=1",
		"u:p@tcp($AT)/d?timeout=$S", "u:p@tcp($AT)/d?tls=$S", "u:p@tcp($AT)/d?loc=$S", "u:$S", "$S", "u:p/$S@tcp($AT)/d", "u:p@unix(/$S)/d",
	},
	"pgx":      secretURLs,
	"postgres": secretURLs,
	"redis": {
		"redis://u:$S@$AT/0", "redis://u:p/$S@$AT/0", "redis://u:p@$S.invalid:1/0", "redis://$AT/$S", "redis://$AT/0?$S=1", "rediss://u:$S@$AT/0",
		"$S://$AT", "redis://$AT/0?master_name=$S", "redis://u:p@$AT,$S.invalid:1/0?cluster=true", "redis://$AT/0?prefix=$S", "$S",
	},
	"etcd":   {"$AT/$S", "$S@$AT", "u:$S@$AT", "$S.invalid:1", "https://$S.invalid:1", "$S", "$S://$AT"},
	"sqlite": {"file:/$S/x.db", "file:/nowhere/x.db?_pragma=$S", "file:/nowhere/x.db?vfs=$S"},
}

var secretURLs = []string{
	"postgres://u:$S@$AT/d", "postgres://u:p/$S@$AT/d", "postgres://$S:p@$AT/d", "postgres://u:p@$S.invalid:1/d", "postgres://u:p@127.0.0.1:$S/d",
	"postgres://u:p@$AT/$S", "postgres://u:p@$AT/d?sslmode=$S", "postgres://u:p@$AT/d?$S=1", "postgres://u:p@$AT/d?connect_timeout=$S",
	"postgres://u:p@$AT/d?sslmode=verify-full&sslrootcert=/$S", "host=$S.invalid user=u", "host=127.0.0.1 port=$S", "host=127.0.0.1 port=1 user=u password=$S",
	"host=127.0.0.1 port=1 password='$S", "$S", "u:$S@tcp($AT)/d",
}

// TestNoSecretOfStores: a password that stands anywhere in a DSN or in a field of a store, and the
// tenant in the name of a state, are in no error of the store, no line of the log, no finding
// of the check, and neither on the page nor in a metric.
func TestNoSecretOfStores(t *testing.T) {
	t.Parallel()
	var all []policy.Store
	at := freeAddress(t)
	for driver, formats := range secretDSNs {
		for _, format := range formats {
			all = append(all, policy.Store{Driver: driver, DSN: strings.NewReplacer("$S", password, "$AT", at).Replace(format)})
		}
	}
	for _, driver := range []string{"redis", "etcd"} {
		all = append(all,
			policy.Store{Driver: driver, Endpoints: []string{at}, UserEnv: variable(t, password), PasswordEnv: variable(t, password), Prefix: password},
			policy.Store{Driver: driver, EndpointsEnv: variable(t, password)},
			policy.Store{Driver: driver, EndpointsEnv: variable(t, "u:"+password+"@"+at)},
			policy.Store{Driver: driver, DSNEnv: variable(t, "u:"+password+"@"+at)},
		)
	}
	for place, store := range testturn.Some(t, all, 12) {
		t.Run(fmt.Sprint(store.Driver, place), func(t *testing.T) {
			t.Parallel()
			s := harness.SQLiteFile.Scratch(t)
			harness.Exec(t, s.Raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT)")
			cfg := harness.InPlace(policy.Source{
				Kind: policy.KindSequence, Store: "central", Name: "numbers-{value:tenant}", Start: 1, Create: new(true),
				EnsureSchema: store.Driver != "redis" && store.Driver != "etcd",
			})
			cfg.Stores = map[string]policy.Store{"central": store}
			cfg.StoreWait = 300 * time.Millisecond
			log := new(lines)
			db, err := keyfill.OpenDB(s.Connector, keyfill.Options{Policy: cfg, Logger: log.logger()})
			said := fmt.Sprint(err)
			if err == nil {
				defer db.Close()
				m, err := keyfill.From(db)
				if err != nil {
					t.Fatal(err)
				}
				ctx := keyfill.WithValue(context.Background(), "tenant", tenant)
				for range 2 {
					said += failing(ctx, t, db)
				}
				found, err := m.Check(ctx)
				said += fmt.Sprint(found, err) + figuresOf(t, m)
			}
			said += log.texts()
			for _, secret := range []string{password, strings.ToLower(password)} {
				if strings.Contains(said, secret) {
					t.Errorf("the store %s of %q is told of: %s", store.Driver, store.DSN, said)
				}
			}
			if strings.Contains(log.texts(), tenant) {
				t.Errorf("the tenant is logged: %s", log.texts())
			}
		})
	}
}
