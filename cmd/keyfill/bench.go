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
	"github.com/keyfill/keyfill/cmd/keyfill/internal/bench"
	"github.com/keyfill/keyfill/cmd/keyfill/internal/database"
	"github.com/keyfill/keyfill/cmd/keyfill/internal/terminal"
	"github.com/keyfill/keyfill/cmd/keyfill/internal/usage"
	"github.com/keyfill/keyfill/internal/sqlcode"
)

// benchFlags are the flags of keyfill bench.
type benchFlags struct {
	database database.Address
	bench.Options
	page        string
	asJSON, yes bool
}

// The upper limits of the flags --rows and --max-rows, --rounds, and --connections.
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
docs/bench.md says what it measures, and how to read it.`,
		Example: `  keyfill bench --driver sqlite --dsn bench.db --rows 2000 --rounds 1 --time 0`,
		Args:    arguments(cobra.NoArgs),
		RunE:    func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	flags := cmd.Flags()
	addDatabase(cmd, &f.database)
	flags.IntVar(&f.Rows, "rows", 100_000, "rows that each layout stores")
	flags.IntVar(&f.Rounds, "rounds", 3, "how often each is measured")
	flags.DurationVar(&f.Time, "time", time.Second, "how long each way inserts; 0: leave it out")
	flags.IntVar(&f.MaxRows, "max-rows", 100_000, "rows that each way stores at most")
	flags.IntSliceVar(&f.Connections, "connections", []int{1, 4, 8}, "over how many connections")
	flags.StringVar(&f.page, "html", "", "write a page with charts into the `file`")
	flags.BoolVar(&f.asJSON, "json", false, "print JSON")
	flags.BoolVar(&f.yes, "yes", false, "do not ask")
	return cmd
}

// check returns an error if a flag is out of its range.
func (f *benchFlags) check() error {
	switch {
	case !slices.Contains([]string{"sqlite", "mysql", "pgx", "postgres"}, f.database.Driver):
		return usage.Errorf("say --driver, one of sqlite, mysql, pgx and postgres")
	case f.Rows < 4 || f.Rows > mostBenchRows:
		return usage.Errorf("--rows %d: give a number from 4 to %d", f.Rows, mostBenchRows)
	case f.MaxRows < 1 || f.MaxRows > mostBenchRows:
		return usage.Errorf("--max-rows %d: give a number from 1 to %d", f.MaxRows, mostBenchRows)
	case f.Rounds < 1 || f.Rounds > mostBenchRounds:
		return usage.Errorf("--rounds %d: give a number from 1 to %d", f.Rounds, mostBenchRounds)
	case f.Time < 0 || f.Time > time.Hour:
		return usage.Errorf("--time %v: give a time from 0 to 1h", f.Time)
	case len(f.Connections) == 0:
		return usage.Errorf("--connections: give numbers such as 1,4,8")
	}
	for _, n := range f.Connections {
		if n < 1 || n > mostBenchConnections {
			return usage.Errorf("--connections %d: give numbers from 1 to %d", n, mostBenchConnections)
		}
	}
	slices.Sort(f.Connections)
	f.Connections = slices.Compact(f.Connections)
	return nil
}

func (f *benchFlags) run(cmd *cobra.Command) (err error) {
	if err := f.check(); err != nil {
		return err
	}
	page, err := bench.NewPageFile(f.page)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, page.Discard()) }()
	// An interrupt ends the measurement, and its tables are still dropped. A second
	// interrupt ends the program at once.
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	report, err := f.measure(ctx, cmd)
	if err != nil {
		return benchError(err)
	}
	if err := page.Write(report); err != nil {
		return err
	}
	out := bufio.NewWriter(cmd.OutOrStdout())
	if f.asJSON {
		err = report.WriteJSON(out)
	} else {
		report.WriteText(out)
	}
	return errors.Join(err, out.Flush())
}

// measure opens the database and runs the whole measurement.
func (f *benchFlags) measure(ctx context.Context, cmd *cobra.Command) (r *bench.Report, err error) {
	db, d, err := f.database.Connect(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	dsn, _, err := f.database.DataSource()
	if err != nil {
		return nil, err
	}
	tables, err := bench.OpenScratch(ctx, db, d)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, tables.Close()) }()
	if !f.yes {
		if err := f.ask(ctx, cmd, tables); err != nil {
			return nil, err
		}
	}
	f.Driver = f.database.Driver
	return bench.Measure(ctx, tables, database.NewConnector(db.Driver(), dsn), &f.Options, cmd.ErrOrStderr())
}

// errNotConfirmed is returned if the user does not answer yes.
var errNotConfirmed = errors.New("nothing was measured: say --yes to measure on a database that has rows")

// ask asks the user whether to measure, if a table of the database has rows. It returns an
// error unless the answer is yes.
func (f *benchFlags) ask(ctx context.Context, cmd *cobra.Command, tables *bench.Scratch) error {
	name, err := tables.Used(ctx)
	if err != nil || name == "" {
		return err
	}
	if !terminal.Is(cmd.InOrStdin()) {
		return fmt.Errorf("the database has tables with rows, such as %s: say --yes to measure on it nevertheless", name)
	}
	fmt.Fprintf(cmd.ErrOrStderr(), `The database has tables with rows, such as %s. keyfill bench does not touch them. It
stores up to %s rows at a time in tables of its own, which it drops, and keeps the
server busy meanwhile. Go on? [y/N] `, name, terminal.Grouped(max(f.Rows, f.MaxRows)))
	return confirmed(cmd.InOrStdin())
}

// confirmed reads the user's answer, and returns errNotConfirmed unless it is yes.
func confirmed(in io.Reader) error {
	line, _ := bufio.NewReader(in).ReadString('\n') // without an answer the line is empty, and confirms nothing
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes":
		return nil
	}
	return errNotConfirmed
}

// benchError returns err if it may be shown. If err means that the connection was lost,
// benchError returns another error: the message of a driver may then contain the host, the
// user and more of the DSN.
func benchError(err error) error {
	var ours *keyfill.Error
	if errors.As(err, &ours) || sqlcode.Answered(err) || !sqlcode.IsNetwork(err) {
		return err
	}
	return sqlcode.Connecting(err)
}
