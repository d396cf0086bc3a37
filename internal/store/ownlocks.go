package store

import (
	"context"
	"fmt"
	"strings"
)

// OwnLocks reports which locks one transaction holds that other connections wait for.
type OwnLocks struct {
	Tables    bool // locks that block reads of the tables that were asked about
	Sequences bool // locks that block draws from a sequence, which the transaction may have reset
}

// Any reports whether the transaction holds locks that other connections wait for.
func (l OwnLocks) Any() bool { return l.Tables || l.Sequences }

// OwnLocks returns which locks the transaction on the connection holds. It asks about
// the tables of columns and their partitions, and about all sequences except temporary
// ones.
//
// Only PostgreSQL has such locks: on other engines a change of a table ends the
// transaction, or keyfill has no connection of its own. See "Explicit Locking" and
// pg_locks in its manual.
func (s *Store) OwnLocks(ctx context.Context, columns []Column) (OwnLocks, error) {
	if s.Engine.Locks.OwnLocks == "" {
		return OwnLocks{}, nil
	}
	var names []string
	for _, c := range columns {
		names = append(names, s.Literal(c.Table))
	}
	row, err := s.Conn.Query(ctx, fmt.Sprintf(s.Engine.Locks.OwnLocks, strings.Join(names, ", ")), nil)
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
