package keyfillgorm_test

import (
	"strings"
	"testing"

	"github.com/google/uuid"
	"gorm.io/gorm"
)

type firm struct {
	ID   uuid.UUID
	Name string
}

type tag struct {
	ID   uuid.UUID
	Name string
}

type member struct {
	ID     uuid.UUID
	Name   string
	FirmID uuid.UUID
	Firm   *firm
	Tags   []*tag `gorm:"many2many:member_tags"`
}

// paper has a key that is drawn with its INSERT, and is a text.
type paper struct {
	ID     string
	Name   string
	Sheets []sheet
}

type sheet struct {
	ID      int64
	PaperID string
}

// openMembers is open with the tables of members, and of papers.
func openMembers(t *testing.T) *gorm.DB {
	t.Helper()
	g := open(t)
	if err := g.AutoMigrate(&firm{}, &tag{}, &member{}, &paper{}, &sheet{}); err != nil {
		t.Fatal(err)
	}
	return g
}

// count returns how many rows a table has.
func count(t *testing.T, g *gorm.DB, table string) (n int64) {
	t.Helper()
	if err := g.Table(table).Count(&n).Error; err != nil {
		t.Fatal(err)
	}
	return n
}

// TestSharedStructs: a struct that several parents have is one row, and all of them refer
// to it.
func TestSharedStructs(t *testing.T) {
	g := openMembers(t)
	f, tg := &firm{Name: "f"}, &tag{Name: "t"}
	members := []member{{Name: "a", Firm: f, Tags: []*tag{tg}}, {Name: "b", Firm: f, Tags: []*tag{tg, {Name: "own"}}}}
	if err := g.Create(&members).Error; err != nil {
		t.Fatal(err)
	}
	if n, m := count(t, g, "firms"), count(t, g, "tags"); n != 1 || m != 2 {
		t.Errorf("%d firms and %d tags are stored, want 1 and 2", n, m)
	}
	if f.ID == uuid.Nil || f.ID != stored(t, g, "firms", "name", "f") || tg.ID == uuid.Nil || tg.ID != stored(t, g, "tags", "name", "t") {
		t.Errorf("the structs have the keys %v and %v", f.ID, tg.ID)
	}
	for _, m := range members {
		var joined int64
		if err := g.Table("member_tags").Where("member_id = ? AND tag_id = ?", m.ID, tg.ID).Count(&joined).Error; err != nil || joined != 1 || m.FirmID != f.ID {
			t.Errorf("%s refers to the firm %v, want %v; %d rows lead to its tag, error %v", m.Name, m.FirmID, f.ID, joined, err)
		}
	}
	again := &tag{Name: "again"}
	if err := g.Create([]*tag{again, again}).Error; err != nil || count(t, g, "tags") != 4 {
		t.Errorf("one struct twice in the program's own slice: %d tags are stored, error %v, want two more", count(t, g, "tags"), err)
	}
}

// TestHandedOn: where a key cannot be set, and GORM cannot read it back, no row refers to
// the zero key.
func TestHandedOn(t *testing.T) {
	g := openMembers(t)
	a := &author{Name: "a", Books: []book{{Title: "of a"}}}
	for _, c := range []struct {
		name   string
		create func() error
		want   string
	}{
		{"one struct twice", func() error { return g.Create([]*author{a, a}).Error }, "give each row its own struct"},
		{"by value", func() error { return g.Create(author{Name: "v", Books: []book{{Title: "of v"}}}).Error }, "give Create a pointer"},
		{"another name of the table", func() error {
			return g.Table("main.authors").Create(&author{Name: "s", Books: []book{{Title: "of s"}}}).Error
		}, "set it in BeforeCreate"},
		{"drawn with the INSERT", func() error { return g.Create(&paper{Name: "p", Sheets: []sheet{{}}}).Error }, "default:(-)"},
	} {
		err := c.create()
		if err == nil || !strings.HasPrefix(err.Error(), "keyfillgorm: ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	for _, table := range []string{"authors", "books", "papers", "sheets"} {
		if n := count(t, g, table); n != 0 {
			t.Errorf("%d rows of %s are stored", n, table)
		}
	}
	if err := g.Create(&paper{Name: "alone"}).Error; err != nil {
		t.Errorf("without children: %v", err)
	}
}

// TestSelected: the key is set where the program chooses other columns.
func TestSelected(t *testing.T) {
	g := openMembers(t)
	for name, c := range map[string]*gorm.DB{
		"Select":      g.Select("Name", "Books"),
		"Omit":        g.Omit("ID"),
		"Omit column": g.Omit("authors.id", "age"),
	} {
		a := author{Name: name, Age: 7, Books: []book{{Title: "of " + name}}}
		if err := c.Create(&a).Error; err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		id := stored(t, g, "authors", "name", name)
		var of []uuid.UUID
		if err := g.Table("books").Where("title = ?", "of "+name).Pluck("author_id", &of).Error; err != nil {
			t.Fatal(err)
		}
		if id == uuid.Nil || a.ID != id || len(of) != 1 || of[0] != id {
			t.Errorf("%s: the struct has the key %v, stored is %v, and its book refers to %v", name, a.ID, id, of)
		}
	}
	var ages []int
	if err := g.Table("authors").Where("age IS NOT NULL").Order("name").Pluck("age", &ages).Error; err != nil || len(ages) != 1 || ages[0] != 7 {
		t.Errorf("the ages %v are stored, error %v, want that of Omit alone", ages, err)
	}
}
