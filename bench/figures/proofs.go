package figures

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/keyfill/keyfill/bench/engines"
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/keys/relation"
	"github.com/keyfill/keyfill/internal/stats"
)

// Proofs measures how much more processor time PostgreSQL needs because a prepared INSERT
// of keyfill also checks which table its name means. It measures the processor time of that
// process, since the client's time and the network's are the same. most is the limit in
// nanoseconds a row.
func Proofs(ctx context.Context, r Run, e engines.Engine, connector driver.Connector, most float64) (all []Figure, err error) {
	db := sql.OpenDB(connector)
	defer func() { err = errors.Join(err, db.Close()) }()
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	if _, err := conn.ExecContext(ctx, "CREATE TABLE proven (id BIGINT PRIMARY KEY, v INT)"); err != nil {
		return nil, err
	}
	var process int
	if err := conn.QueryRowContext(ctx, "SELECT pg_backend_pid()").Scan(&process); err != nil {
		return nil, err
	}
	proof := relation.ProofOf(dialect.PostgreSQL(), "public", "proven", "bigint")
	inserts := func(open, shut string) (func(n int) (float64, error), error) {
		stmt, err := conn.PrepareContext(ctx, "INSERT INTO proven (id, v) VALUES ("+open+"$1"+shut+", $2)") //nolint:sqlclosecheck // it goes with its connection
		if err != nil {
			return nil, err
		}
		return func(n int) (float64, error) {
			// The transaction is rolled back at the end, so nothing waits for the disk, and
			// the table stays small.
			if _, err := conn.ExecContext(ctx, "BEGIN"); err != nil {
				return 0, err
			}
			before, err := timeOf(process)
			for i := 0; i < n && err == nil; i++ {
				_, err = stmt.ExecContext(ctx, i, 1)
			}
			if err != nil {
				return 0, err
			}
			after, err := timeOf(process)
			if err == nil {
				_, err = conn.ExecContext(ctx, "ROLLBACK")
			}
			return (after - before) / float64(n), err
		}, nil
	}
	plain, err := inserts("", "")
	if err != nil {
		return nil, err
	}
	proven, err := inserts(proof.Open, proof.Shut)
	if err != nil {
		return nil, err
	}
	var more, again []float64
	var without float64
	n := r.times(5_000)
	for round := range moreRounds*r.Rounds + 1 {
		// The order changes from round to round, so that no function always runs after the
		// same other function.
		var took [3]float64
		ways := []func(int) (float64, error){plain, proven, plain}
		for _, i := range stats.Order(round, len(ways)) {
			if took[i], err = ways[i](n); err != nil {
				return nil, err
			}
		}
		if round > 0 {
			more, again, without = append(more, took[1]-took[0]), append(again, took[2]-took[0]), took[0]
		}
	}
	control := stats.Of(again)
	return []Figure{{
		What: e.Name + ", a prepared INSERT that proves what its name means: more of the server's processor", Unit: Nanoseconds,
		Value: stats.Of(more), Control: &control, Bar: atMost(most), Optional: true,
		Note: fmt.Sprintf("%.1f µs without", without/1000),
	}}, nil
}

// timeOf returns the processor time that a process has used, in nanoseconds: the first
// number in its schedstat, of proc(5).
func timeOf(process int) (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/schedstat", process))
	if err != nil {
		return 0, err
	}
	first, _, _ := strings.Cut(string(text), " ")
	return strconv.ParseFloat(first, 64)
}
