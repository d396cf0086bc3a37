package keyfillgorm_test

import (
	"testing"

	"github.com/google/uuid"
	"gorm.io/gorm/clause"
)

// TestKeyedTwice: a struct that has a key may stand in a slice twice, beside one that gets
// its key.
func TestKeyedTwice(t *testing.T) {
	g := openMembers(t)
	keyed, fresh := &tag{ID: uuid.New(), Name: "keyed"}, &tag{Name: "fresh"}
	if err := g.Clauses(clause.OnConflict{DoNothing: true}).Create([]*tag{keyed, keyed, fresh}).Error; err != nil {
		t.Fatal(err)
	}
	if n := count(t, g, "tags"); n != 2 || fresh.ID == uuid.Nil || fresh.ID != stored(t, g, "tags", "name", "fresh") {
		t.Errorf("%d tags are stored, and the new one has the key %v", n, fresh.ID)
	}
}
