package conformance

import (
	"context"
	"crypto/rand"
	"database/sql"
	"database/sql/driver"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/dbconn"
	"github.com/keyfill/keyfill/internal/measure"
)

// Target is the server of a run.
type Target struct {
	Name    string // the name of the driver
	Driver  driver.Driver
	DSN     string
	Dialect *dialect.Dialect

	// Wrap, if it is not nil, is put around each connector: tests plant faults by it.
	Wrap func(driver.Connector) driver.Connector
}

// prefix begins the name of each schema.
const prefix = "keyfill_conformance_"

// isPlace matches the names of the schemas of all runs.
var isPlace = regexp.MustCompile(`^` + prefix + `[0-9a-f]{16}$`)

// maxWait bounds how long a run cleans up after an interrupt.
const maxWait = time.Minute

// errExists is returned if the schema of a run exists already.
var errExists = anchor.New("command", "the schema of the run is there already, and is not touched: begin again, which takes another name")

// errNotOurs is returned if a schema does not have the mark of a run.
var errNotOurs = anchor.New("command", "the schema has no mark of keyfill conformance, and is not dropped: look what it holds, and drop it by hand")

// place is the schema in which a run works.
type place struct {
	target Target
	engine *engine
	name   string
	outer  *sql.DB // in the database of the DSN; nil on SQLite
	folder *folder // on SQLite alone
}

// at replaces the name of the schema in a statement.
func (p *place) at(statement string) string { return strings.ReplaceAll(statement, "%[1]s", p.name) }

// HasServer reports whether a run makes its schema on a server, to which it connects by the
// DSN. Elsewhere it makes a file beside the file of the DSN.
func HasServer(d *dialect.Dialect) bool { return engines[d.Family].create != "" }

// newName returns a name that no schema has, by chance.
func newName() string {
	digits := make([]byte, 8)
	_, _ = rand.Read(digits) // rand.Read never fails
	return prefix + hex.EncodeToString(digits)
}

// outside returns a database as the DSN names it; nil on SQLite, whose file
// is not opened.
func (t Target) outside() (*sql.DB, error) {
	if engines[t.Dialect.Family].create == "" {
		return nil, nil
	}
	c, err := t.connector(t.DSN)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(c), nil
}

// connector returns a connector for a DSN, with the wrapper of a test around it.
func (t Target) connector(dsn string) (driver.Connector, error) {
	c, err := dbconn.Open(t.Driver, dsn)
	if err == nil && t.Wrap != nil {
		c = t.Wrap(c)
	}
	return c, err
}

// makePlace makes a schema and marks it. What it has made is removed if it fails.
func makePlace(ctx context.Context, t Target, name string) (p *place, err error) {
	p = &place{target: t, engine: engines[t.Dialect.Family], name: name}
	if p.outer, err = t.outside(); err != nil {
		return nil, err
	}
	if p.outer == nil {
		if p.folder, err = makeFolder(t.DSN, name); err != nil {
			return nil, err
		}
		return p, nil
	}
	present, err := p.names(ctx)
	if err == nil && slices.Contains(present, name) {
		err = errExists
	}
	if err != nil {
		return nil, errors.Join(err, p.outer.Close())
	}
	if _, err := p.outer.ExecContext(ctx, p.at(p.engine.create)); err != nil {
		return nil, errors.Join(fmt.Errorf("a schema cannot be made: name a user who may make one in the DSN: %w", err), p.outer.Close())
	}
	// From here on the schema is this run's: CREATE fails if there is one of the name.
	if err := p.writeMark(ctx); err != nil {
		return nil, errors.Join(err, p.dropAll(context.WithoutCancel(ctx)), p.outer.Close())
	}
	return p, nil
}

// writeMark marks the schema as one of this package.
func (p *place) writeMark(ctx context.Context) error {
	mark := p.at(p.engine.mark)
	if _, err := p.outer.ExecContext(ctx, "CREATE TABLE "+mark+" (run "+p.engine.text+" NOT NULL PRIMARY KEY)"); err != nil {
		return err
	}
	_, err := p.outer.ExecContext(ctx, "INSERT INTO "+mark+" (run) VALUES ('"+p.name+"')")
	return err
}

// isMarked returns nil if the schema has its mark, errNotOurs if it does not. A schema
// without tables was made by a run that was killed before it wrote the mark.
func (p *place) isMarked(ctx context.Context) error {
	var run string
	err := p.outer.QueryRowContext(ctx, "SELECT run FROM "+p.at(p.engine.mark)).Scan(&run)
	if err == nil && run == p.name {
		return nil
	}
	var tables int
	if counted := p.outer.QueryRowContext(ctx, p.at(p.engine.tables)).Scan(&tables); counted != nil || tables > 0 || err == nil {
		return errNotOurs
	}
	return nil
}

// names returns the names of the schemas that runs have made.
func (p *place) names(ctx context.Context) (all []string, err error) {
	rows, err := p.outer.QueryContext(ctx, p.engine.names)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		if isPlace.MatchString(name) {
			all = append(all, name)
		}
	}
	return all, rows.Err()
}

// inside returns a connector whose connections begin in the schema.
func (p *place) inside() (driver.Connector, error) {
	dsn := p.target.DSN
	switch {
	case p.folder != nil:
		return p.target.connector(p.folder.dsn)
	case p.engine.use == "":
		return p.target.connector(withDatabase(dsn, p.name))
	}
	c, err := dbconn.Open(p.target.Driver, dsn)
	if err != nil {
		return nil, err
	}
	c = &within{c, p.at(p.engine.use)}
	if p.target.Wrap != nil {
		c = p.target.Wrap(c)
	}
	return c, nil
}

// withDatabase returns a DSN of go-mssqldb with another database, in the form of a URL or
// of key=value;…, in which the last one of a key counts.
func withDatabase(dsn, name string) string {
	u, err := url.Parse(dsn)
	if err != nil || u.Scheme != "sqlserver" {
		return strings.TrimRight(dsn, "; ") + ";database=" + name
	}
	values := u.Query()
	for key := range values {
		if strings.EqualFold(key, "database") {
			values.Del(key)
		}
	}
	values.Set("database", name)
	u.RawQuery = values.Encode()
	return u.String()
}

// within is a connector whose connections execute a statement first.
type within struct {
	driver.Connector
	first string
}

// Connect opens a connection and executes the statement.
func (w *within) Connect(ctx context.Context) (driver.Conn, error) {
	c, err := w.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := dbconn.Exec(ctx, c, w.first, nil); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// close drops the schema. Its error names a schema that is left.
func (p *place) close(out io.Writer) error {
	ctx, stop := context.WithTimeout(context.Background(), maxWait)
	defer stop()
	var err error
	if p.folder != nil {
		err = p.folder.remove()
	} else {
		if err = p.isMarked(ctx); err == nil {
			err = p.dropAll(ctx)
		}
		err = errors.Join(err, p.outer.Close())
	}
	if err != nil {
		fmt.Fprintf(out, "%s is left, and could not be dropped\n", p.where())
	}
	return err
}

// where names the schema for a person.
func (p *place) where() string {
	if p.folder != nil {
		return "the folder " + p.folder.path
	}
	return "the schema " + p.name
}

// dropAll drops what the schema holds, and the schema. It drops nothing outside of it:
// where a schema is dropped with all that depends on it (PostgreSQL), its contents are
// dropped one by one, and a view elsewhere that reads them makes that fail.
func (p *place) dropAll(ctx context.Context) error {
	if p.engine.contents != "" {
		if err := p.empty(ctx); err != nil {
			return err
		}
	}
	for _, statement := range p.engine.drop {
		if _, err := p.outer.ExecContext(ctx, p.at(statement)); err != nil {
			return err
		}
	}
	return nil
}

// empty drops what the schema holds.
func (p *place) empty(ctx context.Context) error {
	rows, err := p.outer.QueryContext(ctx, p.at(p.engine.contents))
	if err != nil {
		return err
	}
	defer rows.Close()
	var statements []string
	for rows.Next() {
		var kind, name string
		if err := rows.Scan(&kind, &name); err != nil {
			return err
		}
		statements = append(statements, "DROP "+kind+" IF EXISTS "+p.name+"."+p.target.Dialect.QuoteIdent(name)+" RESTRICT")
	}
	if err := rows.Err(); err != nil {
		return err
	}
	for _, statement := range statements {
		if _, err := p.outer.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// Leftovers returns the schemas, on SQLite folders, that runs have left which were killed,
// or in which runs are at work.
func Leftovers(ctx context.Context, t Target) ([]string, error) {
	outer, err := t.outside()
	if err != nil {
		return nil, err
	}
	if outer == nil {
		return folders(t.DSN)
	}
	defer outer.Close()
	p := &place{target: t, engine: engines[t.Dialect.Family], outer: outer}
	return p.names(ctx)
}

// Drop drops a schema, or a folder, that Leftovers has named.
func Drop(ctx context.Context, t Target, name string) error {
	if !isPlace.MatchString(name) {
		return anchor.Lastf("command", "%q is no name of a schema of keyfill conformance: give one that the command has printed", name)
	}
	outer, err := t.outside()
	if err != nil {
		return err
	}
	if outer == nil {
		f, err := openFolder(t.DSN, name)
		if err != nil {
			return err
		}
		return f.removeIfMarked()
	}
	p := &place{target: t, engine: engines[t.Dialect.Family], name: name, outer: outer}
	defer outer.Close()
	present, err := p.names(ctx)
	switch {
	case err != nil:
		return err
	case !slices.Contains(present, name):
		return anchor.Lastf("command", "there is no schema %s: give one that the command has printed", name)
	}
	if err := p.isMarked(ctx); err != nil {
		return err
	}
	return p.dropAll(ctx)
}

// bind returns a query with the placeholders of the engine instead of "?".
func (t Target) bind(query string) string { return measure.Bind(t.Dialect, query) }
