package store

import (
	"context"
	"fmt"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/anchor"
)

// ErrBelow is returned when the engine's own counter of a column does not stand at
// [Sequence].Below or above it, or keyfill cannot read where it stands. It comes in an
// [*Error].
var ErrBelow = anchor.New("live-column", "the engine fills the column too, and its counter is not proven to stand at below: or above it")

// BelowRemedy says what to do when a sequence has given the last integer below
// [Sequence].Below.
const BelowRemedy = "another gap (keyfill plan there), or exclusive: true in the place of below: once nothing else inserts without a key"

// EndRemedy says what to do when a sequence has given the last integer below the
// [Sequence].StartAt of another one.
const EndRemedy = "another sequence gives the integers from there on: give its entry of the policy to this process"

// proveBelow asks the engine where its own counters of the columns stand, and returns
// [ErrBelow] unless that is the sequence's Below or above it. A column without a counter
// needs no proof.
//
// The answer holds for as long as nobody sets the counter back: TRUNCATE does, and a
// server that is killed may lose what was set a moment before. So it is asked for again
// whenever the greatest key is: after a duplicate key, and by each process at first.
func (s servedColumns) proveBelow(ctx context.Context) error {
	if s.q.Below == 0 || s.q.PastCounter {
		return nil
	}
	for _, k := range s.all() {
		if !k.column.Live {
			continue
		}
		counter, err := k.Counter(ctx)
		if err != nil {
			return err
		}
		if counter.Next < s.q.Below {
			return s.notBelow(k, counter)
		}
	}
	return nil
}

// notBelow returns the error of a column whose counter stands below the sequence's end.
func (s servedColumns) notBelow(k *KeyColumn, counter Counter) *Error {
	e := s.q.fail(ErrBelow, "")
	switch {
	case k.column.Counted:
		e.SQL = k.raiseText(s.q.Below)
	case counter.Sequence != "":
		// Run late, it does not lower a sequence that has gone on meanwhile.
		e.SQL = fmt.Sprintf("SELECT setval(%s, GREATEST(last_value, %d)) FROM %s", k.run.literal(counter.Sequence), s.q.Below, counter.Sequence)
	default:
		e.Detail = "let the column's default be nextval of one sequence that ascends and does not cycle, or leave below out"
	}
	return e
}

// raiseText returns the statements, for one connection, by which the counter of a column
// that is Counted gives to as its next number, or a greater one. Run late, they do not
// lower a counter that has gone on meanwhile: the ALTER TABLE of MySQL and MariaDB lowers
// it down to the greatest key, so that it is prepared from where the counter stands.
func (k *KeyColumn) raiseText(to int64) string {
	d := k.run.dialect
	if d.Family == dialect.FamilyMySQL {
		schema := "DATABASE()"
		if k.column.Schema != "" {
			schema = k.run.literal(k.column.Schema)
		}
		// MySQL 8 keeps what it says of a table for a day. The policy may call MariaDB, which
		// has no such variable, by MySQL's name.
		return fmt.Sprintf("SET @keyfill = 0 /*!80003 , SESSION information_schema_stats_expiry = 0 */"+
			"; SET @keyfill = (SELECT IF(%d > COALESCE(auto_increment, 0), %s, 'DO 0') FROM information_schema.tables WHERE table_schema = %s AND table_name = %s)"+
			"; PREPARE keyfill FROM @keyfill; EXECUTE keyfill; DEALLOCATE PREPARE keyfill",
			to, k.run.literal(fmt.Sprintf("ALTER TABLE %s AUTO_INCREMENT = %d", k.table(), to)), schema, k.run.literal(k.column.Table))
	}
	return fmt.Sprintf("INSERT INTO %[1]s (name, seq) SELECT %[2]s, 0 WHERE NOT EXISTS (SELECT 1 FROM %[1]s WHERE name = %[2]s); UPDATE %[1]s SET seq = max(seq, %[3]d) WHERE name = %[2]s",
		k.column.schemaIn(d)+"sqlite_sequence", k.run.literal(k.column.Table), to-1)
}

// startKnown returns [ErrStart] for a sequence whose start is not given, where the
// engine's counter may have given numbers below the sequence's Below that no row shows
// yet: PostgreSQL raises a sequence beside open transactions and beside sessions that
// hold numbers in advance. The ALTER TABLE of MySQL and MariaDB waits for transactions,
// and SQLite has one writer.
func (s servedColumns) startKnown() error {
	if s.q.Below == 0 || s.run.dialect.Name != dialect.PostgreSQL().Name {
		return nil
	}
	for _, c := range s.q.Columns {
		if c.Live {
			return s.q.fail(ErrStart, "above the value that its own counter had when it was raised, plus CACHE times the number of sessions")
		}
	}
	return nil
}

// keysBelow returns the condition, for a statement for people, that leaves out the keys
// which are not the sequence's.
func (q *Sequence) keysBelow(column string) string {
	if q.Below == 0 {
		return ""
	}
	return fmt.Sprintf(" WHERE %s < %d", column, q.Below)
}
