package keyfill

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/check"
	"github.com/keyfill/keyfill/internal/fill"
	"github.com/keyfill/keyfill/internal/keys/numbering"
	"github.com/keyfill/keyfill/internal/keys/report"
	"github.com/keyfill/keyfill/policy"
)

// Finding is one thing that [Mount.Check] has found. As JSON it has the fields of a line
// of "keyfill check --json".
type Finding struct {
	Severity string `json:"severity"` // "error", "warning" or "info"
	Rule     string `json:"rule"`     // the name of the rule in docs/check.md, such as "no-table"
	Table    string `json:"table"`    // empty if no table is concerned
	Column   string `json:"column"`   // empty if no column is concerned
	Line     int    `json:"line"`     // the line of the policy's file, from 1; 0 if it is not known, or no line is concerned
	Message  string `json:"message"`  // what is wrong, and why it matters
	Remedy   string `json:"remedy"`   // SQL that ends in a semicolon, or what to change in the policy

	// Class is the effect on the first INSERT that keyfill is to fill: "first-insert": it
	// fails; "some-inserts": the first INSERT works, but later INSERTs may fail, or store a
	// wrong key, a key twice or no key; "later": an INSERT will fail one day; "unknown": the
	// check cannot find out; "note": it works.
	Class string `json:"class"`
}

// ErrCheck is returned by [Mount.Check] if the database cannot be read.
var ErrCheck = check.ErrLook

// Check compares the policy with the database, and returns the faults that it finds,
// the worst first; nil if there are none. It reads the catalog of the engine, the
// states of the sources and settings of the server, on at most two connections of its
// own, and changes nothing. The number of its statements does not depend on how many
// tables there are, but it takes some for each key with a state. No finding holds a
// DSN, a password or a key. docs/check.md lists the rules.
//
// A program calls Check at its start or for a health endpoint. With "check: start" in
// the policy, keyfill does so and logs the findings.
//
// It fails with [ErrCheck] when the database does not answer, with [ErrOwnMemory] for a
// database in memory, with [ErrNotOne] on the mount of a registered name unless one
// database is open, and with the error of ctx.
func (m *Mount) Check(ctx context.Context) ([]Finding, error) {
	all, _ := m.databases()
	if len(all) != 1 {
		return nil, ErrNotOne
	}
	return checkDatabase(ctx, all[0], nil)
}

// checkDatabase runs the check of a database, on conn if that is not nil.
func checkDatabase(ctx context.Context, db *fill.Database, conn driver.Conn) ([]Finding, error) {
	found, err := check.Run(ctx, check.Options{Tables: db.Tables, Connector: db.OwnConnector(), Conn: conn, Rate: rateOf(db)})
	switch {
	case errors.Is(err, check.ErrMemory):
		return nil, ErrOwnMemory
	case err != nil:
		return nil, anchor.Lastf("check", "keyfill: %w", err)
	}
	var findings []Finding
	for _, f := range found {
		findings = append(findings, Finding(f))
	}
	return findings, nil
}

// rateOf returns the rates at which this process stores rows, by the entries of the policy.
func rateOf(db *fill.Database) func(entry string) float64 {
	rates := map[string]float64{}
	for _, s := range sourcesOf([]*fill.Database{db}, numbering.PastSources{}) {
		for _, entry := range s.Tables {
			rates[entry] += s.PerSecond / float64(max(s.States, 1)*len(s.Tables))
		}
	}
	return func(entry string) float64 { return rates[entry] }
}

// startCheck is the check that the first connection of a database begins, if the policy
// asks for it.
type startCheck struct {
	wanted bool

	once   sync.Once
	cancel context.CancelFunc
	ended  chan struct{}
}

// begin runs the check, unless it has run already, and logs its findings. On an engine that
// allows one writer at a time (SQLite) it uses the connection itself, which has not been
// used yet, because a second connection could block the application's writes. On any other
// engine it runs in the background. No failure of the check fails the connection.
func (s *startCheck) begin(ctx context.Context, db *fill.Database, g *fill.Conn) {
	if !s.wanted || policy.Mode(db.Mode.Load()) == policy.ModeOff {
		return
	}
	s.once.Do(func() {
		if db.StatesOnConnection() {
			logCheck(ctx, db, g.Own())
			return
		}
		// ctx ends with the statement that has opened the connection, so the check gets
		// its own.
		ctx, s.cancel = context.WithCancel(context.WithoutCancel(ctx))
		s.ended = make(chan struct{})
		go func() {
			defer close(s.ended)
			logCheck(ctx, db, nil)
		}()
	})
}

// wantsCheck reports whether the database is checked at its start, as the policy or
// $KEYFILL_MODE says.
func wantsCheck(db *fill.Database) bool {
	mode := policy.Mode(db.Mode.Load())
	return !db.HasStandIn() && (mode == policy.ModeDryRun || mode == policy.ModeFill && db.Config().Check == policy.CheckStart)
}

// end stops the check and waits for it.
func (s *startCheck) end() {
	s.once.Do(func() {}) // use up once, so that no check begins after this
	if s.cancel != nil {
		s.cancel()
		<-s.ended
	}
}

// logCheck runs a check and logs its findings. If the driver panics, only the check
// ends: the application has not asked for it.
func logCheck(ctx context.Context, db *fill.Database, conn driver.Conn) {
	defer func() {
		if p := recover(); p != nil {
			db.Log.Write(ctx, report.MessageUnchecked, fmt.Sprint("panic: ", p))
		}
	}()
	findings, err := checkDatabase(ctx, db, conn)
	if err != nil {
		if ctx.Err() == nil {
			db.Log.Write(ctx, report.MessageUnchecked, err.Error())
		}
		return
	}
	levels := map[string]slog.Level{check.Error: slog.LevelError, check.Warning: slog.LevelWarn, check.Info: slog.LevelInfo}
	for _, f := range findings {
		db.Log.WriteAt(ctx, levels[f.Severity], report.MessageFinding, f.Message, f.Rule, f.Table, f.Column, f.Line, f.Remedy)
	}
}
