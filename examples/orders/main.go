// Command orders takes the orders of a shop over HTTP and keeps them in PostgreSQL. In this
// folder:
//
//	SHOP_SECRET=… go run . 'postgres://127.0.0.1:5432/shop'
//
//	curl -d '{"day": "2026-11-28", "cents": 250}' 127.0.0.1:8080/orders
//	curl 127.0.0.1:8080/orders/ord_01m8fq7700e008000000000000
//	curl 127.0.0.1:8080/public/46c5703f-514b-41ab-bd3b-b9b49b222aa2
//	curl '127.0.0.1:8080/orders?made=2026-11-28'
//
// The table has a column of type uuid, and an invoice number by year. An order is seen by its
// id with a prefix, and by customers in a link that hides when it was made.
package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"log"
	"net/http"
	"os"
	"time"

	"github.com/google/uuid"

	_ "github.com/keyfill/keyfill/auto/pgx"
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/publicid"
)

// order is a row, and the type of its ids.
type order struct {
	ID      publicid.ID[order] `json:"id"`
	Invoice string             `json:"invoice"`
	Day     string             `json:"day"`
	Cents   int64              `json:"cents"`
	Link    string             `json:"link"`
}

func (order) Prefix() string         { return "ord" }
func (order) Layout() dialect.Layout { return dialect.SequentialAsString } // the column has the UUID alone

// shop answers requests. Its ids are no access control: a shop that has users checks here
// whether the caller may see the order.
type shop struct {
	db   *sql.DB
	mask *publicid.Mask
}

// errNone is returned for a text that is the id of no order.
var errNone = errors.New("there is no such order")

func main() {
	ctx := context.Background()
	if len(os.Args) != 2 {
		log.Fatal("usage: SHOP_SECRET=… go run . DSN, in this folder")
	}
	s, err := open(ctx, os.Args[1], []byte(os.Getenv("SHOP_SECRET")))
	if err != nil {
		log.Fatal(err)
	}
	defer s.db.Close()
	server := &http.Server{Addr: "127.0.0.1:8080", Handler: s.handler(), ReadHeaderTimeout: time.Second}
	log.Print(server.ListenAndServe())
}

// open opens the shop's database, and makes the table if it is missing.
func open(ctx context.Context, dsn string, secret []byte) (*shop, error) {
	mask, err := publicid.NewMask("orders", secret)
	if err != nil {
		return nil, err
	}
	db, err := sql.Open("pgx-keyfill", dsn)
	if err != nil {
		return nil, err
	}
	_, err = db.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS orders (id uuid PRIMARY KEY, invoice text NOT NULL UNIQUE, issued_on date NOT NULL, cents bigint NOT NULL)")
	if err != nil {
		db.Close()
		return nil, err
	}
	return &shop{db, mask}, nil
}

func (s *shop) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /orders", answer(s.create))
	mux.HandleFunc("GET /orders/{id}", answer(s.byID))
	mux.HandleFunc("GET /public/{masked}", answer(s.byLink))
	mux.HandleFunc("GET /orders", answer(s.madeOn))
	return mux
}

// create stores an order. keyfill fills its id and its invoice number.
func (s *shop) create(r *http.Request) (any, error) {
	var o order
	if err := json.NewDecoder(r.Body).Decode(&o); err != nil {
		return nil, err
	}
	return s.one(r.Context(), "INSERT INTO orders (issued_on, cents) VALUES ($1, $2) RETURNING id, invoice, issued_on, cents", o.Day, o.Cents)
}

// byID finds an order by the id that staff and other programs see.
func (s *shop) byID(r *http.Request) (any, error) {
	id, err := publicid.Parse[order](r.PathValue("id"))
	if err != nil {
		return nil, errNone
	}
	return s.one(r.Context(), "SELECT id, invoice, issued_on, cents FROM orders WHERE id = $1", id)
}

// byLink finds an order by the masked id in a customer's link.
func (s *shop) byLink(r *http.Request) (any, error) {
	masked, err := uuid.Parse(r.PathValue("masked"))
	if err != nil {
		return nil, errNone
	}
	id, err := s.mask.Reveal(masked)
	if err != nil {
		return nil, errNone
	}
	return s.one(r.Context(), "SELECT id, invoice, issued_on, cents FROM orders WHERE id = $1", id)
}

// madeOn finds the orders that were made on a day, by their keys alone.
func (s *shop) madeOn(r *http.Request) (any, error) {
	day, err := time.Parse(time.DateOnly, r.FormValue("made"))
	if err != nil {
		return nil, err
	}
	low, high, err := publicid.Bounds[order](day, day.AddDate(0, 0, 1))
	if err != nil {
		return nil, err
	}
	return s.all(r.Context(), "SELECT id, invoice, issued_on, cents FROM orders WHERE id >= $1 AND id < $2 ORDER BY id", low, high)
}

// one returns the only order of a query.
func (s *shop) one(ctx context.Context, query string, args ...any) (any, error) {
	found, err := s.all(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, errNone
	}
	return found[0], nil
}

// all returns the orders of a query, with their links.
func (s *shop) all(ctx context.Context, query string, args ...any) ([]order, error) {
	rows, err := s.db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	found := []order{}
	for rows.Next() {
		var o order
		var day time.Time
		if err := rows.Scan(&o.ID, &o.Invoice, &day, &o.Cents); err != nil {
			return nil, err
		}
		masked, err := s.mask.Hide(o.ID.UUID())
		if err != nil {
			return nil, err
		}
		o.Day, o.Link = day.Format(time.DateOnly), "/public/"+masked.String()
		found = append(found, o)
	}
	return found, rows.Err()
}

// answer writes what a function returns as JSON.
func answer(f func(*http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := f(r)
		switch {
		case errors.Is(err, errNone):
			http.Error(w, err.Error(), http.StatusNotFound)
			return
		case err != nil:
			log.Print(err)
			http.Error(w, "the request cannot be answered", http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(body)
	}
}
