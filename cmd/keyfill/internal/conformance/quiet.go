package conformance

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/keyfill/keyfill/internal/anchor"
)

// Notices returns what could notice a run on the server: sessions, replicas and
// publications, or that this user cannot see them. It is empty on SQLite.
func notices(ctx context.Context, t Target) (all []string, err error) {
	outer, err := t.outside()
	if err != nil || outer == nil {
		return nil, err
	}
	defer outer.Close()
	outer.SetMaxOpenConns(1) // a second session of its own would be counted
	if err := outer.PingContext(ctx); err != nil {
		return nil, err
	}
	for _, n := range engines[t.Dialect.Family].noticed {
		if n.only != "" && n.only != t.Dialect.Name {
			continue
		}
		var count int64
		switch err := outer.QueryRowContext(ctx, n.query).Scan(&count); {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil:
			all = append(all, fmt.Sprintf("the question whether %s got no answer (%s)", n.what, seenError(err)))
		case n.what == notSeen && count > 0:
			all = append(all, "this user may not see other sessions")
		case count > 0:
			all = append(all, fmt.Sprintf("%s (%d)", n.what, count))
		}
	}
	return all, nil
}

// errShared returns the error for what could notice a run.
func errShared(all []string) error {
	return anchor.Lastf("command", "the server is not the run's alone (%s): take another server, or say --shared", strings.Join(all, "; "))
}

// errPooler is returned if a connection pooler is between the program and the server.
var errPooler = anchor.New("command", "a pooler gives one session of the server to several connections, so that others could write to the run's schema: name the server itself in the DSN")

// poolerRounds is how often two connections are asked in turn: an idle pooler gives both
// of them the same session in the first round, a busy one maybe later.
const poolerRounds = 4

// checkPooler returns errPooler if two connections are served by one session of the
// server, or one connection by two.
func checkPooler(ctx context.Context, t Target) error {
	query := engines[t.Dialect.Family].session
	if query == "" {
		return nil
	}
	outer, err := t.outside()
	if err != nil {
		return err
	}
	defer outer.Close()
	var conns [2]*sql.Conn
	var seen [2][]int64
	for i := range conns {
		if conns[i], err = outer.Conn(ctx); err != nil {
			return err
		}
		defer conns[i].Close()
	}
	for range poolerRounds {
		for i, c := range conns {
			var id int64
			if err := c.QueryRowContext(ctx, query).Scan(&id); err != nil {
				return err
			}
			if id <= 0 {
				return nil // the server does not number its sessions
			}
			if seen[i] = append(seen[i], id); seen[i][0] != id || slices.Contains(seen[1-i], id) {
				return errPooler
			}
		}
	}
	return nil
}
