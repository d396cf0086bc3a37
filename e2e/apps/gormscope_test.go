package apps_test

import (
	"errors"
	"slices"
	"testing"

	"gorm.io/gorm"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/keyfillgorm"
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

type scopeOrder struct {
	ID    int64
	Name  string
	Lines []scopeLine `gorm:"foreignKey:OrderID"`
}

func (scopeOrder) TableName() string { return "scope_orders" }

// scopeLine is numbered within its order.
type scopeLine struct {
	No      int64 `gorm:"primaryKey"`
	OrderID int64
	Item    string
}

func (scopeLine) TableName() string { return "scope_lines" }

// TestGORMScope: has-many whose rows are numbered within their parent.
func TestGORMScope(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.MySQLDefault, harness.PgxDefault, harness.SQLiteFile}, func(t *testing.T, s *harness.Scratch) {
		harness.Exec(t, s.Raw, "CREATE TABLE scope_orders (id BIGINT PRIMARY KEY, name VARCHAR(50))")
		harness.Exec(t, s.Raw, "CREATE TABLE scope_lines (order_id BIGINT NOT NULL, no BIGINT NOT NULL, item VARCHAR(50), PRIMARY KEY (order_id, no))")
		scope := policy.Scope{harness.ByOrder}
		db, _ := s.Open(t, &policy.Config{Tables: map[string]policy.Table{
			"scope_orders": {Column: "id", InPlace: &policy.Source{Kind: policy.KindSequence, EnsureSchema: true}},
			"scope_lines":  {Keys: []policy.Key{{Column: "no", InPlace: &policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Scope: &scope}}}},
		}})
		g := openGORM(t, s, db, true)
		if err := g.Use(keyfillgorm.Plugin{}); err != nil {
			t.Fatal(err)
		}
		orders := []scopeOrder{{Name: "a", Lines: []scopeLine{{Item: "a1"}, {Item: "a2"}}}, {Name: "b", Lines: []scopeLine{{Item: "b1"}}}}
		if err := g.Create(&orders).Error; err != nil {
			t.Fatal(err)
		}
		orders[0].Lines = []scopeLine{{Item: "a3"}}
		if err := g.Session(&gorm.Session{FullSaveAssociations: true}).Save(&orders[0]).Error; err != nil {
			t.Fatal(err)
		}
		if no := orders[0].Lines[0].No; no != 3 {
			t.Errorf("the third line has the number %d", no)
		}
		want := []string{"[{a true} {1 true} {a1 true}]", "[{a true} {2 true} {a2 true}]", "[{a true} {3 true} {a3 true}]", "[{b true} {1 true} {b1 true}]"}
		got := harness.RowsOf(t, s.Raw, "SELECT o.name, l.no, l.item FROM scope_lines l JOIN scope_orders o ON o.id = l.order_id ORDER BY 1, 2")
		if !slices.Equal(got, want) {
			t.Errorf("stored is %q, want %q", got, want)
		}
		orders[0].Lines = append(orders[0].Lines, scopeLine{Item: "a4"})
		if err := g.Save(&orders[0]).Error; !errors.Is(err, rewrite.ErrGap) {
			t.Errorf("an old line and a new one: %v", err)
		}
	})
}
