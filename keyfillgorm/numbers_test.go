package keyfillgorm_test

import (
	"strings"
	"testing"

	"github.com/google/uuid"
	"gorm.io/gorm"
)

// bill has a text and an integer beside its key.
type bill struct {
	ID     uuid.UUID
	Number string
	Place  int64
	Note   string
}

// openBills is open with the table of bills.
func openBills(t *testing.T) *gorm.DB {
	t.Helper()
	g := open(t)
	if err := g.Exec("CREATE TABLE bills (id TEXT PRIMARY KEY, number TEXT NOT NULL UNIQUE, place INT NOT NULL UNIQUE, note TEXT)").Error; err != nil {
		t.Fatal(err)
	}
	return g
}

// TestNumbersRefused: where a struct could not get its number, or GORM would store 0 for
// it, nothing is sent.
func TestNumbersRefused(t *testing.T) {
	g := openBills(t)
	type narrow struct {
		ID     uuid.UUID
		Number string
		Place  int8
	}
	type other struct {
		ID     uuid.UUID
		Number int64
	}
	b := &bill{Note: "twice"}
	for name, c := range map[string]struct {
		create func() error
		want   string
	}{
		"by value":            {func() error { return g.Create(bill{ID: uuid.New(), Note: "v"}).Error }, "cannot learn its Number, which Save would erase: give Create a pointer"},
		"one has its own":     {func() error { return g.Create([]*bill{{Place: 7}, {}}).Error }, `GORM would send the number Place of table "bills" as 0: tag the field default:(-)`},
		"name of a schema":    {func() error { return g.Table("main.bills").Create(&bill{}).Error }, `GORM would send the number Place of table "bills" as 0`},
		"too small a field":   {func() error { return g.Table("bills").Create(&narrow{}).Error }, "field Place, as int8, cannot hold the key"},
		"a number for a text": {func() error { return g.Table("bills").Create(&other{}).Error }, "field Number, as int64, cannot hold the key"},
	} {
		err := c.create()
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := count(t, g, "bills"); n != 0 {
		t.Errorf("%d bills are stored", n)
	}
	if err := g.Create([]*bill{b, b}).Error; err != nil || b.Number != "" {
		t.Errorf("one struct for two rows: %+v, %v", b, err)
	}
	if err := g.Create(bill{Note: "no key"}).Error; err != nil {
		t.Errorf("by value without a key: %v", err)
	}
}

// TestNumberIsKey: a text that is drawn with its INSERT, and is the key, is written back.
func TestNumberIsKey(t *testing.T) {
	g := openMembers(t)
	papers := []paper{{Name: "a"}, {Name: "b"}}
	if err := g.Create(&papers).Error; err != nil || papers[0].ID != "1" || papers[1].ID != "2" {
		t.Errorf("the papers are %+v, %v", papers, err)
	}
	papers[1].Name = "c"
	if err := g.Save(&papers[1]).Error; err != nil || count(t, g, "papers") != 2 {
		t.Errorf("%d papers are stored, %v", count(t, g, "papers"), err)
	}
}

// TestNumbersOff: without keyfill's work GORM sends what it would send.
func TestNumbersOff(t *testing.T) {
	t.Setenv("KEYFILL_MODE", "off")
	g := openBills(t)
	b := bill{ID: uuid.New(), Note: "off"}
	if err := g.Create(&b).Error; err != nil || g.Take(&b).Error != nil || b.Number != "" || b.Place != 0 {
		t.Errorf("stored is %+v, %v", b, err)
	}
}

// TestNumberUnread: Save of a struct that was read without its numbers keeps them, and an
// update that names the column sets it.
func TestNumberUnread(t *testing.T) {
	g := openBills(t)
	made := bill{ID: uuid.New(), Note: "made"}
	if err := g.Create(&made).Error; err != nil || made.Number == "" || made.Place == 0 {
		t.Fatalf("made is %+v, %v", made, err)
	}
	var part bill
	if err := g.Select("id", "note").Take(&part, "id = ?", made.ID).Error; err != nil || part.Number != "" {
		t.Fatalf("read is %+v, %v", part, err)
	}
	stored := func() (b bill) {
		t.Helper()
		if err := g.Take(&b, "id = ?", made.ID).Error; err != nil {
			t.Fatal(err)
		}
		return b
	}
	part.Note = "saved"
	if err := g.Save(&part).Error; err != nil {
		t.Fatal(err)
	}
	want := made
	want.Note = "saved"
	if got := stored(); got != want {
		t.Errorf("after Save: %+v, want %+v", got, want)
	}
	part.Note, want.Note = "all", "all"
	if err := g.Model(&part).Select("*").Omit("id").Updates(&part).Error; err != nil {
		t.Fatal(err)
	}
	if got := stored(); got != want {
		t.Errorf("after Updates of all: %+v, want %+v", got, want)
	}
	if err := g.Model(&part).Select("number").Updates(bill{}).Error; err != nil {
		t.Fatal(err)
	}
	if got := stored(); got.Number != "" || got.Place != made.Place {
		t.Errorf("after an update of the number: %+v", got)
	}
}
