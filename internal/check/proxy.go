package check

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"iter"
	"maps"
	"slices"

	"github.com/keyfill/keyfill/internal/catalog"
)

// byName yields the databases that were opened, the application's first, under the name "".
func (c *checker) byName() iter.Seq2[string, *openedStore] {
	return func(yield func(string, *openedStore) bool) {
		for _, name := range slices.Sorted(maps.Keys(c.stores)) {
			if !yield(name, c.stores[name]) {
				return
			}
		}
	}
}

// proxyRounds is how often a connection is asked for the number that the server gave it.
const proxyRounds = 4

// askProxy reports whether the connection to a server of MySQL or MariaDB ends at a proxy.
// It compares the numbers that the server returns for the connection.
//
// ProxySQL answers the text SELECT CONNECTION_ID() itself, with a number of its own
// (github.com/sysown/proxysql/issues/1797), and sends any other spelling on to the server.
// A proxy that sends each SELECT to a server of its choice returns several numbers.
func askProxy(ctx context.Context, q catalog.Querier) (bool, error) {
	var numbers []int64
	ask := func(query string) error {
		rows, err := q.Rows(ctx, query)
		if err != nil || len(rows) == 0 || len(rows[0]) == 0 {
			return err
		}
		if n := integerOf(rows[0][0]); !slices.Contains(numbers, n) {
			numbers = append(numbers, n)
		}
		return nil
	}
	if err := ask("SELECT CONNECTION_ID()"); err != nil {
		return false, err
	}
	for range proxyRounds {
		if err := ask("SELECT 0 + CONNECTION_ID()"); err != nil {
			return false, err
		}
	}
	return len(numbers) > 1, nil
}

// lookAtPoolers looks for a pooler of each database.
func (c *checker) lookAtPoolers() error {
	return c.lookBeforeEach(func(e *engine) lookBefore { return e.lookForPooler })
}

// lookAtProxies looks for a proxy of each database.
func (c *checker) lookAtProxies() error {
	return c.lookBeforeEach(func(e *engine) lookBefore { return e.lookForProxy })
}

func (c *checker) lookBeforeEach(of func(*engine) lookBefore) error {
	for name, one := range c.byName() {
		if look := of(engines[one.dialect.Family]); look != nil && !one.bad {
			if err := look(c, name, one); err != nil {
				return err
			}
		}
	}
	return nil
}

// lookAtProxy finds out whether a database of MySQL or MariaDB is reached through a proxy.
func (c *checker) lookAtProxy(name string, one *openedStore) error {
	found, err := askProxyOf(c.ctx, one.db)
	if err == nil && found {
		c.addProxy(name)
	}
	return err
}

// askProxyOf calls askProxy on one connection of a pool.
func askProxyOf(ctx context.Context, db *sql.DB) (found bool, err error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return false, err
	}
	defer conn.Close()
	err = conn.Raw(func(raw any) error {
		found, err = askProxy(ctx, catalog.Conn(raw.(driver.Conn)))
		return err
	})
	return found, err
}

// addProxy adds a finding about the effect of a proxy on the sources in use.
func (c *checker) addProxy(name string) {
	f := Finding{Severity: Warning, Rule: ruleProxy, Line: c.lineOfDatabase(name),
		Message: c.before(name) + "stands a proxy, such as ProxySQL or MaxScale: where it sends a SELECT to a replica, keyfill reads old states and old greatest keys",
		Remedy:  "in the proxy: send the SELECTs of this user to the primary, see docs/pool.md; or name the primary in the DSN"}
	if len(c.usesOf(name)) == 0 && name == "" {
		f.Severity = Info
		f.Message = c.before(name) + "stands a proxy, such as ProxySQL or MaxScale; the sources in use have no state that it could show too old"
		f.Remedy = "none is needed"
	}
	c.add(f)
}
