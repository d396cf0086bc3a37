package forecast

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/keyfill/keyfill/internal/dbconn"
	"github.com/keyfill/keyfill/internal/explain"
	"github.com/keyfill/keyfill/internal/fill/execution"
	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/internal/rewrite/words"
	"github.com/keyfill/keyfill/internal/sqlcode"
)

// Explainer explains queries. On a connection of its own it queries the database for
// everything that an execution would query, and changes nothing. It is safe for
// concurrent use.
type Explainer struct {
	mu   sync.Mutex
	conn *execution.Conn
}

// explainWait is how long the queries for one explanation may take.
const explainWait = time.Minute

// ConnectToExplain returns an Explainer for a database that was opened as an
// [explain.Database].
func ConnectToExplain(ctx context.Context, db *execution.Database) (*Explainer, error) {
	conn, err := db.OwnConnector().Connect(ctx)
	if err != nil {
		return nil, err
	}
	c := new(execution.Conn)
	c.Wrap(conn, db)
	_, err = c.AskEngine(ctx)
	if readOnly := db.Dialect().Transactions.ReadOnly; err == nil && readOnly != "" {
		// A server that imitates this engine may not know the statement that makes the
		// session read-only. That does not matter, since an Explainer writes nothing.
		if _, failed := dbconn.Exec(ctx, c.Own(), readOnly, nil); !sqlcode.Answered(failed) {
			err = failed
		}
	}
	if err != nil {
		_ = c.Conn.Close() // this error is ignored, since err is the error to return
		return nil, err
	}
	c.AskPlaceEarly(ctx)
	return &Explainer{conn: c}, nil
}

// Close closes the connection, and the connections on which the catalog was queried.
func (x *Explainer) Close() error {
	return errors.Join(x.conn.Conn.Close(), x.conn.DB.Close(context.Background(), nil)) // no key was drawn that could be given back
}

// Explain returns how the driver would treat a query on the database.
func (x *Explainer) Explain(query string) (explain.Explanation, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), explainWait)
	defer cancel()
	e := x.conn.DB.AnyEngine()
	alone, err := explained(e, query, [2]int{})
	if err != nil || words.Concerns(e.Dialect, query)&words.ConcernsInsert == 0 {
		return alone, err
	}
	ex, missing, err := x.onDatabase(ctx, e, query)
	ex.Reads = alone.Reads
	switch {
	case err != nil:
		return ex, err
	case missing:
		ex.Depends = "the table, which the database does not show"
	case alone.Depends != "":
		ex.Depends = alone.Depends
	case ex.Action != alone.Action || ex.Reason != alone.Reason:
		ex.Depends = otherwiseDependent
	}
	return ex, nil
}

// otherwiseDependent names the facts of the database on which an outcome depends, if
// nothing more precise is known.
const otherwiseDependent = "the table and the settings of the server"

// onDatabase explains an INSERT. missing reports that it would be filled if its table
// existed.
func (x *Explainer) onDatabase(ctx context.Context, e *table.Engine, query string) (ex explain.Explanation, missing bool, err error) {
	p, err := execution.PlanOn(ctx, x.conn, e, query, false)
	if err != nil {
		p = e.Plan(query)
	}
	var f foresight
	if err == nil && p.Action == plans.Fill {
		f, err = foresee(ctx, x.conn, p, query)
	}
	if err != nil && (unanswered(ctx, err) || p.Refusal == nil && len(p.Inserts) == 0) {
		return ex, false, err
	}
	ex, err = explanation(p, query, err, f)
	return ex, f.missing, err
}

// unanswered reports whether the database has not answered a query, so that nothing is
// known about the explained query.
func unanswered(ctx context.Context, err error) bool {
	return ctx.Err() != nil || execution.IsBadConn(err) || sqlcode.IsNetwork(err) || errors.Is(err, context.DeadlineExceeded)
}
