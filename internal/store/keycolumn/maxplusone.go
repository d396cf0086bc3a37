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

// greatestLocked is how the greatest key of a column is read so that no other transaction
// that reads it in the same way gets the same key before this one has ended. In its texts
// %[1]s stands for the table, %[2]s for the column, and %[3]s for whether rows are
// hidden.
type greatestLocked struct {
	// lock is sent before; empty if nothing is sent. Its only argument is a number that
	// stands for the column, if hash is set.
	lock string
	hash bool

	max string // gives the greatest key

	// mutex reports that the query does not lock out other sessions that insert after the
	// greatest key, or into an empty table. A row of keyfill_sequences is changed first,
	// and other sessions wait for that change.
	mutex bool
}

// greatestOf are the ways of all engines, by the dialect's name.
var greatestOf = map[string]*greatestLocked{
	// SELECT … FOR UPDATE reads the last committed rows, and locks the gap after the
	// greatest key, so that two sessions that read it wait for each other until one is
	// the victim of a deadlock: MySQL 8.4 Reference Manual, sections 17.7.2.4 and 17.7.5.
	// The row keeps them apart.
	dialect.MySQL().Name:   {max: "SELECT MAX(%[2]s) FROM %[1]s FOR UPDATE", mutex: true},
	dialect.MariaDB().Name: {max: "SELECT MAX(%[2]s) FROM %[1]s FOR UPDATE", mutex: true},

	// FOR UPDATE is not allowed with an aggregate, and a row that it waited for is not
	// the greatest any more. A statement after the lock sees the last committed rows
	// under READ COMMITTED, and under the other levels if it is the first: PostgreSQL 18
	// documentation, sections 9.28.10 and 13.2.
	dialect.PostgreSQL().Name: {lock: "SELECT pg_advisory_xact_lock($1)", hash: true, max: "SELECT MAX(%[2]s)%[3]s FROM %[1]s"},

	// One connection writes at a time.
	dialect.SQLite().Name: {lock: "UPDATE %[1]s SET %[2]s = %[2]s WHERE 0", max: "SELECT MAX(%[2]s) FROM %[1]s"},

	// The end of the index is locked until the transaction ends: Transact-SQL
	// reference, "Table hints".
	dialect.SQLServer().Name: {max: "SELECT MAX(%[2]s) FROM %[1]s WITH (UPDLOCK, HOLDLOCK)"},

	// There are no locks on ranges: Oracle SQL Language Reference 23, "LOCK TABLE".
	dialect.Oracle().Name: {lock: "LOCK TABLE %[1]s IN EXCLUSIVE MODE", max: "SELECT TO_CHAR(MAX(%[2]s)) FROM %[1]s"},
}

// NeedsMutex reports whether a row of keyfill_sequences has to be changed in the
// transaction before [KeyColumn.LockedMaxKey].
func NeedsMutex(d *dialect.Dialect) bool { return greatestOf[d.Name].mutex }

// MutexName returns the name of the row that [NeedsMutex] is about.
func MutexName(c store.Column) string {
	name := "maxplusone " + c.String()
	if utf8.RuneCountInString(name) <= store.MaxName {
		return name
	}
	return fmt.Sprintf("maxplusone %x", sha256.Sum256([]byte(c.String())))
}

// LockedMaxKey returns the greatest key, 0 in an empty table, on a store of
// [store.Within]. Another transaction that asks in the same way waits until this one
// has ended. Some engines keep out those that insert without keyfill; elsewhere the
// unique index keeps a key from being stored twice:
//
//	PostgreSQL       waits for pg_advisory_xact_lock; under REPEATABLE READ and
//	                 SERIALIZABLE it reads the rows as of the begin of the transaction
//	MySQL, MariaDB   locks the end of the index, once the row that [NeedsMutex] is
//	                 about was changed
//	SQLite           takes the lock to write
//	SQL Server       locks the end of the index
//	Oracle           locks the table against all changes
//
// Errors are the driver's own.
func (k *KeyColumn) LockedMaxKey(ctx context.Context) (int64, error) {
	way, r := greatestOf[k.Store.Dialect.Name], k.Store
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
	// The lock is held to the end of the transaction: where that is open after it,
	// it is held. Where there is a mutex, that has proven it, and where the question
	// for the key takes the lock, the same batch does.
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

// about puts the names of the column and its table into a text, and whether rows are hidden.
func (k *KeyColumn) about(text string) string {
	return fmt.Sprintf(text, k.Table(), k.Name(), k.Store.HidesRows(k.Table()))
}

// hashOf returns the number of a column's lock. Two columns of one number wait for
// each other and are no worse off.
func hashOf(c store.Column) int64 {
	sum := sha256.Sum256([]byte("keyfill maxplusone " + c.String()))
	return int64(binary.BigEndian.Uint64(sum[:8]))
}
