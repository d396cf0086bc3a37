package apps_test

import (
	"context"
	"database/sql/driver"
	"slices"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/check"
)

// enginePolicy has a table for each use of a source that a stand-in is asked about.
const enginePolicy = `  v4: {column: id, source: uuidv4}
  v7: {column: id, source: uuidv7}
  scattered: {column: id, source: {kind: scatter, ensure_schema: true}}
  rising: {column: id, source: {kind: sequence, ensure_schema: true}}
  joined: {column: id, source: {kind: sequence, transaction: joined, ensure_schema: true}}
  greatest: {column: id, source: {kind: maxplusone, ensure_schema: true}}
`

// makeEngineTables makes the tables of enginePolicy.
func makeEngineTables(t *testing.T, s *harness.Scratch) {
	t.Helper()
	types := typesOf[s.Dialect.Name]
	for _, name := range []string{"v4", "v7"} {
		executeAll(t, s, "CREATE TABLE "+name+" (id "+types[0]+" NOT NULL PRIMARY KEY)")
	}
	for _, name := range []string{"scattered", "rising", "joined", "greatest"} {
		executeAll(t, s, "CREATE TABLE "+name+" (id BIGINT NOT NULL PRIMARY KEY)")
	}
}

// standIn sends other texts than a driver's connections are given.
type standIn struct {
	driver.Connector
	edit func(text string) string
}

func (s *standIn) Connect(ctx context.Context) (driver.Conn, error) {
	c, err := s.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &standInConn{c, s}, nil
}

// standInConn has no interfaces besides those of a query and a transaction.
type standInConn struct {
	driver.Conn
	of *standIn
}

func (c *standInConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	return c.Conn.(driver.QueryerContext).QueryContext(ctx, c.of.edit(query), args)
}

func (c *standInConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	return c.Conn.(driver.ExecerContext).ExecContext(ctx, c.of.edit(query), args)
}

func (c *standInConn) BeginTx(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	return c.Conn.(driver.ConnBeginTx).BeginTx(ctx, o)
}

// standIns are servers of PostgreSQL and MariaDB that answer as another engine does. Where
// the engine's answer is known from is beside the sign in package dialect.
var standIns = []struct {
	title    string
	on       harness.Engine
	make     []string // statements that change what the server answers
	question string   // the question that is answered by another query, since no statement changes the answer
	answer   string
	warned   []string // the tables with a warning
}{
	{title: "CockroachDB", on: harness.PgxDefault, warned: []string{"greatest", "joined", "rising", "scattered", "v7"},
		make: hiding("CockroachDB CCL v25.3.0 (x86_64-pc-linux-gnu, built 2025/08/04 17:00:00, go1.23.7)")},
	{title: "YugabyteDB", on: harness.PQDefault, warned: []string{"greatest", "rising", "v7"},
		make: hiding("PostgreSQL 11.2-YB-2.5.1.0-b0 on x86_64-pc-linux-gnu, 64-bit")},
	{title: "Aurora DSQL", on: harness.PgxDefault, warned: []string{"greatest", "joined", "rising", "scattered"},
		make: []string{"CREATE SCHEMA sys", "CREATE TABLE sys.iam_pg_role_mappings (iam_oid oid, arn text, pg_role_oid oid, pg_role_name text)"}},
	{title: "Spanner", on: harness.PgxDefault, warned: []string{"greatest", "joined", "rising", "v7"},
		make: []string{"CREATE SCHEMA spanner_sys"}},
	{title: "Citus", on: harness.PgxDefault, warned: []string{"greatest", "joined", "rising", "scattered", "v4", "v7"},
		make: []string{"SET allow_system_table_mods = on",
			"INSERT INTO pg_catalog.pg_extension (oid, extname, extowner, extnamespace, extrelocatable, extversion) VALUES (16383, 'citus', 10, 11, false, '12.1-1')"}},
	{title: "Aurora PostgreSQL", on: harness.PgxDefault,
		make: []string{"CREATE FUNCTION aurora_version() RETURNS text LANGUAGE sql AS $$ SELECT '13.3.0' $$"}},
	{title: "TiDB", on: harness.MySQLDefault, warned: []string{"greatest", "joined", "rising", "v7"},
		make: []string{"CREATE FUNCTION tidb_version() RETURNS TEXT DETERMINISTIC NO SQL RETURN 'Release Version: v3.0.0-beta.1-154-gd5afff70c\nGit Commit Hash: d5afff70cdd825d5fab125c8e52e686cc5fb9a6e'"}},
	{title: "Vitess", on: harness.MySQLDefault, question: "SHOW vitess_shards", answer: "SELECT 'commerce/0' AS Shards",
		warned: []string{"greatest", "joined", "rising", "v7"}},
	{title: "Aurora MySQL", on: harness.MySQLDefault, question: "SELECT @@aurora_version", answer: "SELECT '3.05.2'"},
}

// hiding returns the statements after which version() gives a text, in the sessions whose
// search_path begins with the schema standin.
func hiding(version string) []string {
	return []string{"CREATE SCHEMA standin", "CREATE FUNCTION standin.version() RETURNS text LANGUAGE sql AS $$ SELECT '" + version + "' $$"}
}

// TestEngine: a server that answers as another engine of its family is known, and each key
// whose source does not suit that engine has a warning with its line and where the reason
// is known from. The family's own engines have no finding.
func TestEngine(t *testing.T) {
	t.Parallel()
	for _, engine := range []harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.PgxDefault} {
		t.Run("plain "+engine.Name, func(t *testing.T) {
			t.Parallel()
			s := engine.Scratch(t)
			makeEngineTables(t, s)
			if found, _ := look(t, s, enginePolicy); len(ruled(found, "engine")) != 0 {
				t.Errorf("%+v", found)
			}
		})
	}
	for _, in := range standIns {
		t.Run(in.title, func(t *testing.T) {
			t.Parallel()
			s := in.on.Scratch(t)
			makeEngineTables(t, s)
			executeAll(t, s, in.make...)
			connector := s.Connector
			if s.IsPostgres() {
				connector = harness.ConnectorOf(t, s.Driver, s.Server.DSN(harness.DatabaseOf(t, s))+"&search_path=standin%2Cpg_catalog%2Cpublic")
			}
			if in.question != "" {
				connector = &standIn{connector, func(text string) string {
					if text == in.question {
						return in.answer
					}
					return text
				}}
			}
			found, _ := lookWith(t, s, enginePolicy, check.Options{Connector: connector})
			var warned []string
			for _, f := range ruled(found, "engine") {
				switch {
				case f.Severity == check.Info:
					if f.Line != 0 || !strings.HasPrefix(f.Message, "the server is "+in.title+",") {
						t.Errorf("%+v", f)
					}
					continue
				case f.Severity != check.Warning, f.Line == 0, f.Column != "id", !strings.Contains(f.Message, " on "+in.title+": "), !strings.HasSuffix(f.Message, ")"):
					t.Errorf("%+v", f)
				}
				warned = append(warned, f.Table)
			}
			slices.Sort(warned)
			if !slices.Equal(warned, in.warned) || len(ruled(found, "engine")) != len(warned)+1 {
				t.Errorf("warnings for %q, want %q: %+v", warned, in.warned, found)
			}
		})
	}
}

// TestEngineNamed: engine: in the policy is believed, and the server is not asked. One of
// another dialect is an error.
func TestEngineNamed(t *testing.T) {
	t.Parallel()
	s := harness.PgxDefault.Scratch(t)
	makeEngineTables(t, s)
	executeAll(t, s, "CREATE SCHEMA spanner_sys")
	for _, named := range []struct {
		name     string
		findings int
		begins   string
	}{
		{"cockroachdb", 6, "the server is CockroachDB,"},
		{"none", 0, ""},
		{"tidb", 1, "the policy says engine: tidb,"},
	} {
		found, _ := look(t, s, enginePolicy+"engine: "+named.name+"\n")
		got := ruled(found, "engine")
		if len(got) != named.findings {
			t.Errorf("%s: %+v", named.name, got)
		}
		for _, f := range got {
			if f.Column == "" && (f.Line != 9 || !strings.HasPrefix(f.Message, named.begins)) {
				t.Errorf("%s: %+v", named.name, f)
			}
		}
	}
}
