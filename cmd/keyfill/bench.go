package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/internal/sqlcode"
)

// benchFlags are the flags of keyfill bench.
type benchFlags struct {
	database databaseFlags
	benchOptions
	page        string
	asJSON, yes bool
}

// The most that a measurement may be asked for.
const (
	mostBenchRows        = 10_000_000
	mostBenchRounds      = 50
	mostBenchConnections = 256
)

func newBench() *cobra.Command {
	var f benchFlags
	cmd := &cobra.Command{
		Use:   "bench --driver DRIVER --dsn DSN",
		Short: "Measure which key is fastest on your database",
		Long: `Stores rows in tables of its own under each kind of key, and compares with the
engine's own key. It drops the tables, also after an error or Ctrl-C; what a killed
run has left, the next one drops. Where a table of yours has rows it asks.
docs/bench.md tells what it measures, and how to read it.`,
		Example: `  keyfill bench --driver sqlite --dsn bench.db --rows 2000 --rounds 1 --time 0`,
		Args:    arguments(cobra.NoArgs),
		RunE:    func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	flags := cmd.Flags()
	addDatabase(cmd, &f.database)
	flags.IntVar(&f.rows, "rows", 100_000, "rows that each layout stores")
	flags.IntVar(&f.rounds, "rounds", 3, "how often each is measured")
	flags.DurationVar(&f.time, "time", time.Second, "how long each way inserts; 0: leave it out")
	flags.IntVar(&f.maxRows, "max-rows", 100_000, "rows that each way stores at most")
	flags.IntSliceVar(&f.connections, "connections", []int{1, 4, 8}, "over how many connections")
	flags.StringVar(&f.page, "html", "", "write a page with charts into the `file`")
	flags.BoolVar(&f.asJSON, "json", false, "print JSON")
	flags.BoolVar(&f.yes, "yes", false, "do not ask")
	return cmd
}

// check looks at the flags.
func (f *benchFlags) check() error {
	switch {
	case !slices.Contains([]string{"sqlite", "mysql", "pgx", "postgres"}, f.database.driver):
		return usagef("say --driver, one of sqlite, mysql, pgx and postgres")
	case f.rows < 4 || f.rows > mostBenchRows:
		return usagef("--rows %d: give a number from 4 to %d", f.rows, mostBenchRows)
	case f.maxRows < 1 || f.maxRows > mostBenchRows:
		return usagef("--max-rows %d: give a number from 1 to %d", f.maxRows, mostBenchRows)
	case f.rounds < 1 || f.rounds > mostBenchRounds:
		return usagef("--rounds %d: give a number from 1 to %d", f.rounds, mostBenchRounds)
	case f.time < 0 || f.time > time.Hour:
		return usagef("--time %v: give a time from 0 to 1h", f.time)
	case len(f.connections) == 0:
		return usagef("--connections: give numbers such as 1,4,8")
	}
	for _, n := range f.connections {
		if n < 1 || n > mostBenchConnections {
			return usagef("--connections %d: give numbers from 1 to %d", n, mostBenchConnections)
		}
	}
	slices.Sort(f.connections)
	f.connections = slices.Compact(f.connections)
	return nil
}

func (f *benchFlags) run(cmd *cobra.Command) (err error) {
	if err := f.check(); err != nil {
		return err
	}
	page, err := newPageFile(f.page)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, page.discard()) }()
	// The tables are dropped after an interrupt too; a second one ends the program.
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	report, err := f.measure(ctx, cmd)
	if err != nil {
		return benchError(err)
	}
	if err := page.write(report); err != nil {
		return err
	}
	out := bufio.NewWriter(cmd.OutOrStdout())
	if f.asJSON {
		err = report.writeJSON(out)
	} else {
		report.writeText(out)
	}
	return errors.Join(err, out.Flush())
}

// measure opens the database and measures all of it.
func (f *benchFlags) measure(ctx context.Context, cmd *cobra.Command) (r *benchReport, err error) {
	db, d, err := f.database.connect(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	dsn, _, err := f.database.dataSource()
	if err != nil {
		return nil, err
	}
	tables, err := openScratch(ctx, db, d)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, tables.close()) }()
	if !f.yes {
		if err := f.ask(ctx, cmd, tables); err != nil {
			return nil, err
		}
	}
	f.driver = f.database.driver
	return measureKeys(ctx, tables, newPlainConnector(db.Driver(), dsn), &f.benchOptions, cmd.ErrOrStderr())
}

// errNotConfirmed is returned where the user has not said yes.
var errNotConfirmed = errors.New("nothing was measured: say --yes to measure on a database that has rows")

// ask asks whether to measure on a database whose tables have rows.
func (f *benchFlags) ask(ctx context.Context, cmd *cobra.Command, tables *scratch) error {
	name, err := tables.used(ctx)
	if err != nil || name == "" {
		return err
	}
	if !isTerminal(cmd.InOrStdin()) {
		return fmt.Errorf("the database has tables with rows, such as %s: say --yes to measure on it nevertheless", name)
	}
	fmt.Fprintf(cmd.ErrOrStderr(), `The database has tables with rows, such as %s. keyfill bench does not touch them. It
stores up to %s rows at a time in tables of its own, which it drops, and keeps the
server busy meanwhile. Go on? [y/N] `, name, grouped(max(f.rows, f.maxRows)))
	return confirmed(cmd.InOrStdin())
}

// confirmed reads the answer.
func confirmed(in io.Reader) error {
	line, _ := bufio.NewReader(in).ReadString('\n') // the end of the input is no yes
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes":
		return nil
	}
	return errNotConfirmed
}

// benchError returns an error as it may be shown: a driver that lost its connection
// may name the host, the user and more of the DSN.
func benchError(err error) error {
	var ours *keyfill.Error
	if errors.As(err, &ours) || sqlcode.Answered(err) || !sqlcode.IsNetwork(err) {
		return err
	}
	return sqlcode.Connecting(err)
}
