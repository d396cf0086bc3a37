package faults_test

import (
	"context"
	"crypto/rand"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/testdb"
	_ "github.com/keyfill/keyfill/keyfilletcd"
	_ "github.com/keyfill/keyfill/keyfillredis"
	"github.com/keyfill/keyfill/policy"
)

// lossPlace is where the states of a cell are, and the databases of its rows.
type lossPlace struct {
	engine   harness.Engine
	main     *harness.Scratch
	another  func(t *testing.T) *harness.Scratch // one more database
	stores   map[string]policy.Store             // nil: the states are beside the rows
	upstream bool

	// connector returns how the process in a place reaches a database.
	connector func(t *testing.T, s *harness.Scratch, place int) driver.Connector

	wipe   func(t *testing.T)
	remove func(t *testing.T) // the states, but not what is known of columns
	lower  func(t *testing.T)
	copied func(t *testing.T, anew bool) (putBack func(t *testing.T))
	settle func(t *testing.T)
}

// lossStore is a row, or several, of the table of losses: one for each of its sources.
type lossStore struct {
	name    string
	sources []string
	lacks   []string // the losses that are not applicable

	// start starts the servers, and returns what makes the place of a cell.
	start func(t *testing.T) (place func(t *testing.T) *lossPlace)
}

// lossStores are the stores, in the table's order.
var lossStores = []lossStore{
	{name: "PostgreSQL", sources: []string{"sequence", "joined", "scope", "recycled", "snowflake"}, start: lossDatabase(harness.PgxDefault)},
	{name: "MariaDB", sources: []string{"sequence", "joined", "scope", "recycled", "snowflake", "maxplusone"}, start: lossDatabase(harness.MySQLDefault)},
	{name: "SQLite", sources: []string{"sequence", "joined", "scope", "recycled"}, start: lossDatabase(harness.SQLiteFile)},
	{name: "Galera", sources: []string{"sequence", "joined", "scope", "recycled", "snowflake", "maxplusone"}, start: lossGalera},
	{name: "etcd", sources: []string{"sequence", "recycled", "snowflake"}, lacks: []string{"replica"}, start: lossEtcd(false)},
	{name: "Redis", sources: []string{"sequence", "recycled", "snowflake"}, start: lossRedis(false)},
	{name: "upstream etcd", sources: []string{"sequence"}, lacks: []string{"replica"}, start: lossEtcd(true)},
	{name: "upstream Redis", sources: []string{"sequence"}, start: lossRedis(true)},
}

// lossDatabases are two databases, which the cells of a store use one after the other.
type lossDatabases struct {
	engine harness.Engine
	both   [2]*harness.Scratch
}

// empty returns a database that is empty, and will be when the test has ended.
func (d *lossDatabases) empty(t *testing.T, place int) *harness.Scratch {
	t.Helper()
	if d.engine.Server == nil {
		return d.engine.Scratch(t)
	}
	s := d.both[place]
	tables := "SELECT table_name FROM information_schema.tables WHERE table_schema = " + map[bool]string{true: "'public'", false: "DATABASE()"}[s.IsPostgres()]
	t.Cleanup(func() {
		for _, table := range harness.KeysOf(t, s.Raw, context.Background(), tables) {
			harness.Exec(t, s.Raw, "DROP TABLE "+table)
		}
	})
	return s
}

// lossBeside makes databases for cells, with no place for their states yet.
func lossBeside(t *testing.T, e harness.Engine) (place func(t *testing.T) *lossPlace) {
	t.Helper()
	d := &lossDatabases{engine: e}
	if e.Server != nil {
		d.both = [2]*harness.Scratch{e.Scratch(t), e.Scratch(t)}
	}
	return func(t *testing.T) *lossPlace {
		return &lossPlace{
			engine: e, main: d.empty(t, 0),
			another:   func(t *testing.T) *harness.Scratch { return d.empty(t, 1) },
			connector: func(_ *testing.T, s *harness.Scratch, _ int) driver.Connector { return s.Connector },
			settle:    func(*testing.T) {},
		}
	}
}

// lossDatabase keeps the states beside the rows.
func lossDatabase(e harness.Engine) func(t *testing.T) func(t *testing.T) *lossPlace {
	return func(t *testing.T) func(t *testing.T) *lossPlace {
		beside := lossBeside(t, e)
		return func(t *testing.T) *lossPlace {
			p := beside(t)
			p.inDatabase(p.main)
			return p
		}
	}
}

// lossGalera keeps them beside the rows on three nodes, of which each process uses one.
func lossGalera(t *testing.T) func(t *testing.T) *lossPlace {
	nodes := cluster.Nodes(t)
	e := harness.MySQLDefault
	e.Server = nodes[0]
	beside := lossBeside(t, e)
	return func(t *testing.T) *lossPlace {
		p := beside(t)
		p.inDatabase(p.main)
		name := harness.DatabaseOf(t, p.main)
		p.connector = func(t *testing.T, s *harness.Scratch, place int) driver.Connector {
			return harness.ConnectorOf(t, s.Driver, nodes[place%len(nodes)].DSN(name))
		}
		p.settle = func(t *testing.T) {
			for _, node := range nodes {
				harness.Count(t, harness.Open(t, "mysql", node.DSN("")+"?"+galeraSynced), "SELECT COUNT(*) FROM "+name+".t")
			}
		}
		return p
	}
}

// lossTables are the tables of states.
var lossTables = []string{"keyfill_sequences", "keyfill_workers", "keyfill_series"}

// inDatabase loses states in a database.
func (p *lossPlace) inDatabase(s *harness.Scratch) {
	p.wipe = func(t *testing.T) {
		for _, table := range lossTables {
			harness.Exec(t, s.Raw, "DROP TABLE "+table)
		}
	}
	p.remove = func(t *testing.T) {
		for _, query := range []string{
			"DELETE FROM keyfill_sequences WHERE name NOT LIKE '% for %'",
			"DELETE FROM keyfill_series", "DELETE FROM keyfill_workers",
		} {
			harness.Exec(t, s.Raw, query)
		}
	}
	p.lower = func(t *testing.T) {
		for _, query := range []string{
			"UPDATE keyfill_sequences SET next_value = 2 WHERE next_value > 2",
			"UPDATE keyfill_series SET next_value = series_first",
			fmt.Sprintf("UPDATE keyfill_workers SET reserved_until = reserved_until - %d", lossLowerMark),
		} {
			harness.Exec(t, s.Raw, query)
		}
	}
	p.copied = func(t *testing.T, anew bool) func(t *testing.T) { return copiedTables(t, s, anew) }
}

// copiedTables copies all tables of a database, and returns what puts the rows back, into
// the same tables or into tables that are made anew.
func copiedTables(t *testing.T, s *harness.Scratch, anew bool) func(t *testing.T) {
	t.Helper()
	tables := append([]string{"t"}, lossTables...)
	var putBack []string
	for _, table := range tables {
		copied := "copied_" + table
		switch {
		case s.IsPostgres():
			harness.Exec(t, s.Raw, "CREATE TABLE "+copied+" (LIKE "+table+" INCLUDING ALL)")
			harness.Exec(t, s.Raw, "INSERT INTO "+copied+" SELECT * FROM "+table)
		case s.Server == nil:
			harness.Exec(t, s.Raw, "CREATE TABLE "+copied+" AS SELECT * FROM "+table)
		default:
			harness.Exec(t, s.Raw, "CREATE TABLE "+copied+" LIKE "+table)
			harness.Exec(t, s.Raw, "INSERT INTO "+copied+" SELECT * FROM "+table)
		}
		switch {
		case !anew:
			putBack = append(putBack, "DELETE FROM "+table, "INSERT INTO "+table+" SELECT * FROM "+copied)
		case s.Server == nil:
			putBack = append(putBack, "DROP TABLE "+table)
			putBack = append(putBack, harness.KeysOf(t, s.Raw, t.Context(), "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND tbl_name = '"+table+"' ORDER BY type DESC")...)
			putBack = append(putBack, "INSERT INTO "+table+" SELECT * FROM "+copied)
		default:
			putBack = append(putBack, "DROP TABLE "+table, "ALTER TABLE "+copied+" RENAME TO "+table)
		}
	}
	return func(t *testing.T) {
		for _, query := range putBack {
			harness.Exec(t, s.Raw, query)
		}
	}
}

// lossRestored lets a server of its own go back to a copy of its data.
type lossRestored interface {
	Kill(t testing.TB)
	Restart(t testing.TB)
	Save(t testing.TB) (restore func())
}

// copiedServer copies the data of a server, which is killed meanwhile, and returns what kills it
// and starts it with the copy.
func copiedServer(t *testing.T, server lossRestored) func(t *testing.T) {
	t.Helper()
	server.Kill(t)
	restore := server.Save(t)
	server.Restart(t)
	return func(t *testing.T) {
		server.Kill(t)
		restore()
		server.Restart(t)
	}
}

// in keeps the states in a store, or takes it for the upstream of the states beside the rows.
func (p *lossPlace) in(s policy.Store, upstream bool) {
	p.stores, p.upstream = map[string]policy.Store{lossStoreName: s}, upstream
}

// lossEtcd keeps the states, or the upstream of states, in a cluster of one member.
func lossEtcd(upstream bool) func(t *testing.T) func(t *testing.T) *lossPlace {
	return func(t *testing.T) func(t *testing.T) *lossPlace {
		member := testdb.StartEtcd(t, 1)[0]
		client, err := clientv3.New(clientv3.Config{Endpoints: []string{member.URL()}, DialTimeout: time.Minute, Logger: zap.NewNop()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = client.Close() })
		beside := lossBeside(t, harness.PgxDefault)
		return func(t *testing.T) *lossPlace {
			p := beside(t)
			e := etcdKeys{client, strings.ToLower(rand.Text()) + "/"}
			p.in(policy.Store{Driver: "etcd", Endpoints: []string{member.URL()}, Prefix: e.prefix}, upstream)
			p.wipe = func(t *testing.T) { e.remove(t, "") }
			p.remove = func(t *testing.T) {
				for _, folder := range []string{"states/", "counts/", "series/", "leases/", "marks/"} {
					e.remove(t, folder)
				}
			}
			p.lower = e.lower
			p.copied = func(t *testing.T, _ bool) func(t *testing.T) { return copiedServer(t, member) }
			return p
		}
	}
}

// etcdKeys are the keys of a store in etcd.
type etcdKeys struct {
	client *clientv3.Client
	prefix string
}

func (e etcdKeys) do(t *testing.T, f func(ctx context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := f(ctx); err != nil {
		t.Fatal(err)
	}
}

func (e etcdKeys) remove(t *testing.T, folder string) {
	t.Helper()
	e.do(t, func(ctx context.Context) error {
		_, err := e.client.Delete(ctx, e.prefix+folder, clientv3.WithPrefix())
		return err
	})
}

// lower lowers the base of states, the next integers of series and the marks of snowflakes.
func (e etcdKeys) lower(t *testing.T) {
	t.Helper()
	e.do(t, func(ctx context.Context) error {
		all, err := e.client.Get(ctx, e.prefix, clientv3.WithPrefix())
		if err != nil {
			return err
		}
		for _, kv := range all.Kvs {
			folder, rest, _ := strings.Cut(strings.TrimPrefix(string(kv.Key), e.prefix), "/")
			value := map[string]any{}
			switch folder {
			case "states", "series", "marks":
				if err := json.Unmarshal(kv.Value, &value); err != nil {
					return err
				}
			default:
				continue
			}
			switch folder {
			case "states":
				value["base"] = 2
			case "series":
				value["next"], err = strconv.ParseInt(rest[strings.LastIndexByte(rest, '/')+1:], 10, 64)
			case "marks":
				value["until"] = int64(value["until"].(float64)) - lossLowerMark
			}
			text, failed := json.Marshal(value)
			if err := errors.Join(err, failed); err != nil {
				return err
			}
			if _, err := e.client.Put(ctx, string(kv.Key), string(text)); err != nil {
				return err
			}
		}
		return nil
	})
}

// lossLowerMark is by how many milliseconds the marks of snowflakes are lowered.
const lossLowerMark = 5000

// lossRedis keeps the states, or the upstream of states, in a server.
func lossRedis(upstream bool) func(t *testing.T) func(t *testing.T) *lossPlace {
	return func(t *testing.T) func(t *testing.T) *lossPlace {
		server := testdb.StartRedis(t)
		beside := lossBeside(t, harness.PgxDefault)
		return func(t *testing.T) *lossPlace {
			p := beside(t)
			prefix := strings.ToLower(rand.Text()) + "/"
			p.in(policy.Store{Driver: "redis", Endpoints: []string{server.Addr()}, Prefix: prefix}, upstream)
			keys := func(t *testing.T) []string {
				return slices.DeleteFunc(strings.Split(server.Command(t, "KEYS", prefix+"*"), "\n"), func(key string) bool { return key == "" })
			}
			p.wipe = func(t *testing.T) {
				for _, key := range keys(t) {
					server.Command(t, "DEL", key)
				}
			}
			p.remove = func(t *testing.T) {
				for _, key := range keys(t) {
					if !strings.HasPrefix(key, prefix+"columns/") {
						server.Command(t, "DEL", key)
					}
				}
			}
			p.lower = func(t *testing.T) {
				for _, key := range keys(t) {
					fields := strings.Split(server.Command(t, "HGETALL", key), "\n")
					for i := 0; i+1 < len(fields); i += 2 {
						if value := loweredInRedis(t, fields[i], fields[i+1]); value != fields[i+1] {
							server.Command(t, "HSET", key, fields[i], value)
						}
					}
				}
			}
			p.copied = func(t *testing.T, _ bool) func(t *testing.T) { return copiedServer(t, server) }
			return p
		}
	}
}

// loweredInRedis returns the value of a field with the next integer of a state or a series,
// or a mark, lowered.
func loweredInRedis(t *testing.T, field, value string) string {
	t.Helper()
	first, isSeries := strings.CutPrefix(field, "series:")
	switch {
	case field == "next":
		return "2"
	case field == "until":
		until, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return strconv.FormatInt(until-lossLowerMark, 10)
	case isSeries: // last, next, …
		words := strings.Split(value, " ") // the owner, which is the last one, may be empty
		words[1] = first
		return strings.Join(words, " ")
	}
	return value
}
