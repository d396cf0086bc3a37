package keyfillgorm_test

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"
	"gorm.io/driver/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/logger"
	_ "modernc.org/sqlite" // registers "sqlite"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/keyfillgorm"
)

// The package auto/sqlite is another module, which a program that imports this one would
// have to find for the sake of a test.
func init() {
	if _, err := keyfill.RegisterByName("sqlite-keyfill", "sqlite", keyfill.Options{}); err != nil {
		panic(err)
	}
}

const policyText = `version: 1
stores:
  numbers: {driver: sqlite, dsn_env: NUMBERS_DSN}
tables:
  authors: {column: id}
  books:   {column: id}
  members: {column: id}
  firms:   {column: id}
  tags:    {column: id}
  blobs:   {column: id, layout: binary}
  flakes:  {column: id, source: {kind: sequence, store: numbers, ensure_schema: true, start: 1001}}
  editors: {column: id, source: {kind: sequence, ensure_schema: true, start: 1001}}
  orders:  {column: id, source: {kind: sequence, ensure_schema: true, transaction: joined}}
  tickets: {column: number, source: {kind: sequence, ensure_schema: true, transaction: joined}}
  bills:
    column: id
    keys:
      - {column: number, source: {kind: sequence, ensure_schema: true, transaction: joined, format: "B{n:05}"}}
      - {column: place, source: {kind: sequence, ensure_schema: true, start: 1001}}
  papers:  {column: id, layout: string, source: {kind: sequence, ensure_schema: true, transaction: joined, start: 1}}
`

type author struct {
	ID    uuid.UUID
	Name  string `gorm:"unique"`
	Age   int
	Books []book `gorm:"foreignKey:AuthorID"`
}

type book struct {
	ID       uuid.UUID
	AuthorID uuid.UUID
	Title    string
}

// editor has the usual model.
type editor struct {
	gorm.Model
	Name string
}

// open returns GORM with the plugin, and its database.
func open(t testing.TB) *gorm.DB {
	t.Helper()
	folder := t.TempDir()
	file := filepath.Join(folder, "keyfill.yaml")
	if err := os.WriteFile(file, []byte(policyText), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KEYFILL_CONFIG", file)
	t.Setenv("NUMBERS_DSN", "file:"+filepath.Join(folder, "numbers.db"))
	db, err := sql.Open("sqlite-keyfill", "file:"+filepath.Join(folder, "books.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	for _, statement := range []string{
		"CREATE TABLE authors (id TEXT PRIMARY KEY, name TEXT UNIQUE, age INT)",
		"CREATE TABLE books (id TEXT PRIMARY KEY, author_id TEXT REFERENCES authors (id), title TEXT)",
		"CREATE TABLE blobs (id BLOB PRIMARY KEY, name TEXT)",
		"CREATE TABLE flakes (id INTEGER PRIMARY KEY, name TEXT UNIQUE)",
		"CREATE TABLE orders (id INTEGER PRIMARY KEY, name TEXT)",
		"CREATE TABLE tickets (number INTEGER PRIMARY KEY, name TEXT)",
		"CREATE TABLE editors (id INTEGER PRIMARY KEY, created_at TEXT, updated_at TEXT, deleted_at TEXT, name TEXT)",
	} {
		if _, err := db.Exec(statement); err != nil {
			t.Fatal(err)
		}
	}
	g, err := gorm.Open(sqlite.New(sqlite.Config{Conn: db}), &gorm.Config{Logger: logger.Discard})
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Use(keyfillgorm.Plugin{}); err != nil {
		t.Fatal(err)
	}
	return g
}

// stored returns the key of a row by its name, uuid.Nil where there is no row.
func stored(t *testing.T, g *gorm.DB, table, column, name string) (id uuid.UUID) {
	t.Helper()
	var ids []uuid.UUID
	if err := g.Table(table).Where(column+" = ?", name).Pluck("id", &ids).Error; err != nil {
		t.Fatal(err)
	}
	if len(ids) > 0 {
		id = ids[0]
	}
	return id
}

// TestAssociations: parents and children get their keys without a tag.
func TestAssociations(t *testing.T) {
	g := open(t)
	authors := []author{{Name: "Ada", Books: []book{{Title: "a"}, {Title: "b"}}}, {Name: "Bob", Books: []book{{Title: "c"}}}}
	if err := g.Create(&authors).Error; err != nil {
		t.Fatal(err)
	}
	for _, a := range authors {
		if a.ID.Version() != 7 || a.ID != stored(t, g, "authors", "name", a.Name) {
			t.Errorf("%s has the key %v, stored is %v", a.Name, a.ID, stored(t, g, "authors", "name", a.Name))
		}
		for _, b := range a.Books {
			if b.ID.Version() != 7 || b.AuthorID != a.ID || b.ID != stored(t, g, "books", "title", b.Title) {
				t.Errorf("the book %+v of %v, stored is %v", b, a.ID, stored(t, g, "books", "title", b.Title))
			}
		}
	}
	editors := []editor{{Name: "Cyd"}, {Name: "Dan"}}
	if err := g.Create(&editors).Error; err != nil {
		t.Fatal(err)
	}
	if editors[0].ID != 1001 || editors[1].ID != 1002 {
		t.Errorf("the editors have the keys %d and %d, want 1001 and 1002", editors[0].ID, editors[1].ID)
	}
}

// TestNotStored: a key that no row has is in no struct.
func TestNotStored(t *testing.T) {
	g := open(t)
	ada := author{Name: "Ada", Age: 1}
	if err := g.Create(&ada).Error; err != nil {
		t.Fatal(err)
	}
	again := author{Name: "Ada"}
	if err := g.Create(&again).Error; err == nil || again.ID != uuid.Nil {
		t.Errorf("a duplicate name: error %v, key %v", err, again.ID)
	}
	some := []author{{Name: "new"}, {Name: "Ada"}, {Name: "other"}}
	done := g.Clauses(clause.OnConflict{DoNothing: true}).Create(&some)
	if done.Error != nil || done.RowsAffected != 2 || some[1].ID != uuid.Nil {
		t.Errorf("DO NOTHING: %d rows, error %v, the key of the row that is there is %v", done.RowsAffected, done.Error, some[1].ID)
	}
	for _, i := range []int{0, 2} {
		if id := stored(t, g, "authors", "name", some[i].Name); id == uuid.Nil || some[i].ID != id {
			t.Errorf("%s has the key %v, stored is %v", some[i].Name, some[i].ID, id)
		}
	}
	put := []author{{Name: "Ada", Age: 36}, {Name: "third", Age: 3}}
	upsert := clause.OnConflict{Columns: []clause.Column{{Name: "name"}}, DoUpdates: clause.AssignmentColumns([]string{"age"})}
	if err := g.Clauses(upsert).Create(&put).Error; err != nil {
		t.Fatal(err)
	}
	if put[0].ID != ada.ID || put[1].ID != stored(t, g, "authors", "name", "third") {
		t.Errorf("after an upsert the keys are %v and %v, stored are %v and %v", put[0].ID, put[1].ID, ada.ID, stored(t, g, "authors", "name", "third"))
	}
}

// TestLeft: what the program has chosen stays.
func TestLeft(t *testing.T) {
	g := open(t)
	own := author{ID: uuid.New(), Name: "own"}
	want := own.ID
	if err := g.Create(&own).Error; err != nil || own.ID != want {
		t.Errorf("an own key is %v, error %v, want %v", own.ID, err, want)
	}
	omitted := author{Name: "omitted"}
	if err := g.Omit("ID").Create(&omitted).Error; err != nil {
		t.Errorf("without the column: %v", err)
	}
	if id := stored(t, g, "authors", "name", "omitted"); id.Version() != 7 || omitted.ID != id {
		t.Errorf("without the column: stored is %v, want a UUID of version 7, and the struct has %v", id, omitted.ID)
	}
	twice := author{Name: "twice"}
	if err := g.Create([]*author{&twice, &twice}).Error; err == nil || twice.ID != uuid.Nil {
		t.Errorf("one struct twice: error %v, key %v", err, twice.ID)
	}
}

// TestOtherForm: a type that would store the key in another form than the policy's is
// an error, and nothing is stored.
func TestOtherForm(t *testing.T) {
	g := open(t)
	type blob struct {
		ID   uuid.UUID // sends 36 characters
		Name string
	}
	b := blob{Name: "b"}
	if err := g.Table("blobs").Create(&b).Error; err == nil || !strings.Contains(err.Error(), "layout") || b.ID != uuid.Nil {
		t.Errorf("error %v, key %v", err, b.ID)
	}
	var n int64
	if err := g.Table("blobs").Count(&n).Error; err != nil || n != 0 {
		t.Errorf("%d rows are stored, error %v", n, err)
	}
}

// TestNotOurs: a database without keyfill needs a Mount.
func TestNotOurs(t *testing.T) {
	g, err := gorm.Open(sqlite.Open(filepath.Join(t.TempDir(), "plain.db")), &gorm.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Use(keyfillgorm.Plugin{}); !errors.Is(err, keyfill.ErrNotOurs) {
		t.Errorf("error %v", err)
	}
	pool, err := g.DB()
	if err != nil {
		t.Fatal(err)
	}
	if err := pool.Close(); err != nil {
		t.Error(err)
	}
}

// TestByValue: a struct that is given by value cannot learn its key. Where GORM would
// store 0 for it, nothing is sent.
func TestByValue(t *testing.T) {
	g := open(t)
	for name, rows := range map[string]any{"a struct": flake{Name: "one"}, "an array": [2]flake{{Name: "one"}, {Name: "two"}}} {
		err := g.Create(rows).Error
		if err == nil || !strings.Contains(err.Error(), `the struct for table "flakes" is given by value`) || !strings.Contains(err.Error(), "give Create a pointer") {
			t.Errorf("%s: %v", name, err)
		}
	}
	var n int64
	if err := g.Table("flakes").Count(&n).Error; err != nil || n != 0 {
		t.Errorf("%d rows are stored: %v", n, err)
	}
	if err := g.Create(flake{ID: 7, Name: "own"}).Error; err != nil {
		t.Errorf("with a key of its own: %v", err)
	}
	if err := g.Create([]flake{{Name: "one"}, {Name: "two"}}).Error; err != nil {
		t.Errorf("a slice, whose elements get keys: %v", err)
	}
	if err := g.Create(book{Title: "a copy"}).Error; err != nil || stored(t, g, "books", "title", "a copy") == uuid.Nil {
		t.Errorf("a UUID, which the INSERT gets: %v", err)
	}
}
