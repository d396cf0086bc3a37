package nearest_test

import (
	"slices"
	"testing"

	"github.com/keyfill/keyfill/internal/nearest"
)

func TestNames(t *testing.T) {
	tables := []string{"orders", "order_lines", "customers", "shop_orders", "Users", "id"}
	for _, tt := range []struct {
		got  string
		want []string
	}{
		{"ordres", []string{"orders"}},
		{"order", []string{"orders", "order_lines"}},
		{"users", []string{"Users"}},
		{"orders", []string{"orders", "shop_orders"}},
		{"costumers", []string{"customers"}},
		{"idd", []string{"id"}},
		{"invoices", nil},
		{"", nil},
	} {
		if got := nearest.Names(tt.got, tables); !slices.Equal(got, tt.want) {
			t.Errorf("Names(%q) = %q, want %q", tt.got, got, tt.want)
		}
	}
}

func TestDidYouMean(t *testing.T) {
	if got, want := nearest.DidYouMean("ordres", []string{"orders", "items"}), `; did you mean "orders"?`; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := nearest.DidYouMean("invoices", []string{"orders"}); got != "" {
		t.Errorf("%q for nothing near", got)
	}
}

func TestOneLetter(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{"orders", "oders", true}, {"orders", "orderss", true}, {"orders", "ordres", true}, {"orders", "orderz", true},
		{"orders", "orders", false}, {"orders", "oder", false}, {"orders", "order_lines", false},
	} {
		if got := nearest.OneLetter(tt.a, tt.b); got != tt.want {
			t.Errorf("OneLetter(%q, %q) = %v", tt.a, tt.b, got)
		}
	}
}

func TestWord(t *testing.T) {
	words := []string{"uuidv7", "uuidv4", "ulid", "sequence"}
	for got, want := range map[string]string{"uuid": "uuidv7", "sequense": "sequence", "winter": "", "Ulid": "ulid"} {
		if near := nearest.Word(got, words); near != want {
			t.Errorf("Word(%q) = %q, want %q", got, near, want)
		}
	}
}
