package keyfillgorm_test

import (
	"strings"
	"testing"
)

// ticket has an integer key that GORM does not take for one: it sends 0 for it.
type ticket struct {
	Number int64
	Name   string
}

// order has the key that GORM leaves out of the INSERT.
type order struct {
	ID   int64
	Name string
}

// TestJoined: a number that is drawn in the transaction of its INSERT cannot be set in a
// struct beforehand. Where GORM would store 0 for it, nothing is sent.
func TestJoined(t *testing.T) {
	g := open(t)
	one := order{Name: "one"}
	if err := g.Create(&one).Error; err != nil || one.ID != 1 {
		t.Errorf("a key that GORM leaves out: %d, %v", one.ID, err)
	}
	for name, rows := range map[string]any{"a struct": &ticket{Name: "one"}, "a slice": &[]ticket{{Number: 5, Name: "two"}, {Name: "three"}}} {
		err := g.Create(rows).Error
		if err == nil || !strings.Contains(err.Error(), `GORM would send the key Number of table "tickets" as 0`) {
			t.Errorf("%s: %v", name, err)
		}
	}
	var n int64
	if err := g.Table("tickets").Count(&n).Error; err != nil || n != 0 {
		t.Errorf("%d rows are stored: %v", n, err)
	}
	if err := g.Create(&ticket{Number: 7, Name: "own"}).Error; err != nil {
		t.Errorf("with a key of its own: %v", err)
	}
	if err := g.Omit("Number").Create(&ticket{Name: "left out"}).Error; err != nil {
		t.Errorf("with the key left out: %v", err)
	}
	var numbers []int64
	if err := g.Table("tickets").Order("number").Pluck("number", &numbers).Error; err != nil || len(numbers) != 2 || numbers[0] == 0 {
		t.Errorf("stored %v: %v", numbers, err)
	}
}
