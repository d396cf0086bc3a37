package keycolumn

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"unicode/utf8"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/store"
)

// greatestLocked holds the statements that read the greatest key of a column so that
// another transaction that reads it in the same way does not get the same key before
// this one has ended. In its texts %[1]s stands for the table, %[2]s for the column,
// and %[3]s for the question whether rows are hidden.
type greatestLocked struct {
	// lock is sent before max; it is empty if nothing is sent. If hash is set, its only
	// argument is a number that identifies the column.
	lock string
	hash bool

	max string // the query for the greatest key

	// mutex reports that max does not lock out other sessions that insert after the
	// greatest key, or into an empty table. So a row of keyfill_sequences (the mutex) is
	// changed first, and other sessions wait for that change.
	mutex bool
}

// greatestOf holds the statements of the engines, by family.
var greatestOf = map[dialect.Family]*greatestLocked{
	// SELECT … FOR UPDATE reads the last committed rows and locks the gap after the
	// greatest key. Two sessions that read it wait for each other until one is the victim
	// of a deadlock: MySQL 8.4 Reference Manual, sections 17.7.2.4 and 17.7.5. The mutex
	// row makes the second session wait before it reads.
	dialect.FamilyMySQL: {max: "SELECT MAX(%[2]s) FROM %[1]s FOR UPDATE", mutex: true},

	// PostgreSQL does not allow FOR UPDATE with an aggregate, and a row that the query had
	// waited for would no longer be the greatest one. A statement after the lock sees the
	// last committed rows under READ COMMITTED, and under the other levels only if it is
	// the first: PostgreSQL 18 documentation, sections 9.28.10 and 13.2.
	dialect.FamilyPostgreSQL: {lock: "SELECT pg_advisory_xact_lock($1)", hash: true, max: "SELECT MAX(%[2]s)%[3]s FROM %[1]s"},

	// In SQLite one connection writes at a time, so it suffices to take the lock to write.
	dialect.FamilySQLite: {lock: "UPDATE %[1]s SET %[2]s = %[2]s WHERE 0", max: "SELECT MAX(%[2]s) FROM %[1]s"},

	// SQL Server locks the end of the index until the transaction ends: Transact-SQL
	// reference, "Table hints".
	dialect.FamilySQLServer: {max: "SELECT MAX(%[2]s) FROM %[1]s WITH (UPDLOCK, HOLDLOCK)"},

	// Oracle has no locks on ranges, so the whole table is locked: Oracle SQL Language
	// Reference 23, "LOCK TABLE".
	dialect.FamilyOracle: {lock: "LOCK TABLE %[1]s IN EXCLUSIVE MODE", max: "SELECT TO_CHAR(MAX(%[2]s)) FROM %[1]s"},
}

// NeedsMutex reports whether the transaction has to change a row of keyfill_sequences
// (the mutex) before [KeyColumn.LockedMaxKey].
func NeedsMutex(d *dialect.Dialect) bool { return greatestOf[d.Family].mutex }

// MutexName returns the name of the row of keyfill_sequences that serves as the mutex
// of a column: see [NeedsMutex].
func MutexName(c store.Column) string {
	name := "maxplusone " + c.String()
	if utf8.RuneCountInString(name) <= store.MaxName {
		return name
	}
	return fmt.Sprintf("maxplusone %x", sha256.Sum256([]byte(c.String())))
}

// LockedMaxKey returns the greatest key of the column, 0 in an empty table, for a store
// of [store.Within]. Another transaction that calls it for the same column waits until
// this one has ended. Some engines also lock out sessions that insert without keyfill;
// on the others only the unique index keeps a key from being stored twice:
//
//	PostgreSQL       waits for pg_advisory_xact_lock; under REPEATABLE READ and
//	                 SERIALIZABLE it reads the rows as of the begin of the transaction
//	MySQL, MariaDB   locks the end of the index, once the mutex row of [NeedsMutex]
//	                 was changed
//	SQLite           takes the lock to write
//	SQL Server       locks the end of the index
//	Oracle           locks the table against all changes
//
// Errors are the driver's own.
func (k *KeyColumn) LockedMaxKey(ctx context.Context) (int64, error) {
	way, r := greatestOf[k.Store.Dialect.Family], k.Store
	if way.lock != "" {
		var err error
		if way.hash {
			_, err = r.Conn.Query(ctx, way.lock, []any{hashOf(k.Column)})
		} else {
			_, err = r.Conn.Exec(ctx, k.about(way.lock), nil)
		}
		if err != nil {
			return 0, err
		}
	}
	// The transaction has to be open, or the lock has no effect. If the engine can test
	// that in the query for the key, the query returns no row otherwise. On engines with a
	// mutex row, the change of that row has proven it. Elsewhere Prove asks, which may be
	// after the lock was taken, since an open transaction still holds the lock.
	text, proves := k.about(way.max), r.Proof != nil && r.Engine.Proof.Prefix != ""
	switch {
	case proves:
		text = r.Engine.Proof.Prefix + text
	case !way.mutex:
		if err := r.Proof.Prove(ctx); err != nil {
			return 0, err
		}
	}
	row, err := r.Conn.Query(ctx, text, nil)
	if err == nil && row == nil && proves {
		return 0, store.ErrEnded
	}
	if err == nil {
		k.Hidden, err = k.Store.AreHidden(row)
	}
	if err == nil {
		err = k.AllShown()
	}
	if err != nil || row == nil || row[0] == nil {
		return 0, err
	}
	key, err := store.Integer(row[0])
	return max(key, 0), err
}

// about writes the names of the table and the column, and the question whether rows are
// hidden, into a text.
func (k *KeyColumn) about(text string) string {
	return fmt.Sprintf(text, k.Table(), k.Name(), k.Store.HidesRows(k.Table()))
}

// hashOf returns the number that identifies the lock of a column. If two columns have
// the same number, their transactions wait for each other, which does no other harm.
func hashOf(c store.Column) int64 {
	sum := sha256.Sum256([]byte("keyfill maxplusone " + c.String()))
	return int64(binary.BigEndian.Uint64(sum[:8]))
}
