package keyfillgorm_test

import (
	"database/sql"
	"errors"
	"path/filepath"
	"testing"

	"github.com/google/uuid"
	"gorm.io/driver/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/logger"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/keyfillgorm"
)

// flake has a number that the engine does not make, so that GORM sends it.
type flake struct {
	ID   int64 `gorm:"primaryKey;autoIncrement:false"`
	Name string
}

// TestRolledBack: an error after the parent's INSERT, of a child or of a hook, leaves no
// key of the rows that GORM rolls back.
func TestRolledBack(t *testing.T) {
	g := open(t)
	taken := uuid.New()
	if err := g.Create(&book{ID: taken, Title: "taken"}).Error; err != nil {
		t.Fatal(err)
	}
	if err := g.Exec("CREATE TRIGGER refuse BEFORE INSERT ON books WHEN new.title = 'bad' BEGIN SELECT RAISE(ABORT, 'bad title'); END").Error; err != nil {
		t.Fatal(err)
	}
	ada := author{Name: "Ada", Books: []book{{Title: "bad"}}}
	if err := g.Create(&ada).Error; err == nil || stored(t, g, "authors", "name", "Ada") != uuid.Nil {
		t.Fatalf("error %v, and the parent must be rolled back", err)
	}
	if ada.ID != uuid.Nil || ada.Books[0].ID != uuid.Nil {
		t.Errorf("no row is stored, and the structs have the keys %v and %v", ada.ID, ada.Books[0].ID)
	}
	ada.Books[0].Title = "good"
	if err := g.Create(&ada).Error; err != nil || ada.ID != stored(t, g, "authors", "name", "Ada") || ada.Books[0].AuthorID != ada.ID {
		t.Errorf("again: error %v, %+v", err, ada)
	}

	ada.Books = []book{{Title: "new"}}
	failing := g.Callback().Update().After("gorm:save_after_associations").Before("gorm:commit_or_rollback_transaction")
	if err := failing.Register("test:fail", func(db *gorm.DB) { _ = db.AddError(errors.New("an error of a hook")) }); err != nil {
		t.Fatal(err)
	}
	if err := g.Save(&ada).Error; err == nil || stored(t, g, "books", "title", "new") != uuid.Nil {
		t.Fatalf("Save: error %v, and the child must be rolled back", err)
	}
	if ada.Books[0].ID != uuid.Nil || ada.ID == uuid.Nil {
		t.Errorf("Save: the parent has the key %v, and the child, which is not stored, %v", ada.ID, ada.Books[0].ID)
	}

	// A transaction of the program's own is not rolled back by the error.
	err := g.Transaction(func(tx *gorm.DB) error {
		bob := author{Name: "Bob", Books: []book{{Title: "bad"}}}
		if err := tx.Create(&bob).Error; err == nil || bob.ID != stored(t, tx, "authors", "name", "Bob") {
			t.Errorf("error %v, key %v, stored is %v", err, bob.ID, stored(t, tx, "authors", "name", "Bob"))
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestReturning: the program's own RETURNING does not send a zero key, nor give a
// struct another's.
func TestReturning(t *testing.T) {
	g := open(t)
	one := flake{Name: "one"}
	if err := g.Clauses(clause.Returning{}).Create(&one).Error; err != nil {
		t.Fatal(err)
	}
	var ids []int64
	if err := g.Model(&flake{}).Pluck("id", &ids).Error; err != nil || len(ids) != 1 || ids[0] == 0 || ids[0] != one.ID {
		t.Errorf("error %v, stored are %v, the struct has %d", err, ids, one.ID)
	}
	for _, columns := range [][]clause.Column{{{Name: "id"}}, nil} {
		for _, conflict := range []clause.OnConflict{
			{DoNothing: true},
			{Columns: []clause.Column{{Name: "name"}}, DoUpdates: clause.AssignmentColumns([]string{"name"})},
			{Columns: []clause.Column{{Name: "name"}}, DoUpdates: clause.AssignmentColumns([]string{"name"}),
				Where: clause.Where{Exprs: []clause.Expression{clause.Expr{SQL: "1 = 0"}}}},
		} {
			if err := g.Exec("DELETE FROM flakes WHERE name <> 'one'").Error; err != nil {
				t.Fatal(err)
			}
			some := []flake{{Name: "a"}, {Name: "one"}, {Name: "b"}}
			if err := g.Clauses(conflict, clause.Returning{Columns: columns}).Create(&some).Error; err != nil {
				t.Fatal(err)
			}
			for i, f := range some {
				var row flake
				if i == 1 && f.ID == 0 && len(conflict.DoUpdates) == 0 {
					continue // it is not stored; GORM scans the next row's name into it
				}
				if err := g.Take(&row, f.ID).Error; err != nil || row.Name != f.Name {
					t.Errorf("RETURNING %v, %+v: the struct %+v, stored %+v, error %v", columns, conflict, f, row, err)
				}
			}
		}
	}
}

// TestNotOne: the mount of a name through which two databases are open has no keys,
// and a Create that would send a zero key says so.
func TestNotOne(t *testing.T) {
	open(t)
	open(t)
	db, err := sql.Open("sqlite-keyfill", "file:"+filepath.Join(t.TempDir(), "third.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec("CREATE TABLE flakes (id INTEGER PRIMARY KEY, name TEXT)"); err != nil {
		t.Fatal(err)
	}
	g, err := gorm.Open(sqlite.New(sqlite.Config{Conn: db}), &gorm.Config{Logger: logger.Discard})
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Use(keyfillgorm.Plugin{Mount: keyfill.Mounts()["sqlite-keyfill"]}); err != nil {
		t.Fatal(err)
	}
	if err := g.Create(&flake{Name: "one"}).Error; !errors.Is(err, keyfill.ErrNotOne) {
		t.Errorf("error %v, want ErrNotOne", err)
	}
}
