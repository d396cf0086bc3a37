// Command way executes one INSERT on MariaDB through go-sql-driver/mysql until its text is
// known, and then once more. It writes the coverage of this last execution into the folder
// that is its third argument. It prints the functions of keyfill that were on the deepest
// stack when the driver wrote to the server, the outermost first. TestWays builds it with
// -cover.
package main

import (
	"context"
	"database/sql"
	"fmt"
	"log"
	"net"
	"os"
	"runtime"
	"runtime/coverage"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/policy"
)

// way is an INSERT, with the source of its key.
type way struct {
	query  string
	source policy.Source
	lastID bool // whether LastInsertId is called
}

const (
	oneRow = "INSERT INTO t (a, b) VALUES (?, ?)"
	upsert = "INSERT INTO t (a, b) VALUES (?, ?) ON DUPLICATE KEY UPDATE b = VALUES(b)"
	copied = "INSERT INTO t (a, b) SELECT a + ?, ? FROM u"
)

var ways = map[string]way{
	"uuidv7":        {query: oneRow, source: policy.Source{Kind: policy.KindUUIDv7}},
	"block in hand": {query: oneRow, source: sequence(1000, false), lastID: true},
	"reservation":   {query: oneRow, source: sequence(1, false), lastID: true},
	"joined":        {query: oneRow, source: sequence(0, true), lastID: true},
	"upsert":        {query: upsert, source: sequence(1000, false), lastID: true},
	"select":        {query: copied, source: sequence(1000, false), lastID: true},
}

func sequence(block int64, joined bool) policy.Source {
	s := policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Block: block}
	if joined {
		s.Transaction = policy.TransactionJoined
	}
	return s
}

func main() {
	log.SetFlags(0)
	if len(os.Args) != 4 {
		log.Fatal("usage: way NAME DSN FOLDER")
	}
	if err := run(ways[os.Args[1]], os.Args[2], os.Args[3]); err != nil {
		log.Fatal(err)
	}
	os.Exit(0) // exit without closing, which would count as coverage
}

func run(w way, dsn, folder string) error {
	ctx := context.Background()
	var stacks deepest
	mysql.RegisterDialContext("tcp", func(ctx context.Context, address string) (net.Conn, error) {
		c, err := new(net.Dialer).DialContext(ctx, "tcp", address)
		return conn{c, &stacks}, err
	})
	cfg, err := mysql.ParseDSN(dsn)
	if err != nil {
		return err
	}
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		return err
	}
	if err := create(ctx, sql.OpenDB(connector), w); err != nil {
		return err
	}
	db, err := keyfill.OpenDB(connector, keyfill.Options{Policy: &policy.Config{
		Dialect:   "mariadb",
		StoreWait: time.Minute,
		Tables:    map[string]policy.Table{"t": {Column: "id", InPlace: &w.source}},
	}})
	if err != nil {
		return err
	}
	// Use one connection, so that the work of database/sql between two uses of a connection
	// is not counted.
	c, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	// keyfill remembers a text when it sees it for the second time, so send it several
	// times first.
	for n := range 4 {
		if err := w.send(ctx, c, n); err != nil {
			return err
		}
	}
	time.Sleep(200 * time.Millisecond) // wait until work in the background has ended
	stacks.reset()
	if err := coverage.ClearCounters(); err != nil {
		return err
	}
	if err := w.send(ctx, c, 4); err != nil {
		return err
	}
	for _, name := range stacks.get() {
		fmt.Println(name)
	}
	if err := coverage.WriteMetaDir(folder); err != nil {
		return err
	}
	return coverage.WriteCountersDir(folder)
}

func create(ctx context.Context, raw *sql.DB, w way) error {
	defer raw.Close()
	id := "BIGINT"
	if w.source.Kind == policy.KindUUIDv7 {
		id = "UUID"
	}
	for _, text := range []string{
		"CREATE TABLE t (id " + id + " PRIMARY KEY, a INT UNIQUE, b INT)",
		"CREATE TABLE u (a INT PRIMARY KEY)",
		"INSERT INTO u VALUES (1), (2)",
	} {
		if _, err := raw.ExecContext(ctx, text); err != nil {
			return err
		}
	}
	return nil
}

func (w way) send(ctx context.Context, c *sql.Conn, n int) error {
	res, err := c.ExecContext(ctx, w.query, 10*n, n)
	if err == nil && w.lastID {
		_, err = res.LastInsertId()
	}
	return err
}

// conn notes the stack of each write to the server.
type conn struct {
	net.Conn
	stacks *deepest
}

func (c conn) Write(b []byte) (int, error) {
	c.stacks.note()
	return c.Conn.Write(b)
}

// SyscallConn is a method that the driver needs to find out whether the server has closed
// the connection.
func (c conn) SyscallConn() (syscall.RawConn, error) {
	return c.Conn.(*net.TCPConn).SyscallConn()
}

// deepest holds the deepest stack of keyfill's functions.
type deepest struct {
	mu    sync.Mutex
	names []string
}

func (d *deepest) reset() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.names = nil
}

func (d *deepest) get() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.names
}

func (d *deepest) note() {
	callers := make([]uintptr, 500)
	frames := runtime.CallersFrames(callers[:runtime.Callers(2, callers)])
	var names []string
	for {
		f, more := frames.Next()
		if strings.HasPrefix(f.Function, "github.com/keyfill/keyfill") {
			names = append(names, f.Function)
		}
		if !more {
			break
		}
	}
	slices.Reverse(names)
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(names) > len(d.names) {
		d.names = names
	}
}
