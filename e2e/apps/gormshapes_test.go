package apps_test

import (
	"database/sql"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	gofrs "github.com/gofrs/uuid/v5"
	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/e2e/assoc"
	"github.com/keyfill/keyfill/e2e/assoc/shapebinary"
	"github.com/keyfill/keyfill/e2e/assoc/shapegofrs"
	"github.com/keyfill/keyfill/e2e/assoc/shapegoogle"
	"github.com/keyfill/keyfill/e2e/assoc/shapeints"
	"github.com/keyfill/keyfill/e2e/assoc/shapestandard"
	"github.com/keyfill/keyfill/e2e/assoc/shapetext"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/testturn"
	"github.com/keyfill/keyfill/keyfillgorm"
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

// shapeKind is a type of keys with its columns and its source.
type shapeKind struct {
	name    string
	column  map[string]string // by dialect; empty if drivers do not take the type
	shapes  func() []assoc.Shape
	source  policy.Source
	layout  dialect.Layout
	from    func(uuid.UUID) any // what a hook of the plain program sets; nil where its tables number themselves
	gapless bool
}

var (
	textColumns    = map[string]string{"mariadb": "CHAR(36)", "postgres": "UUID", "sqlite": "TEXT"}
	integerColumns = map[string]string{"mariadb": "BIGINT", "postgres": "BIGINT", "sqlite": "INTEGER"}
	uuidSource     = policy.Source{Kind: policy.KindUUIDv7}
)

var shapeKinds = []shapeKind{
	{name: "int64", column: integerColumns, shapes: shapeints.Shapes, source: policy.Source{Kind: policy.KindSequence, EnsureSchema: true}},
	{name: "joined", column: integerColumns, shapes: shapeints.Shapes, source: *harness.JoinedSource(), gapless: true},
	{name: "google", column: textColumns, shapes: shapegoogle.Shapes, source: uuidSource, from: func(id uuid.UUID) any { return id }},
	{name: "gofrs", column: textColumns, shapes: shapegofrs.Shapes, source: uuidSource, from: func(id uuid.UUID) any { return gofrs.UUID(id) }},
	{name: "standard", column: map[string]string{"postgres": "UUID"}, shapes: shapestandard.Shapes, source: uuidSource,
		from: func(id uuid.UUID) any { return assoc.StandardID(id) }},
	{name: "text", column: map[string]string{"mariadb": "VARCHAR(36)", "postgres": "TEXT", "sqlite": "TEXT"}, shapes: shapetext.Shapes, source: uuidSource,
		from: func(id uuid.UUID) any { return id.String() }},
	{name: "binary", column: map[string]string{"mariadb": "BINARY(16)", "postgres": "BYTEA", "sqlite": "BLOB"}, shapes: shapebinary.Shapes, source: uuidSource,
		layout: dialect.SequentialAsBinary, from: func(id uuid.UUID) any { return assoc.BinaryID(id) }},
}

// hook sets the keys of structs, as a BeforeCreate of the models would.
func (k shapeKind) hook(g *gorm.DB) error {
	if k.from == nil {
		return nil
	}
	set := func(one reflect.Value) {
		if one = reflect.Indirect(one); one.Kind() != reflect.Struct {
			return
		}
		if id := one.FieldByName("ID"); id.IsValid() && id.IsZero() {
			id.Set(reflect.ValueOf(k.from(uuid.Must(uuid.NewV7()))))
		}
	}
	return g.Callback().Create().Before("gorm:before_create").Register("test:hook", func(db *gorm.DB) {
		switch all := db.Statement.ReflectValue; all.Kind() {
		case reflect.Slice, reflect.Array:
			for i := range all.Len() {
				set(all.Index(i))
			}
		default:
			set(all)
		}
	})
}

// shapeTables are the tables with their columns but the key. {id} is the type of a
// reference.
var shapeTables = []struct{ name, columns string }{
	{"shape_firms", "name VARCHAR(60)"},
	{"shape_users", "name VARCHAR(60) UNIQUE, age INT, firm_id {id}"},
	{"shape_orders", "user_id {id}, name VARCHAR(60), price INT CHECK (price < 100)"},
	{"shape_profiles", "user_id {id}, name VARCHAR(60)"},
	{"shape_tags", "name VARCHAR(60)"},
}

// TestGORMShapes runs each shape of a program through the plain driver, with a hook of GORM
// for keys that are not numbers, and through keyfill and the plugin. The structs have the
// keys that are stored, and the rows refer to each other as the plain ones.
func TestGORMShapes(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.MySQLDefault, harness.PgxDefault, harness.MattnFile}, func(t *testing.T, s *harness.Scratch) {
		for _, kind := range testturn.Some(t, shapeKinds, 3) {
			if kind.column[s.Dialect.Name] == "" {
				continue
			}
			for _, returning := range []bool{true, false} {
				if !returning && s.Dialect.Name != "mariadb" {
					continue // GORM always has it there
				}
				t.Run(fmt.Sprintf("%s/returning %v", kind.name, returning), func(t *testing.T) { compareShapes(t, s.Engine, kind, returning) })
			}
		}
	})
}

// compareShapes runs all shapes for a kind of keys.
func compareShapes(t *testing.T, e harness.Engine, kind shapeKind, returning bool) {
	t.Helper()
	own, ours := e.Scratch(t), e.Scratch(t)
	createShapes(t, own, kind, true)
	createShapes(t, ours, kind, false)
	cfg := &policy.Config{Tables: map[string]policy.Table{}}
	for _, table := range shapeTables {
		source := kind.source
		cfg.Tables[table.name] = policy.Table{Column: "id", InPlace: &source, Layout: kind.layout}
	}
	filled, _ := ours.Open(t, cfg)
	plain, g := openGORM(t, own, own.Raw, returning), openGORM(t, ours, filled, returning)
	if err := errors.Join(kind.hook(plain), g.Use(keyfillgorm.Plugin{})); err != nil {
		t.Fatal(err)
	}
	for _, shape := range kind.shapes() {
		if shape.Scans && kind.name == "standard" {
			continue // database/sql scans no array before Go 1.27
		}
		t.Run(shape.Name, func(t *testing.T) {
			defer emptyShapes(t, own)
			defer emptyShapes(t, ours)
			compareShape(t, kind, shape, shapeSide{own, plain}, shapeSide{ours, g})
		})
	}
}

// shapeSide is the plain program, or the one with keyfill and the plugin.
type shapeSide struct {
	at *harness.Scratch
	g  *gorm.DB
}

// compareShape runs a shape on both sides, and compares them.
func compareShape(t *testing.T, kind shapeKind, shape assoc.Shape, plain, filled shapeSide) {
	t.Helper()
	got := &assoc.ShapeRun{DB: filled.g}
	err := shape.Run(got)
	if kind.gapless && strings.Contains(shape.Gap, filled.at.Dialect.Name) {
		if !errors.Is(err, rewrite.ErrGap) {
			t.Errorf("under joined the error is %v, want a refusal", err)
		}
		return
	}
	if (err != nil) != shape.Fails {
		t.Fatalf("error %v", err)
	}
	names := shapeNames(t, filled.at)
	for _, one := range got.Structs {
		switch id := shapeID(one.ID); {
		case one.Absent && kind.from == nil: // GORM leaves the number of a row that it has rolled back
		case one.Absent && id != "0":
			t.Errorf("%s %s is not stored, and its struct has the key %s", one.Table, one.Name, id)
		case !one.Absent && (id == "0" || names[one.Table][id] != one.Name):
			t.Errorf("%s %s has the key %s, which is the key of %q", one.Table, one.Name, id, names[one.Table][id])
		}
	}
	rows := shapeRows(t, filled.at, names)
	want := shape.Rows
	if want == nil {
		if err := shape.Run(&assoc.ShapeRun{DB: plain.g}); (err != nil) != shape.Fails {
			t.Fatalf("the plain program's error is %v", err)
		}
		want = shapeRows(t, plain.at, shapeNames(t, plain.at))
	}
	if !slices.Equal(rows, want) {
		t.Errorf("stored is\n%s\nwant\n%s", strings.Join(rows, "\n"), strings.Join(want, "\n"))
	}
}

func createShapes(t *testing.T, s *harness.Scratch, kind shapeKind, plain bool) {
	t.Helper()
	column := kind.column[s.Dialect.Name]
	id := column + " PRIMARY KEY"
	if plain && kind.from == nil {
		id = map[string]string{"mariadb": "BIGINT AUTO_INCREMENT PRIMARY KEY", "postgres": "BIGSERIAL PRIMARY KEY", "sqlite": "INTEGER PRIMARY KEY AUTOINCREMENT"}[s.Dialect.Name]
	}
	for _, table := range shapeTables {
		harness.Exec(t, s.Raw, fmt.Sprintf("CREATE TABLE %s (id %s, %s)", table.name, id, strings.ReplaceAll(table.columns, "{id}", column)))
	}
	harness.Exec(t, s.Raw, fmt.Sprintf("CREATE TABLE shape_user_tags (user_id %[1]s, tag_id %[1]s, PRIMARY KEY (user_id, tag_id))", column))
}

func emptyShapes(t *testing.T, s *harness.Scratch) {
	t.Helper()
	for _, table := range shapeTables {
		harness.Exec(t, s.Raw, "DELETE FROM "+table.name)
	}
	harness.Exec(t, s.Raw, "DELETE FROM shape_user_tags")
}

// shapeID returns a key as one text for all kinds, "0" for none.
func shapeID(v any) string {
	switch id := v.(type) {
	case nil:
		return "0"
	case []byte:
		if len(id) == 16 {
			return shapeID(uuid.UUID(id).String())
		}
		return shapeID(string(id))
	case string:
		if id == "" || id == uuid.Nil.String() {
			return "0"
		}
		return id
	}
	return shapeID(fmt.Sprint(v))
}

// shapeNames returns the names of all rows by table and key.
func shapeNames(t *testing.T, s *harness.Scratch) map[string]map[string]string {
	t.Helper()
	names := map[string]map[string]string{}
	for _, table := range shapeTables {
		names[table.name] = map[string]string{}
		for _, row := range shapeQuery(t, s, "SELECT id, name FROM "+table.name, 2) {
			names[table.name][shapeID(row[0])] = shapeText(row[1])
		}
	}
	return names
}

// shapeRows returns all rows, with names instead of keys.
func shapeRows(t *testing.T, s *harness.Scratch, names map[string]map[string]string) []string {
	t.Helper()
	of := func(table string, id any) string {
		key := shapeID(id)
		if name, ok := names[table][key]; ok {
			return name
		}
		if key != "0" {
			return "unknown"
		}
		return "-"
	}
	rows := []string{}
	for _, q := range []struct{ query, refers, second string }{
		{"SELECT name, NULL, NULL FROM shape_firms", "", ""},
		{"SELECT name, age, firm_id FROM shape_users", "shape_firms", ""},
		{"SELECT name, price, user_id FROM shape_orders", "shape_users", ""},
		{"SELECT name, NULL, user_id FROM shape_profiles", "shape_users", ""},
		{"SELECT name, NULL, NULL FROM shape_tags", "", ""},
		{"SELECT NULL, user_id, tag_id FROM shape_user_tags", "shape_tags", "shape_users"},
	} {
		for _, row := range shapeQuery(t, s, q.query, 3) {
			second := shapeText(row[1])
			if q.second != "" {
				second = of(q.second, row[1])
			}
			rows = append(rows, fmt.Sprint(q.query[strings.LastIndexByte(q.query, ' ')+1:], ": ", shapeText(row[0]), " ", second, " ", of(q.refers, row[2])))
		}
	}
	slices.Sort(rows)
	return rows
}

func shapeText(v any) string {
	switch v := v.(type) {
	case nil:
		return "-"
	case []byte:
		return string(v)
	}
	return fmt.Sprint(v)
}

// shapeQuery returns the rows of a query as the driver gives them.
func shapeQuery(t *testing.T, s *harness.Scratch, query string, width int) (all [][]any) {
	t.Helper()
	rows, err := s.Raw.Query(query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		row, at := make([]any, width), make([]any, width)
		for i := range row {
			at[i] = &row[i]
		}
		if err := rows.Scan(at...); err != nil {
			t.Fatal(err)
		}
		all = append(all, row)
	}
	if err := rows.Err(); err != nil && !errors.Is(err, sql.ErrNoRows) {
		t.Fatal(err)
	}
	return all
}
