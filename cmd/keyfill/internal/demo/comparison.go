package demo

import (
	"bufio"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/google/uuid"
	"modernc.org/sqlite"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/cmd/keyfill/internal/database"
	"github.com/keyfill/keyfill/cmd/keyfill/internal/terminal"
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/policy"
)

// comparisonPragmas are the settings of SQLite under which all contenders are measured: the
// journal settings that servers mostly use, and SQLite's default page cache.
var comparisonPragmas = []string{"journal_mode(WAL)", "synchronous(NORMAL)", "cache_size(-2000)"}

const (
	batch = 1000 // how many rows a transaction stores

	comparisonIntro = `%s rows for each kind of key, into a new SQLite file: write-ahead log,
synchronous=NORMAL, a page cache of 2 MB (SQLite's default); a prepared INSERT for
each row, a transaction for each %s rows. Counted are the pages of 4,096 bytes
that SQLite wrote: their number does not depend on what else the machine does, as
the time does, from the first INSERT to the closed file. The time includes
making the keys: of INTEGER by SQLite, of v4 by github.com/google/uuid in the
application, of v7 by keyfill on the way. "×" is the ratio to INTEGER.

`
)

// contender is one kind of key in the comparison.
type contender struct {
	name   string
	column string // the type of the key column
	query  string
	own    func() any // makes a key in the application; nil if the application makes none
	open   func(driver.Connector) (*sql.DB, error)
}

const (
	plainInsert = "INSERT INTO orders (customer, total, note) VALUES (?, ?, ?)"
	keyedInsert = "INSERT INTO orders (id, customer, total, note) VALUES (?, ?, ?, ?)"
)

// The indexes of the contenders in the comparison.
const (
	byInteger = iota
	byV4
	byV7
	byBinaryV7
)

var contenders = []contender{
	byInteger: {
		name:   "INTEGER PRIMARY KEY",
		column: "INTEGER",
		query:  plainInsert,
		open:   openPlain,
	},
	byV4: {
		name:   "random UUIDv4, as text",
		column: "TEXT",
		query:  keyedInsert,
		own:    func() any { return uuid.NewString() },
		open:   openPlain,
	},
	byV7: {
		name:   "keyfill's UUIDv7, as text",
		column: "TEXT",
		query:  plainInsert,
		open:   openKeyed(dialect.SequentialAsString),
	},
	byBinaryV7: {
		name:   "keyfill's UUIDv7, layout: binary",
		column: "BLOB",
		query:  plainInsert,
		open:   openKeyed(dialect.SequentialAsBinary),
	},
}

func openPlain(c driver.Connector) (*sql.DB, error) { return sql.OpenDB(c), nil }

func openKeyed(l dialect.Layout) func(driver.Connector) (*sql.DB, error) {
	return func(c driver.Connector) (*sql.DB, error) {
		return database.OpenFilled(c, &policy.Config{
			Tables: map[string]policy.Table{"orders": {Column: "id", Layout: l}},
		})
	}
}

// measurement holds the time and the space that the rows took.
type measurement struct {
	time  time.Duration
	bytes int64 // the size of the database file in bytes
	pages int   // how many pages SQLite wrote
}

// compare measures all contenders and prints the results.
func compare(ctx context.Context, w *bufio.Writer, p *terminal.Progress, folder string, rows int) error {
	fmt.Fprintln(w)
	title(w, "What the order of keys costs")
	fmt.Fprintf(w, comparisonIntro, terminal.Grouped(rows), terminal.Grouped(batch))
	fmt.Fprintf(w, "  %-34s%14s%7s%11s%7s%9s%7s\n", "key", "pages written", "×", "file", "×", "time", "×")
	if err := w.Flush(); err != nil { // show the text so far, since the measurement takes a while
		return err
	}
	var found []measurement
	for i, c := range contenders {
		m, err := c.measure(ctx, filepath.Join(folder, fmt.Sprintf("comparison%d.db", i)), rows, func(done int) {
			p.ShowAs(i*rows+done, c.name)
		})
		if err != nil {
			return err
		}
		found = append(found, m)
		base := found[byInteger]
		p.Clear()
		fmt.Fprintf(w, "  %-34s%14s%7.1f%8.1f MB%7.1f%7.2f s%7.1f\n", c.name,
			terminal.Grouped(m.pages), ratio(m.pages, base.pages),
			float64(m.bytes)/1e6, ratio(m.bytes, base.bytes), m.time.Seconds(), ratio(m.time, base.time))
		if err := w.Flush(); err != nil {
			return err
		}
	}
	fmt.Fprintln(w)
	for _, line := range terminal.Wrap(conclusion(found, rows), terminal.LineWidth) {
		fmt.Fprintln(w, line)
	}
	return w.Flush()
}

// conclusion returns a sentence on what the numbers show.
func conclusion(found []measurement, rows int) string {
	base, v4, v7, binary := found[byInteger], found[byV4], found[byV7], found[byBinaryV7]
	took := fmt.Sprintf(" In this run random keys took %.1f times as long as INTEGER, and keyfill's ordered ones %.1f times.",
		ratio(v4.time, base.time), ratio(v7.time, base.time))
	if ratio(v4.pages, v7.pages) < 2 {
		return "With so few rows the index fits into the page cache, and the order of the keys matters little: try more --rows." + took
	}
	text := fmt.Sprintf("For random keys SQLite wrote %.0f pages for each 1,000 rows, and %.0f for keyfill's ordered ones: %.0f times as many. A random key belongs anywhere in the index, a new ordered one at its end.",
		1000*ratio(v4.pages, rows), 1000*ratio(v7.pages, rows), ratio(v4.pages, v7.pages)) + took
	if ratio(v7.bytes, v4.bytes) > 0.9 && ratio(binary.bytes, v7.bytes) < 0.9 {
		text += " The order saves no space; 16 bytes in place of 36 characters do."
	}
	return text
}

// measure stores the rows in a new file. It calls show with the number of rows stored so
// far.
func (c contender) measure(ctx context.Context, path string, rows int, show func(done int)) (m measurement, err error) {
	connector, err := sqlite.NewConnector(database.FileDSN(path, comparisonPragmas...))
	if err != nil {
		return m, err
	}
	db, err := c.open(connector)
	if err != nil {
		return m, err
	}
	db.SetMaxOpenConns(1) // pagesWritten counts the pages of one connection
	_, err = db.ExecContext(ctx, "CREATE TABLE orders (id "+c.column+
		" PRIMARY KEY, customer TEXT NOT NULL, total INTEGER NOT NULL, note TEXT NOT NULL)")
	if err != nil {
		return m, errors.Join(err, db.Close())
	}
	start := time.Now()
	err = c.store(ctx, db, rows, show)
	if err == nil {
		m.pages, err = pagesWritten(ctx, db)
	}
	err = errors.Join(err, db.Close()) // Close moves the rest of the write-ahead log into the file
	m.time = time.Since(start)
	if err != nil {
		return m, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return m, err
	}
	m.bytes = info.Size()
	return m, nil
}

func (c contender) store(ctx context.Context, db *sql.DB, rows int, show func(done int)) error {
	for first := 0; first < rows; first += batch {
		// The context is checked once in each transaction. If it were passed to each
		// statement, the driver would start a goroutine for each row.
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := c.transaction(db, first, min(first+batch, rows)); err != nil {
			return err
		}
		show(min(first+batch, rows))
	}
	return nil
}

// transaction stores the rows from first to end-1 in one transaction.
func (c contender) transaction(db *sql.DB, first, end int) (err error) {
	tx, err := db.Begin()
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, tx.Rollback())
		}
	}()
	insert, err := tx.Prepare(c.query)
	if err != nil {
		return err
	}
	defer insert.Close()
	for row := first; row < end; row++ {
		args := make([]any, 0, 4)
		if c.own != nil {
			args = append(args, c.own())
		}
		args = append(args, "customer of an order", row, "some forty characters that each row holds")
		if _, err := insert.Exec(args...); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// pagesWritten returns how many pages were written over db, which has a single connection.
func pagesWritten(ctx context.Context, db *sql.DB) (n int, err error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return 0, err
	}
	err = conn.Raw(func(c any) error {
		status, ok := keyfill.Unwrap(c).(sqlite.DBStatus)
		if !ok {
			return errors.New("the SQLite driver does not count pages")
		}
		n, _, err = status.Status(sqlite.DBStatusCacheWrite, false)
		return err
	})
	return n, errors.Join(err, conn.Close())
}

// ratio returns a divided by b, or by 1 if b is smaller.
func ratio[N ~int | ~int64](a, b N) float64 { return float64(a) / float64(max(b, 1)) }
