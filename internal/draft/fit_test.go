package draft_test

import (
	"testing"

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
