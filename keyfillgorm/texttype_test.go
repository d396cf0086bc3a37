package keyfillgorm_test

import (
	"database/sql/driver"
	"strings"
	"testing"

	"github.com/google/uuid"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
)

// textID is read by UnmarshalText alone, as the UUID of Go 1.27's standard library, which
// database/sql converts.
type textID [16]byte

func (id *textID) UnmarshalText(text []byte) error { return (*uuid.UUID)(id).UnmarshalText(text) }
func (id textID) Value() (driver.Value, error)     { return uuid.UUID(id).String(), nil }

// TestTextUnmarshaler: a key is set in an array that has no sql.Scanner.
func TestTextUnmarshaler(t *testing.T) {
	type author struct {
		ID   textID
		Name string
		Age  int
	}
	type byPointer struct {
		ID   *textID
		Name string
	}
	g := open(t)
	a, b := author{Name: "a", Age: 1}, byPointer{Name: "b"}
	if err := g.Create(&a).Error; err != nil || uuid.UUID(a.ID) != stored(t, g, "authors", "name", "a") {
		t.Errorf("the key is %v, stored is %v, error %v", uuid.UUID(a.ID), stored(t, g, "authors", "name", "a"), err)
	}
	if err := g.Table("authors").Create(&b).Error; err != nil || b.ID == nil || uuid.UUID(*b.ID) != stored(t, g, "authors", "name", "b") {
		t.Errorf("by pointer: the key is %v, stored is %v, error %v", b.ID, stored(t, g, "authors", "name", "b"), err)
	}
	upsert := g.Clauses(clause.OnConflict{Columns: []clause.Column{{Name: "name"}}, DoUpdates: clause.AssignmentColumns([]string{"age"})}).Session(&gorm.Session{})
	again := author{Name: "a", Age: 2}
	if err := upsert.Create(&again).Error; err != nil || again.ID != a.ID {
		t.Errorf("after an upsert the key is %v, error %v, want %v", uuid.UUID(again.ID), err, uuid.UUID(a.ID))
	}
}

// TestUnfit: a field that cannot hold the key is an error of this package, without the key.
func TestUnfit(t *testing.T) {
	type author struct {
		ID   [16]byte
		Name string
	}
	g := open(t)
	a := author{Name: "a"}
	err := g.Create(&a).Error
	if err == nil || !strings.HasPrefix(err.Error(), `keyfillgorm: field ID, as [16]uint8, cannot hold the key of table "authors", as string: give it a type`) {
		t.Errorf("error %v", err)
	}
	if n := count(t, g, "authors"); n != 0 || a.ID != [16]byte{} {
		t.Errorf("%d rows are stored, and the struct has the key %v", n, a.ID)
	}
}
