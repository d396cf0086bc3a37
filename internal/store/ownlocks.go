package store

import (
	"context"
	"fmt"
	"strings"

	"github.com/keyfill/keyfill/dialect"
)

// OwnLocks are locks of one transaction that other connections wait for.
type OwnLocks struct {
	Tables    bool // when they read one of the tables that were asked about
	Sequences bool // when they draw from some sequence, which the transaction may have reset
}

// Any reports whether there are any.
func (l OwnLocks) Any() bool { return l.Tables || l.Sequences }

// OwnLocks returns the locks that the transaction on the connection holds. It asks about
// the tables of columns and their partitions, and about all sequences but temporary ones.
//
// Only PostgreSQL has such locks: elsewhere a change of a table ends the transaction, or
// keyfill has no connection of its own. "Explicit Locking" and pg_locks of its manual.
func (s *Store) OwnLocks(ctx context.Context, columns []Column) (OwnLocks, error) {
	if s.Dialect.Family != dialect.FamilyPostgreSQL {
		return OwnLocks{}, nil
	}
	var names []string
	for _, c := range columns {
		names = append(names, s.Literal(c.Table))
	}
	row, err := s.Conn.Query(ctx, fmt.Sprintf(ownLocks, strings.Join(names, ", ")), nil)
	if err != nil || row == nil {
		return OwnLocks{}, err
	}
	var found [2]int64
	for i := range found {
		if found[i], err = Integer(row[i]); err != nil {
			return OwnLocks{}, err
		}
	}
	return OwnLocks{Tables: found[0] > 0, Sequences: found[1] > 0}, nil
}

const ownLocks = `SELECT COUNT(CASE WHEN c.relkind <> 'S' THEN 1 END), COUNT(CASE WHEN c.relkind = 'S' THEN 1 END)
FROM pg_catalog.pg_locks l
JOIN pg_catalog.pg_class c ON c.oid = l.relation AND c.relpersistence <> 't'
LEFT JOIN pg_catalog.pg_inherits i ON i.inhrelid = c.oid
LEFT JOIN pg_catalog.pg_class p ON p.oid = i.inhparent
WHERE l.locktype = 'relation' AND l.pid = pg_catalog.pg_backend_pid() AND l.granted
AND CASE c.relkind WHEN 'S' THEN l.mode IN ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
ELSE l.mode = 'AccessExclusiveLock' AND (c.relname IN (%[1]s) OR p.relname IN (%[1]s)) END`
