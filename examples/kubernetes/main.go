// Command kubernetes is a small application that runs in pods: statefulset.yaml,
// deployment.yaml and deployment-etcd.yaml are three ways to run it, each of which gives its
// processes workers' numbers of their own. check.yaml compares the policy with the database
// before a new version is rolled out.
//
// POST /orders stores an order and answers with its key.
package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/keyfill/keyfill"
	_ "github.com/keyfill/keyfill/auto/pgx"
	_ "github.com/keyfill/keyfill/keyfilletcd"
	"github.com/keyfill/keyfill/keyfillhttp"
)

const (
	// requestTime is how long requests that are under way may take when the pod is to end.
	// It is less than terminationGracePeriodSeconds, so that time is left to close the
	// database.
	requestTime = 15 * time.Second

	// probeTime is less than the timeoutSeconds of a probe, whose default is one second.
	probeTime = 800 * time.Millisecond
)

func main() {
	address := ":8080"
	if given := os.Getenv("SHOP_ADDRESS"); given != "" {
		address = given
	}
	if err := run(address, os.Getenv("SHOP_DSN")); err != nil {
		log.Fatal(err)
	}
}

// run serves requests until the process gets a signal to end.
func run(address, dsn string) error {
	ended, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	db, err := sql.Open("pgx-keyfill", dsn) // $KEYFILL_CONFIG names the file of the policy
	if err != nil {
		return err
	}
	m, err := keyfill.From(db)
	if err != nil {
		return errors.Join(err, db.Close())
	}
	server := &http.Server{Addr: address, Handler: handler(db, m), ReadHeaderTimeout: 5 * time.Second}
	failed := make(chan error, 1)
	go func() { failed <- server.ListenAndServe() }()
	select {
	case err = <-failed:
	case <-ended.Done():
		limited, cancel := context.WithTimeout(context.Background(), requestTime)
		defer cancel()
		err = server.Shutdown(limited)
	}
	// Close gives back the worker's number that was leased. A process that is killed keeps
	// it until the lease has run out.
	return errors.Join(err, db.Close())
}

func handler(db *sql.DB, m *keyfill.Mount) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /orders", func(w http.ResponseWriter, r *http.Request) {
		ctx, rec := keyfill.Record(r.Context())
		if _, err := db.ExecContext(ctx, "INSERT INTO orders (note) VALUES ($1)", r.FormValue("note")); err != nil {
			log.Print(err)
			http.Error(w, "the order was not stored", http.StatusServiceUnavailable)
			return
		}
		key, _ := keyfill.Last[int64](rec, "orders")
		fmt.Fprintln(w, key)
	})
	mux.HandleFunc("GET /live", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /ready", func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), probeTime)
		defer cancel()
		if err := db.PingContext(ctx); err != nil {
			http.Error(w, "the database does not answer", http.StatusServiceUnavailable)
		}
	})
	mux.Handle("GET /keyfill", keyfillhttp.Handler(m)) // for operators: do not expose it outside of the cluster
	return mux
}
