package apps_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// Old and new processes are processes of the operating system: the tests start this test
// binary again, which then inserts instead of running tests. See TestMain.

// writerVariable is the environment variable that holds a writer as JSON.
const writerVariable = "KEYFILL_E2E_WRITER"

// writer is what a process does: insert into the table t by several connections until
// its standard input ends, which it also does when the test is gone.
type writer struct {
	Driver, DSN string

	// Entry is the entry of t in the policy; empty for a process without keyfill.
	Entry string

	Kind    string // of the process, such as "old"
	Number  int    // of the process, which no other one of the test has
	Journal string // the file with the outcomes of the INSERTs

	// Last says that LastInsertId is the id of the last row of an INSERT, as on SQLite;
	// elsewhere it is the first row's.
	Last bool

	// Step lies between the ids of a statement that the engine's own counter numbers.
	Step int64

	// Returning says that ids are read by RETURNING, on PostgreSQL.
	Returning bool

	// First is the first id that a process of the kind outside brings, 0 for one that
	// brings none.
	First int64

	// Pause follows each INSERT of a connection.
	Pause time.Duration

	// Holds says that the process inserts three rows in one transaction, writes a line
	// to its standard output, and commits when its standard input ends.
	Holds bool
}

const (
	// writerHands is how many connections of a process insert at once.
	writerHands = 2

	// writerPause follows an INSERT that has failed, of which the test has seen enough.
	writerPause = 100 * time.Millisecond

	// writerPatience is for how long a process waits for its store: ten seconds may
	// pass on a machine that does much else.
	writerPatience = time.Minute
)

// runWriter does what a writer says, and returns the exit code of the process.
func runWriter(text string) int {
	var w writer
	err := json.Unmarshal([]byte(text), &w)
	if err == nil {
		err = w.run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func (w *writer) run() error {
	db, err := w.open()
	if err != nil {
		return err
	}
	journal, err := os.OpenFile(w.Journal, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	db.SetMaxIdleConns(writerHands)
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // whatever ends it
		stop()
	}()
	if w.Holds {
		ids, err := w.hold(ctx, db)
		_, failed := journal.WriteString(journalLine(0, 0, ids, err))
		return errors.Join(failed, db.Close(), journal.Close())
	}
	var wg sync.WaitGroup
	for hand := range writerHands {
		wg.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				ids, err := w.insert(db, hand, n)
				if _, failed := journal.WriteString(journalLine(hand, n, ids, err)); failed != nil {
					panic(failed) // ends a process that is of no more use
				}
				if err != nil {
					time.Sleep(writerPause)
				}
				time.Sleep(w.Pause)
			}
		})
	}
	wg.Wait()
	stop()
	return errors.Join(db.Close(), journal.Close())
}

// open opens the database as the process does.
func (w *writer) open() (*sql.DB, error) {
	if w.Entry == "" {
		return sql.Open(w.Driver, w.DSN)
	}
	cfg, err := policy.Parse([]byte("version: 1\ntables:\n  " + w.Entry + "\n"))
	if err != nil {
		return nil, err
	}
	cfg.StoreWait = writerPatience
	connector, err := harness.NewConnector(w.Driver, w.DSN)
	if err != nil {
		return nil, err
	}
	return keyfill.OpenDB(connector, keyfill.Options{Policy: cfg})
}

// insert inserts a row or three, each seventh time in a transaction, and returns the ids
// that the process reads.
func (w *writer) insert(db *sql.DB, hand, n int) (ids []int64, err error) {
	var texts []any
	for i := range 1 + 2*(n%2) {
		texts = append(texts, fmt.Sprint(mark{w.Number, hand, n, i}))
	}
	insert := func(db execer) error {
		if w.First > 0 {
			ids, err = w.bring(db, hand, n, texts)
		} else {
			ids, err = w.insertTexts(db, texts)
		}
		return err
	}
	if n%7 != 0 {
		err = insert(db)
		return ids, err
	}
	err = harness.InTx(db, func(tx *sql.Tx) error { return insert(tx) })
	return ids, err
}

// hold inserts three rows in a transaction, which it commits when the context has ended.
func (w *writer) hold(ctx context.Context, db *sql.DB) (ids []int64, err error) {
	texts := []any{fmt.Sprint(mark{w.Number, 0, 0, 0}), fmt.Sprint(mark{w.Number, 0, 0, 1}), fmt.Sprint(mark{w.Number, 0, 0, 2})}
	err = harness.InTx(db, func(tx *sql.Tx) error {
		if ids, err = w.insertTexts(tx, texts); err != nil {
			return err
		}
		fmt.Println("held")
		<-ctx.Done()
		return nil
	})
	return ids, err
}

// execer is a *sql.DB or a *sql.Tx.
type execer interface {
	Exec(string, ...any) (sql.Result, error)
	Query(string, ...any) (*sql.Rows, error)
}

// insertTexts inserts a row for each of the texts in one statement, and returns their
// ids as a program reads them: by RETURNING, or counted from LastInsertId.
func (w *writer) insertTexts(db execer, texts []any) (ids []int64, err error) {
	rows := make([]string, len(texts))
	for i := range rows {
		rows[i] = "(?)"
		if w.Returning {
			rows[i] = fmt.Sprintf("($%d)", i+1)
		}
	}
	query := "INSERT INTO t (who) VALUES " + strings.Join(rows, ", ")
	if w.Returning {
		return readIDs(db.Query(query+" RETURNING id", texts...))
	}
	res, err := db.Exec(query, texts...)
	if err != nil {
		return nil, err
	}
	id, err := res.LastInsertId()
	if w.Last {
		id -= int64(len(texts)-1) * w.Step
	}
	for range texts {
		ids = append(ids, id)
		id += w.Step
	}
	return ids, err
}

// readIDs reads the only column of rows.
func readIDs(rows *sql.Rows, err error) (ids []int64, _ error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}
