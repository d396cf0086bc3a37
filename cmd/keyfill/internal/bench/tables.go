package bench

import (
	"context"
	"crypto/rand"
	"database/sql"
	"database/sql/driver"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/keyfill/keyfill/cmd/keyfill/internal/database"
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/measure"
	"github.com/keyfill/keyfill/internal/sqlcode"
)

// Scratch creates tables under names that no other program has, and drops them. It writes
// each name into the table [ledger] before it creates the table, so that the next run can
// drop the tables that a killed run has left.
type Scratch struct {
	db      *sql.DB
	dialect *dialect.Dialect
	run     string // the name of this run: 16 hexadecimal digits, new in each run
	last    int
	unlock  func() error
}

const (
	// ledger has a row for each table that a run has made or is about to make.
	ledger       = "keyfill_bench_tables"
	createLedger = "CREATE TABLE " + ledger + " (run VARCHAR(16) NOT NULL, table_name VARCHAR(64) NOT NULL, PRIMARY KEY (run, table_name))"
)

// stateTables are the tables of keyfill's store. A run creates those that are missing.
var stateTables = []string{"keyfill_sequences", "keyfill_workers", "keyfill_series"}

// scratchName matches the names of the tables of all runs. A table with another name is
// never dropped, even if the ledger (the table that lists the tables of all runs) names it.
var scratchName = regexp.MustCompile(`^keyfill_bench_([0-9a-f]{16})_[0-9]+$`)

// maxWait bounds how long a run cleans up after an interrupt, and how long it retries an
// INSERT.
const maxWait = time.Minute

// OpenScratch drops the tables that earlier runs have left, and notes in the ledger which
// tables of keyfill's store are missing.
func OpenScratch(ctx context.Context, db *sql.DB, d *dialect.Dialect) (*Scratch, error) {
	digits := make([]byte, 8)
	_, _ = rand.Read(digits) // rand.Read never fails
	s := &Scratch{db: db, dialect: d, run: hex.EncodeToString(digits)}
	var err error
	if s.unlock, err = Lock(ctx, db, d); err != nil {
		return nil, err
	}
	if err := s.prepare(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Scratch) prepare(ctx context.Context) error {
	if s.exists(ctx, ledger) {
		if err := s.clean(ctx); err != nil {
			return fmt.Errorf("what an earlier run has left cannot be dropped: remove the tables that %s names, then that table: %w", ledger, err)
		}
	}
	if err := s.exec(ctx, createLedger); err != nil {
		return fmt.Errorf("tables cannot be created: name a user who may create them in the DSN: %w", err)
	}
	if err := s.note(ctx, ledger); err != nil { // with this row the ledger lists this run even if the run creates no table
		return err
	}
	for _, table := range stateTables {
		if s.exists(ctx, table) {
			continue
		}
		if err := s.note(ctx, table); err != nil {
			return err
		}
	}
	return nil
}

// exists reports whether a table exists and can be read.
func (s *Scratch) exists(ctx context.Context, table string) bool {
	var none int
	err := s.db.QueryRowContext(ctx, "SELECT COUNT(*) FROM "+table+" WHERE 1 = 0").Scan(&none)
	return err == nil
}

// note writes the name of a table of this run into the ledger, the list of tables to drop.
func (s *Scratch) note(ctx context.Context, table string) error {
	return s.exec(ctx, "INSERT INTO "+ledger+" (run, table_name) VALUES (?, ?)", s.run, table)
}

// name returns a new table name for this run, after noting it in the ledger.
func (s *Scratch) name(ctx context.Context) (string, error) {
	s.last++
	name := fmt.Sprintf("keyfill_bench_%s_%d", s.run, s.last)
	return name, s.note(ctx, name)
}

// drop drops a table and deletes its name from the ledger.
func (s *Scratch) drop(ctx context.Context, table string) error {
	if err := s.exec(ctx, "DROP TABLE "+table); err != nil {
		return err
	}
	return s.exec(ctx, "DELETE FROM "+ledger+" WHERE table_name = ?", table)
}

// Close drops all tables of the run, and releases the lock, so that another run can begin.
func (s *Scratch) Close() error {
	ctx, stop := context.WithTimeout(context.Background(), maxWait)
	defer stop()
	var err error
	if s.exists(ctx, ledger) {
		if err = s.clean(ctx); err != nil {
			err = fmt.Errorf("tables of keyfill bench are left: run it again, and it drops them: %w", err)
		}
	}
	return errors.Join(err, s.unlock())
}

// clean drops the tables of all runs that the ledger lists. The lock that the function
// [Lock] takes ensures that no other run is using them.
func (s *Scratch) clean(ctx context.Context) error {
	noted, err := s.pairs(ctx, "SELECT run, table_name FROM "+ledger)
	if err != nil {
		return err
	}
	var runs, names []string
	for _, one := range noted {
		runs, names = append(runs, one[0]), append(names, one[1])
	}
	for _, table := range names {
		if scratchName.MatchString(table) {
			if err := s.exec(ctx, "DROP TABLE IF EXISTS "+table); err != nil {
				return err
			}
		}
	}
	slices.Sort(runs)
	if err := s.cleanStates(ctx, slices.Compact(runs), names); err != nil {
		return err
	}
	return s.exec(ctx, "DROP TABLE "+ledger)
}

// exec executes a statement, and retries it while another connection has a lock: SQLite
// without a busy_timeout fails at once.
func (s *Scratch) exec(ctx context.Context, query string, args ...any) error {
	return s.execOn(ctx, s.db, query, args...)
}

// firstRow stores the first row of a layout's table.
func (s *Scratch) firstRow(ctx context.Context, db *sql.DB, table string) error {
	return s.execOn(ctx, db, "INSERT INTO "+table+" (note) VALUES (?)", "the first row")
}

func (s *Scratch) execOn(ctx context.Context, db *sql.DB, query string, args ...any) error {
	for {
		_, err := db.ExecContext(ctx, measure.Bind(s.dialect, query), args...)
		if err == nil || !sqlcode.ClassOf(s.dialect, err).Transient() {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// isRun is the form of a run's name.
var isRun = regexp.MustCompile(`^[0-9a-f]{16}$`)

// cleanStates deletes the rows of the runs from the tables of keyfill's store, and drops
// the tables in made, which a run has created, unless another program has rows there now.
func (s *Scratch) cleanStates(ctx context.Context, runs, made []string) error {
	for _, table := range stateTables {
		if !s.exists(ctx, table) {
			continue
		}
		for _, run := range runs {
			if !isRun.MatchString(run) {
				continue
			}
			// A name that contains the digits of a run was written by that run alone.
			if err := s.exec(ctx, "DELETE FROM "+table+" WHERE name LIKE '%keyfill_bench_"+run+"_%'"); err != nil {
				return err
			}
		}
		if slices.Contains(made, table) {
			if err := s.dropEmpty(ctx, table); err != nil {
				return err
			}
		}
	}
	return nil
}

// dropEmpty drops a table if it has no rows.
func (s *Scratch) dropEmpty(ctx context.Context, table string) (err error) {
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	e := engines[s.dialect.Family]
	for _, query := range e.lockTable {
		if strings.Contains(query, "%s") {
			query = fmt.Sprintf(query, table)
		}
		if _, err := conn.ExecContext(ctx, query); err != nil {
			return err
		}
	}
	defer func() {
		_, ended := conn.ExecContext(ctx, e.unlockTable)
		err = errors.Join(err, ended)
	}()
	var rows int
	if err := conn.QueryRowContext(ctx, "SELECT COUNT(*) FROM "+table).Scan(&rows); err != nil || rows > 0 {
		return err
	}
	_, err = conn.ExecContext(ctx, "DROP TABLE "+table)
	return err
}

// Used returns the name of a table of the user that has rows, or cannot be read. It is empty
// if there is none.
func (s *Scratch) Used(ctx context.Context) (string, error) {
	names, err := s.pairs(ctx, engines[s.dialect.Family].tables)
	if err != nil {
		return "", err
	}
	for _, n := range names {
		if n[1] == ledger || scratchName.MatchString(n[1]) {
			continue
		}
		var one int
		err := s.db.QueryRowContext(ctx, "SELECT 1 FROM "+s.dialect.QuoteIdent(n[0])+"."+s.dialect.QuoteIdent(n[1])+" LIMIT 1").Scan(&one)
		switch {
		case err == nil:
			return n[1], nil
		case ctx.Err() != nil:
			return "", ctx.Err()
		case !errors.Is(err, sql.ErrNoRows):
			return n[1], nil
		}
	}
	return "", nil
}

// pairs returns the rows of a query that has two columns of text.
func (s *Scratch) pairs(ctx context.Context, query string) (all [][2]string, err error) {
	rows, err := s.db.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var one [2]string
		if err := rows.Scan(&one[0], &one[1]); err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, rows.Err()
}

// errBusy is returned when another run of keyfill bench holds the lock.
var errBusy = errors.New("another keyfill bench runs on this database: wait until that run has ended")

// Lock keeps other runs of keyfill bench from the database until unlock is called, or the
// process is killed.
func Lock(ctx context.Context, db *sql.DB, d *dialect.Dialect) (unlock func() error, err error) {
	e := engines[d.Family]
	if e.lock == "" {
		return lockFile(ctx, db)
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	var got sql.NullInt64
	if err := conn.QueryRowContext(ctx, e.lock).Scan(&got); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	if got.Int64 != 1 {
		return nil, errors.Join(errBusy, conn.Close())
	}
	return func() error {
		// If only the connection were closed, the server would release the lock a while
		// later, and the next run could fail. The connection is closed as well, and not
		// returned to the pool.
		ctx, stop := context.WithTimeout(context.Background(), maxWait)
		defer stop()
		_, _ = conn.ExecContext(ctx, e.unlock)
		_ = conn.Raw(func(any) error { return driver.ErrBadConn })
		return nil
	}, nil
}

// lockFile locks a file beside the database of SQLite, which has no locks by name.
func lockFile(ctx context.Context, db *sql.DB) (unlock func() error, err error) {
	var path sql.NullString
	if err := db.QueryRowContext(ctx, "SELECT file FROM pragma_database_list WHERE name = 'main'").Scan(&path); err != nil {
		return nil, err
	}
	if path.String == "" {
		return nil, errors.New("the database is in memory, where each connection has its own: name a file in the DSN")
	}
	path.String += "-keyfill-bench"
	file, err := sql.Open("sqlite", database.FileDSN(path.String, "busy_timeout(0)"))
	if err != nil {
		return nil, err
	}
	file.SetMaxOpenConns(1)
	if _, err := file.ExecContext(ctx, "BEGIN EXCLUSIVE"); err != nil {
		return nil, errors.Join(errBusy, file.Close())
	}
	return func() error { return errors.Join(os.Remove(path.String), file.Close()) }, nil
}
