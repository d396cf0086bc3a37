package apps_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/uuid"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/keyfillgorm"
	"github.com/keyfill/keyfill/policy"
)

// numberedPolicy has a text and an integer beside the key. In place of %s stands how the
// text is drawn.
const numberedPolicy = `version: 1
ensure_schema: true
tables:
  buyers: {column: id}
  invoices:
    column: id
    keys:
      - {column: number, source: {kind: sequence, %s, format: "INV-{year}-{n:05}", period: {every: year, column: issued_on}}}
      - {column: place, source: {kind: sequence, start: 1, block: 1}}
`

type buyer struct {
	ID       uuid.UUID
	Name     string
	Invoices []invoice
}

// invoice has no tags for its numbers.
type invoice struct {
	ID       uuid.UUID
	BuyerID  *uuid.UUID
	Number   string
	Place    int64
	IssuedOn string
	Note     string
}

// taggedInvoice has numbers that GORM leaves out of the INSERT, and reads by RETURNING.
type taggedInvoice struct {
	ID       uuid.UUID
	Number   string `gorm:"default:(-)"`
	Place    int64  `gorm:"default:(-)"`
	IssuedOn string
	Note     string
}

func (taggedInvoice) TableName() string { return "invoices" }

// openNumbered opens GORM with the plugin on empty tables of invoices.
func openNumbered(t *testing.T, s *harness.Scratch, mode string, returning bool) *gorm.DB {
	t.Helper()
	id, date := "CHAR(36)", "VARCHAR(10)"
	if s.IsPostgres() {
		id, date = "UUID", "DATE"
	}
	harness.Exec(t, s.Raw, "CREATE TABLE buyers (id "+id+" NOT NULL PRIMARY KEY, name VARCHAR(20) NOT NULL)")
	harness.Exec(t, s.Raw, "CREATE TABLE invoices (id "+id+" NOT NULL PRIMARY KEY, buyer_id "+id+" REFERENCES buyers (id), "+
		"number VARCHAR(16) NOT NULL UNIQUE, place BIGINT NOT NULL UNIQUE, issued_on "+date+" NOT NULL, note VARCHAR(20) UNIQUE)")
	cfg, err := policy.Parse(fmt.Appendf(nil, numberedPolicy, mode))
	if err != nil {
		t.Fatal(err)
	}
	db, _ := s.Open(t, cfg)
	g := openGORM(t, s, db, returning)
	if err := g.Use(keyfillgorm.Plugin{}); err != nil {
		t.Fatal(err)
	}
	return g
}

// storedNumbers returns the numbers of an invoice, which is found by its note.
func storedNumbers(t *testing.T, s *harness.Scratch, note string) string {
	t.Helper()
	var number string
	var place int64
	err := s.Raw.QueryRow("SELECT number, place FROM invoices WHERE note = '"+note+"'").Scan(&number, &place)
	if err != nil {
		t.Fatalf("%s: %v", note, err)
	}
	return fmt.Sprint(number, " ", place)
}

// TestGORMNumbers: after Create a struct has the numbers beside its key, and Save does not
// change them.
func TestGORMNumbers(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.PgxDefault}, func(t *testing.T, s *harness.Scratch) {
		for _, returning := range []bool{false, true} {
			if returning && s.Dialect.Name != "mariadb" {
				continue // GORM always has it there
			}
			for _, mode := range []string{"transaction: joined", "block: 1"} {
				t.Run(fmt.Sprintf("%s/returning %v", mode, returning), func(t *testing.T) {
					own := s.Engine.Scratch(t)
					n := gormNumbers{t, own, openNumbered(t, own, mode, returning)}
					n.created()
					n.associated()
					if mode == "block: 1" {
						n.conflicting() // keyfill refuses an INSERT that may leave a row out and a gap
					}
				})
			}
		}
	})
}

type gormNumbers struct {
	t  *testing.T
	s  *harness.Scratch
	db *gorm.DB
}

// issued is the day of most invoices.
const issued = "2026-11-30"

// saved compares the numbers of a struct with the stored ones, before and after a Save.
func (n gormNumbers) saved(step string, v invoice) string {
	n.t.Helper()
	stored := storedNumbers(n.t, n.s, v.Note)
	if held := fmt.Sprint(v.Number, " ", v.Place); held != stored {
		n.t.Errorf("%s: %s has %q, stored is %q", step, v.Note, held, stored)
	}
	n.done(step+": Save", n.db.Save(&v))
	if after := storedNumbers(n.t, n.s, v.Note); after != stored {
		n.t.Errorf("%s: Save of %s changes %q to %q", step, v.Note, stored, after)
	}
	return stored
}

func (n gormNumbers) done(step string, db *gorm.DB) {
	n.t.Helper()
	if db.Error != nil {
		n.t.Errorf("%s: %v", step, db.Error)
	}
}

func (n gormNumbers) created() {
	one := invoice{IssuedOn: issued, Note: "one"}
	n.done("one", n.db.Create(&one))
	some := []invoice{{IssuedOn: issued, Note: "s1"}, {IssuedOn: "2027-01-02", Note: "s2"}}
	n.done("slice", n.db.Create(&some))
	got := []string{n.saved("one", one), n.saved("slice", some[0]), n.saved("slice", some[1])}
	if want := []string{"INV-2026-00001 1", "INV-2026-00002 2", "INV-2027-00001 3"}; !slices.Equal(got, want) {
		n.t.Errorf("the numbers are %q, want %q", got, want)
	}

	ctx, rec := keyfill.Record(context.Background())
	recorded := []invoice{{IssuedOn: issued, Note: "r1"}, {IssuedOn: issued, Note: "r2"}}
	n.done("recorded", n.db.WithContext(ctx).Create(&recorded))
	n.saved("recorded", recorded[0])
	n.saved("recorded", recorded[1])
	if all := rec.Keys("invoices"); len(all) != 4 {
		n.t.Errorf("the program's recorder has %v, want the 4 numbers", all)
	}

	tagged := []taggedInvoice{{IssuedOn: issued, Note: "t1"}, {IssuedOn: issued, Note: "t2", Place: 700}}
	n.done("tagged", n.db.Create(&tagged))
	for _, v := range tagged {
		n.saved("tagged", invoice{ID: v.ID, Number: v.Number, Place: v.Place, IssuedOn: issued, Note: v.Note})
	}
	for step, db := range map[string]*gorm.DB{"omitted": n.db.Omit("Number", "Place"), "chosen": n.db.Select("IssuedOn", "Note"), "prepared": n.db.Session(&gorm.Session{PrepareStmt: true})} {
		v := invoice{IssuedOn: issued, Note: step}
		n.done(step, db.Create(&v))
		n.saved(step, v)
	}
}

func (n gormNumbers) associated() {
	parents := []buyer{{Name: "Ada", Invoices: []invoice{{IssuedOn: issued, Note: "a1"}, {IssuedOn: issued, Note: "a2"}}}, {Name: "Bob", Invoices: []invoice{{IssuedOn: issued, Note: "b1"}}}}
	n.done("nested", n.db.Create(&parents))
	for _, p := range parents {
		for _, v := range p.Invoices {
			n.saved("nested", v)
		}
	}
	for step, db := range map[string]*gorm.DB{"added": n.db, "added to all": n.db.Session(&gorm.Session{FullSaveAssociations: true})} {
		parents[0].Invoices = []invoice{{IssuedOn: issued, Note: step}}
		n.done(step, db.Save(&parents[0]))
		n.saved(step, parents[0].Invoices[0])
	}
	eve := buyer{Name: "Eve", Invoices: []invoice{{IssuedOn: issued, Note: "e1"}}}
	undo := errors.New("undone")
	if err := n.db.Callback().Create().After("gorm:save_after_associations").Before("gorm:commit_or_rollback_transaction").Register("test:undo", func(db *gorm.DB) {
		if db.Statement.Dest == any(&eve) {
			_ = db.AddError(undo)
		}
	}); err != nil {
		n.t.Fatal(err)
	}
	if err := n.db.Create(&eve).Error; !errors.Is(err, undo) || eve.Invoices[0].Number != "" || eve.Invoices[0].Place != 0 {
		n.t.Errorf("no row is stored, and the struct has %+v, error %v", eve.Invoices[0], err)
	}
}

func (n gormNumbers) conflicting() {
	keyed := invoice{ID: uuid.New(), IssuedOn: issued, Note: "keyed"}
	n.done("own key", n.db.Save(&keyed)) // updates no row, and inserts one
	n.saved("own key", keyed)
	again := invoice{ID: keyed.ID, IssuedOn: issued, Note: "keyed"}
	n.done("upsert of all", n.db.Clauses(clause.OnConflict{UpdateAll: true}).Create(&again))
	if again.Number != keyed.Number || again.Place != keyed.Place {
		n.t.Errorf("an upsert of all columns changes the number of %+v to that of %+v", keyed, again)
	}
	n.saved("upsert of all", again)

	left := []invoice{{IssuedOn: issued, Note: "one"}, {IssuedOn: issued, Note: "new"}, {IssuedOn: issued, Note: "s1"}, {IssuedOn: issued, Note: "newer"}}
	n.done("do nothing", n.db.Clauses(clause.OnConflict{DoNothing: true}).Create(&left))
	for i, v := range left {
		if i%2 == 1 || v.ID != uuid.Nil { // RETURNING of MariaDB returns the row that is there
			n.saved("do nothing", v)
		} else if v.Number != "" || v.Place != 0 {
			n.t.Errorf("a row that is left out has the numbers of %+v", v)
		}
	}
	var ada buyer
	n.done("read", n.db.Preload("Invoices").First(&ada, "name = ?", "Ada"))
	ada.Invoices = append(ada.Invoices, invoice{IssuedOn: issued, Note: "beside"})
	for step, db := range map[string]*gorm.DB{"beside old ones": n.db, "all again": n.db.Session(&gorm.Session{FullSaveAssociations: true})} {
		n.done(step, db.Omit("Invoices.Place").Save(&ada))
		for _, v := range ada.Invoices {
			n.saved(step, v)
		}
	}
}
