package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/keyfill/keyfill/internal/testdb"
)

var postgresql = testdb.New(testdb.PostgreSQL())

func TestMain(m *testing.M) { testdb.Main(m, postgresql, mariadb) }

// ask sends a request, and reads the answer of 200 into a T.
func ask[T any](t *testing.T, h http.Handler, method, url, body string, status int) (read T) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(method, url, strings.NewReader(body)))
	if w.Code != status {
		t.Fatalf("%s %s: status %d, want %d: %s", method, url, w.Code, status, w.Body)
	}
	if status == http.StatusOK {
		if err := json.Unmarshal(w.Body.Bytes(), &read); err != nil {
			t.Fatal(err)
		}
	}
	return read
}

// TestOrders: an order is found by its id with a prefix, by its masked link and by the day on
// which it was made, and invoices count from 1 in each year.
func TestOrders(t *testing.T) {
	s, err := open(t.Context(), postgresql.DSN(postgresql.Database(t, "pgx")), []byte("32 random bytes: not in the code"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.db.Close()
	h, begun := s.handler(), time.Now().UTC()
	var made []order
	for _, o := range []struct{ day, invoice string }{
		{"2026-11-28", "INV-2026-00001"}, {"2027-01-02", "INV-2027-00001"}, {"2026-12-31", "INV-2026-00002"},
	} {
		one := ask[order](t, h, "POST", "/orders", `{"day": "`+o.day+`", "cents": 250}`, http.StatusOK)
		if one.Invoice != o.invoice || one.Day != o.day || one.Cents != 250 || !strings.HasPrefix(one.ID.String(), "ord_") || one.ID.UUID().Version() != 7 {
			t.Errorf("stored is %+v, want the invoice %s", one, o.invoice)
		}
		made = append(made, one)
	}
	for _, o := range made {
		if got := ask[order](t, h, "GET", "/orders/"+o.ID.String(), "", http.StatusOK); got != o {
			t.Errorf("by its id is found %+v, want %+v", got, o)
		}
		if got := ask[order](t, h, "GET", o.Link, "", http.StatusOK); got != o {
			t.Errorf("by its link is found %+v, want %+v", got, o)
		}
		masked := uuid.MustParse(strings.TrimPrefix(o.Link, "/public/"))
		if masked.Version() != 4 || masked == o.ID.UUID() {
			t.Errorf("the link shows %s", masked)
		}
	}
	var found []order
	for day := begun; ; day = day.AddDate(0, 0, 1) { // the day may end while the test runs
		found = append(found, ask[[]order](t, h, "GET", "/orders?made="+day.Format(time.DateOnly), "", http.StatusOK)...)
		if day.After(time.Now()) {
			break
		}
	}
	if len(found) != len(made) || found[0] != made[0] {
		t.Errorf("by the days of their keys are found %+v, want %+v", found, made)
	}
	if got := ask[[]order](t, h, "GET", "/orders?made=2026-01-01", "", http.StatusOK); len(got) != 0 {
		t.Errorf("on another day were made %+v", got)
	}

	// Texts that are no id of an order.
	plain := made[0].ID.UUID().String()
	for _, url := range []string{"/orders/" + plain, "/orders/cus" + strings.TrimPrefix(made[0].ID.String(), "ord"), "/public/" + plain, "/public/" + uuid.NewString(), "/public/x"} {
		ask[order](t, h, "GET", url, "", http.StatusNotFound)
	}
	ask[order](t, h, "POST", "/orders", "no JSON", http.StatusBadRequest)
}
