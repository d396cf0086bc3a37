package conformance

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/drivers"
	"github.com/keyfill/keyfill/internal/sqlcode"
	"github.com/keyfill/keyfill/policy"
)

// Options are the settings of a run.
type Options struct {
	Rows   int    // how many keys of each layout are made, at least 100
	Rate   int    // how many rows a second are stored at most
	Shared bool   // whether to begin although others may notice the run
	By     string // the name of the person or program that runs it, for the report

	// Only holds the beginnings of the names of the claims to try; nil means all. The
	// report has no other ones.
	Only []string

	// Child returns the command of a process that calls [Child] with its standard input
	// and output. If it is nil, the claim about several processes is not tried.
	Child func(context.Context) *exec.Cmd

	// Out gets a line for each claim, and what has to be done after a failure. These lines
	// may name schemas, and repeat the texts of the server's errors.
	Out io.Writer
}

// run is a run at work.
type run struct {
	target  Target
	options Options
	place   *place
	engine  *engine
	db      *sql.DB // in the schema, without keyfill
	rate    *rate
	tables  int    // how many names of tables were taken
	server  string // its version, in its own words
}

// Run tries the claims of the server's engine, in a schema of its own, which it drops.
func Run(ctx context.Context, t Target, o Options) (*Report, error) {
	left, err := Leftovers(ctx, t)
	if err != nil {
		return nil, err
	}
	for _, name := range left {
		fmt.Fprintf(o.Out, "%s is there, of a run that was killed or is at work: --drop %s drops it\n", name, name)
	}
	if !o.Shared {
		all, err := notices(ctx, t)
		if err == nil && len(all) > 0 {
			err = errShared(all)
		}
		if err != nil {
			return nil, err
		}
	}
	if err := checkPooler(ctx, t); err != nil {
		return nil, err
	}
	return runAt(ctx, t, o, newName())
}

// runAt is Run in a schema of the given name.
func runAt(ctx context.Context, t Target, o Options, name string) (report *Report, err error) {
	p, err := makePlace(ctx, t, name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.close(o.Out)) }()
	r := &run{target: t, options: o, place: p, engine: p.engine, rate: newRate(o.Rate)}
	c, err := p.inside()
	if err != nil {
		return nil, err
	}
	r.db = sql.OpenDB(c)
	defer func() { err = errors.Join(err, r.db.Close()) }()
	return r.all(ctx)
}

// all tries each claim.
func (r *run) all(ctx context.Context) (*Report, error) {
	begun := time.Now()
	report, err := r.newReport(ctx)
	if err != nil {
		return nil, err
	}
	for _, c := range claimsOf(r.target.Dialect) {
		if !r.options.wants(c.name) {
			continue
		}
		said := Claim{Name: c.name, Says: c.says}
		o, err := c.try(ctx, r)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil:
			fmt.Fprintf(r.options.Out, "%s: %v\n", c.name, err)
			o = refused("an error: %s", seenError(err))
		}
		said.Result, said.Rows, said.Seen = o.verdict, o.rows, o.seen
		report.Claims = append(report.Claims, said)
		fmt.Fprintf(r.options.Out, "%-9s %s\n", said.Result, said.Name)
	}
	report.Seconds = float64(time.Since(begun).Milliseconds()) / 1000
	return report, nil
}

func (o *Options) wants(name string) bool {
	for _, only := range o.Only {
		if strings.HasPrefix(name, only) {
			return true
		}
	}
	return len(o.Only) == 0
}

// newReport returns the report before the first claim.
func (r *run) newReport(ctx context.Context) (*Report, error) {
	report := &Report{
		Keyfill: "(devel)", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
		Engine: r.target.Dialect.Name, Driver: r.target.Name, By: r.options.By,
		Time:   time.Now().UTC().Truncate(time.Second),
		Flags:  Flags{Rows: r.options.Rows, Rate: r.options.Rate, Shared: r.options.Shared},
		Claims: []Claim{},
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		if info.Main.Version != "" {
			report.Keyfill = info.Main.Version
		}
		for _, s := range info.Settings {
			switch {
			case s.Key == "vcs.revision":
				report.Commit = s.Value
			case s.Key == "vcs.modified" && s.Value == "true":
				report.Commit += " and changes"
			}
		}
		path := drivers.PackagePath(r.target.Driver)
		for _, module := range info.Deps {
			if path == module.Path || strings.HasPrefix(path, module.Path+"/") {
				report.DriverVersion = module.Path + " " + module.Version
			}
		}
	}
	err := r.db.QueryRowContext(ctx, r.engine.version).Scan(&report.Server)
	report.Server, _, _ = strings.Cut(report.Server, "\n")
	r.server = report.Server
	return report, err
}

// open opens the schema through keyfill.
func (r *run) open(tables map[string]policy.Table, change ...func(*keyfill.Options)) (*sql.DB, error) {
	c, err := r.place.inside()
	if err != nil {
		return nil, err
	}
	return openFilled(c, r.target, tables, change...)
}

// openFilled opens a database through keyfill, whatever $KEYFILL_MODE says.
func openFilled(c driver.Connector, t Target, tables map[string]policy.Table, change ...func(*keyfill.Options)) (*sql.DB, error) {
	o := keyfill.Options{
		Policy: &policy.Config{Dialect: t.Dialect.Name, Tables: tables, StoreWait: maxWait},
		Logger: slog.New(slog.DiscardHandler),
	}
	for _, f := range change {
		f(&o)
	}
	db, err := keyfill.OpenDB(c, o)
	if err != nil {
		return nil, err
	}
	mount, err := keyfill.From(db)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	mount.SetMode(policy.ModeFill)
	return db, nil
}

// exec executes statements without keyfill.
func (r *run) exec(ctx context.Context, statements ...string) error {
	for _, s := range statements {
		if _, err := r.db.ExecContext(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// number returns the only value of a query without keyfill.
func (r *run) number(ctx context.Context, query string, args ...any) (n int64, err error) {
	err = r.db.QueryRowContext(ctx, r.target.bind(query), args...).Scan(&n)
	return n, err
}

// outcome is the result of trying a claim.
type outcome struct {
	verdict Verdict
	rows    int64
	seen    string
}

func shown(rows int64) outcome { return outcome{verdict: Shown, rows: rows} }

func refused(format string, args ...any) outcome {
	return outcome{verdict: Refused, seen: fmt.Sprintf(format, args...)}
}

func notTried(why string) outcome { return outcome{verdict: NotTried, seen: why} }

// seenError returns what a report says of an error: the server's code, or the section of
// docs/errors.md. Texts are left out, since they may name a user, a host or a server.
func seenError(err error) string {
	if code, ok := sqlcode.Of(err); ok {
		return "the server's " + code.String()
	}
	if sqlcode.IsNetwork(err) {
		return "the connection broke"
	}
	if section := anchor.Of(err); section != "" {
		return "keyfill's, docs/errors.md#" + section
	}
	return "one without a code of the server"
}
