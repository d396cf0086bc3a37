package draft_test

import (
	"strings"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/internal/draft"
)

func TestIsKeyName(t *testing.T) {
	for name, want := range map[string]bool{"id": true, "UUID": true, "order_id": true, "orderid": true, "orders_id": true, "code": false, "customer_id": false} {
		if got := draft.IsKeyName("Orders", name); got != want {
			t.Errorf("IsKeyName(Orders, %s) = %v", name, got)
		}
	}
	for table, name := range map[string]string{"categories": "category_id", "boxes": "box_id", "cases": "case_id", "news": "news_id"} {
		if !draft.IsKeyName(table, name) {
			t.Errorf("IsKeyName(%s, %s) = false", table, name)
		}
	}
}

// TestReadersByKey: the policy asks whether a table is read by its key, in the comment of a
// table too whose name says that.
func TestReadersByKey(t *testing.T) {
	for name, want := range map[string]bool{
		"outbox": true, "order_outbox": true, "events": true, "job_queue": true, "outboxes": true, "messages": true,
		"orders": false, "preventers": false, "jobless": false,
	} {
		d := dialect.PostgreSQL()
		text := draft.Of(d, catalog.Declare(d, []*catalog.Declaration{{
			Name: name, Visible: true,
			Columns: []catalog.Declared{{Name: "id", Type: "bigint", NotNull: true}},
			Indexes: []catalog.DeclaredIndex{{Columns: []string{"id"}, Unique: true, Primary: true}},
		}})).Text()
		text = strings.Join(strings.Fields(strings.ReplaceAll(text, "#", "")), " ")
		if got := strings.Contains(text, "Is it read by id > last?"); got != want {
			t.Errorf("%q: asked %v, want %v, in\n%s", name, got, want, text)
		}
		if !strings.Contains(text, "Does a program read a table by id > last") {
			t.Errorf("%q: the head does not ask:\n%s", name, text)
		}
	}
}
