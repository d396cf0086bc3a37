package stores_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	_ "github.com/keyfill/keyfill/keyfilletcd"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// podVariable is the environment variable that holds a pod as JSON.
const podVariable = "KEYFILL_E2E_POD"

// pod is what a process of an application does: it opens databases through keyfill and
// draws a key of the table t in each, again and again. It ends as a program in a pod does:
// SIGTERM lets it close its databases. So does the end of its standard input, which comes
// when the test is gone.
type pod struct {
	Driver, DSN string
	Policy      string        // the text of the policy
	Mounts      int           // databases
	Pause       time.Duration // after each key
	Journal     string        // the file to which each key is written
	Host        string        // the name that the process gives its host; may be empty
}

// errorPause follows a key that was not drawn.
const errorPause = 300 * time.Millisecond

// runPod does what a pod does, and returns the exit code of the process.
func runPod(text string) int {
	slog.SetDefault(slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})))
	var p pod
	err := json.Unmarshal([]byte(text), &p)
	if err == nil {
		err = p.run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func (p *pod) run() error {
	if p.Host != "" {
		if err := syscall.Sethostname([]byte(p.Host)); err != nil {
			return err
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // whatever ends it
		stop()
	}()
	cfg, err := policy.Parse([]byte(p.Policy))
	if err != nil {
		return err
	}
	journal, err := os.OpenFile(p.Journal, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer journal.Close()
	errs := make([]error, p.Mounts)
	var all sync.WaitGroup
	for i := range p.Mounts {
		all.Go(func() { errs[i] = p.mount(ctx, cfg, journal, i) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// mount opens one database, draws keys until the context has ended, and closes it.
func (p *pod) mount(ctx context.Context, cfg *policy.Config, journal io.Writer, number int) error {
	connector, err := harness.NewConnector(p.Driver, p.DSN)
	if err != nil {
		return err
	}
	db, err := keyfill.OpenDB(connector, keyfill.Options{Policy: cfg})
	if err != nil {
		return err
	}
	m, err := keyfill.From(db)
	if err != nil {
		return errors.Join(err, db.Close())
	}
	for ctx.Err() == nil {
		one := draw{mount: number}
		began := time.Now()
		one.key, err = m.Reserve(ctx, "t", 1)
		one.at = time.Now()
		one.waited = one.at.Sub(began)
		pause := p.Pause
		switch {
		case ctx.Err() != nil && err != nil:
			return end(db, journal, number)
		case errors.Is(err, keysource.ErrWorkerTaken):
			one.failed, pause = noNumber, errorPause
		case err != nil:
			one.failed, pause = strings.ReplaceAll(err.Error(), "\n", " "), errorPause
		default:
			one.lost = m.Sources()[0].LeasesLost
		}
		if _, err := io.WriteString(journal, one.line()); err != nil {
			return errors.Join(err, db.Close())
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
	return end(db, journal, number)
}

// end closes a database, and writes how long that took. It is no fault that a store is too
// slow to take a lease back, which then runs out.
func end(db *sql.DB, journal io.Writer, number int) error {
	began := time.Now()
	err := db.Close()
	if errors.Is(err, context.DeadlineExceeded) {
		err = nil
	}
	last := draw{mount: number, at: time.Now(), waited: time.Since(began), failed: closed}
	_, noted := io.WriteString(journal, last.line())
	return errors.Join(err, noted)
}
