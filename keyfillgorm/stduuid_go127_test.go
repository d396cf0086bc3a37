//go:build go1.27

package keyfillgorm_test

import (
	"testing"
	"uuid"

	"gorm.io/gorm/clause"
)

// TestStandardUUID: parents and children have UUIDs of the standard library.
func TestStandardUUID(t *testing.T) {
	type book struct {
		ID       uuid.UUID
		AuthorID uuid.UUID
		Title    string
	}
	type author struct {
		ID    uuid.UUID
		Name  string
		Age   int
		Books []book `gorm:"foreignKey:AuthorID"`
	}
	g := open(t)
	authors := []author{{Name: "a", Books: []book{{Title: "of a"}}}, {Name: "b"}}
	if err := g.Create(&authors).Error; err != nil {
		t.Fatal(err)
	}
	var found []author
	if err := g.Preload("Books").Order("name").Find(&found).Error; err != nil || len(found) != 2 {
		t.Fatalf("%d authors are found, error %v", len(found), err)
	}
	for i, a := range authors {
		if a.ID == uuid.Nil() || a.ID != found[i].ID {
			t.Errorf("%s has the key %v, stored is %v", a.Name, a.ID, found[i].ID)
		}
	}
	if of := found[0].Books; len(of) != 1 || of[0].ID != authors[0].Books[0].ID || of[0].AuthorID != authors[0].ID {
		t.Errorf("the books %v are stored, want %v", of, authors[0].Books)
	}
	again := author{Name: "a", Age: 2}
	upsert := clause.OnConflict{Columns: []clause.Column{{Name: "name"}}, DoUpdates: clause.AssignmentColumns([]string{"age"})}
	if err := g.Clauses(upsert).Create(&again).Error; err != nil || again.ID != authors[0].ID {
		t.Errorf("after an upsert the key is %v, error %v, want %v", again.ID, err, authors[0].ID)
	}
}
