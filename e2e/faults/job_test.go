package faults_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// The tests of faults need processes that can be killed. They start this test
// binary again, which then does a job instead of running tests: see TestMain.

// jobVariable is the environment variable that holds a job.
const jobVariable = "KEYFILL_E2E_JOB"

// job says what a process does: insert into the table t by several connections
// until its standard input ends, which it also does when the process that has
// started it is gone.
type job struct {
	Engine string // the name of one of engines
	DSN    string
	Source policy.Source           // of t.id
	Form   form                    // of its keys
	Stores map[string]policy.Store // that Source may name
	Log    string                  // the file of its journal

	Number int64         // of the process, counted from 1: part of the statements' numbers
	Hands  int           // connections
	Ahead  time.Duration // by which its clock is ahead of the machine's
	Clock  string        // the file by which its clock is moved, instead: see processClock

	Patience time.Duration // of a step; 0 is jobPatience
	Pause    time.Duration // after each step
	Crosses  bool          // transactions lock the rows of crossing, too
	Single   bool          // no statement has several rows

	// Rows makes statements of that many rows only, Statements of them by each
	// connection; then the process ends. 0: all forms, until it is ended.
	Rows, Statements int
}

const (
	// jobPatience bounds a step of a job that says nothing else.
	jobPatience = time.Minute

	// leisure is the Pause of processes in a test that waits for something else: without
	// one they take all of the machine meanwhile.
	leisure = 4 * time.Millisecond

	// jobPause follows a step that has failed: a store or a server that is down
	// is not to be run at.
	jobPause = 20 * time.Millisecond
)

// do does a job and returns the process's exit code.
func do(text string) int {
	// What a process prints is a fault: of its log that is an error alone.
	slog.SetDefault(slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})))
	var j job
	err := json.Unmarshal([]byte(text), &j)
	if err == nil {
		err = j.run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func (j *job) run() error {
	log, err := openJournal(j.Log)
	if err != nil {
		return err
	}
	e, db, err := j.open()
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // whatever ends it
		stop()
	}()
	var wg sync.WaitGroup
	for i := range j.Hands {
		h := newHand(e, db, log, j, j.Number<<28|int64(i)<<24)
		wg.Go(func() {
			if j.Rows > 0 {
				h.fill(ctx, j.Rows, j.Statements)
				return
			}
			for ctx.Err() == nil {
				h.step()
				time.Sleep(j.Pause)
			}
		})
	}
	wg.Wait()
	stop()
	if err := db.Close(); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		// An idle connection may have been cut, too. That a store is slow is no fault.
		log.fail(err)
	}
	return log.Close()
}

// open opens the job's database through keyfill.
func (j *job) open() (harness.Engine, *sql.DB, error) {
	engines := harness.InVersions(harness.Engines)
	i := slices.IndexFunc(engines, func(e harness.Engine) bool { return e.Name == j.Engine })
	if i < 0 {
		return harness.Engine{}, nil, fmt.Errorf("no engine %q", j.Engine)
	}
	connector, err := harness.NewConnector(engines[i].Driver, j.DSN)
	if err != nil {
		return harness.Engine{}, nil, err
	}
	cfg := harness.FillID("t", policy.Table{InPlace: &j.Source})
	cfg.Dialect, cfg.Stores = engines[i].Dialect.Name, j.Stores
	if j.Patience == 0 {
		cfg.StoreWait = jobPatience // the default may pass on a busy machine
	}
	options := keyfill.Options{Policy: cfg}
	if j.Ahead != 0 {
		options.Now = func() time.Time { return time.Now().Add(j.Ahead) }
	}
	if j.Clock != "" {
		processClock, options.Now = j.Clock, movedNow
	}
	db, err := keyfill.OpenDB(connector, options)
	if err != nil {
		return harness.Engine{}, nil, err
	}
	db.SetMaxOpenConns(j.Hands)
	db.SetMaxIdleConns(j.Hands)
	return engines[i], db, nil
}
