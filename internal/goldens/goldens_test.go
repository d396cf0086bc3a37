package goldens_test

import (
	"slices"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/goldens"
)

// TestOf: an engine without golden cases takes the cases of the first engine of its family.
func TestOf(t *testing.T) {
	for _, name := range goldens.Named {
		d, err := dialect.ByName(name)
		if err != nil {
			t.Fatal(err)
		}
		other := *d
		other.Name = "other"
		want := name
		if name == "mariadb" {
			want = "mysql"
		}
		if got := goldens.Of(&other); got != want || goldens.Of(d) != name {
			t.Errorf("like %s: %s, and itself: %s; want %s and %[1]s", name, got, goldens.Of(d), want)
		}
		if goldens.Has("sqlite x", &other) != (name == "sqlite") {
			t.Errorf("like %s: it is in a list, or missing there", name)
		}
	}
	unknown := dialect.Dialect{Name: "unknown"}
	if got := goldens.Of(&unknown); got != "unknown" {
		t.Errorf("of no family: %s", got)
	}
}

func TestDialects(t *testing.T) {
	got, err := goldens.Dialects([]string{"oracle", "mysql"})
	if err != nil || !slices.Equal(got[:2], []*dialect.Dialect{dialect.Oracle(), dialect.MySQL()}) {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := goldens.Dialects([]string{"klingon"}); err == nil {
		t.Error("klingon is a dialect")
	}
}
