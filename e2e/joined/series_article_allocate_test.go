package joined_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/reserver"
	"github.com/keyfill/keyfill/internal/store/sequence"
)

// The article "Sequence Tables": a table with the next free value of each
// sequence, and a procedure that takes a range of them.
//
// Its procedure reports a name without a row by a return code that its own example does
// not look at; here that is an error. An UPDATE that sets a variable to what a column was
// is SQL Server's; PostgreSQL and SQLite have RETURNING, MariaDB assigns to a variable
// inside the expression.
const sequenceTable = `CREATE TABLE SequenceTable (sequence_name VARCHAR(20) NOT NULL PRIMARY KEY, next_value INTEGER NOT NULL)`

var allocate = map[string]string{
	"mariadb": `CREATE PROCEDURE Allocate(SequenceName VARCHAR(20), RangeSize INT)
BEGIN
	IF RangeSize IS NULL OR RangeSize < 1 THEN
		SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'RangeSize must be a positive integer';
	END IF;
	SET @FirstAllocated = NULL;
	UPDATE SequenceTable
	SET next_value = (@FirstAllocated := next_value) + RangeSize
	WHERE sequence_name = SequenceName;
	IF ROW_COUNT() <> 1 THEN
		SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no such sequence';
	END IF;
	SELECT CAST(@FirstAllocated AS SIGNED);
END`,
	"postgres": `CREATE FUNCTION Allocate(SequenceName text, RangeSize integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
	FirstAllocated integer;
	Updated integer;
BEGIN
	IF RangeSize IS NULL OR RangeSize < 1 THEN
		RAISE EXCEPTION 'RangeSize must be a positive integer (supplied value = %)', RangeSize;
	END IF;
	UPDATE SequenceTable
	SET next_value = next_value + RangeSize
	WHERE sequence_name = SequenceName
	RETURNING next_value - RangeSize INTO FirstAllocated;
	GET DIAGNOSTICS Updated = ROW_COUNT;
	IF Updated <> 1 THEN
		RAISE EXCEPTION 'no such sequence';
	END IF;
	RETURN FirstAllocated;
END
$$`,
}

// callAllocate is the article's call.
func callAllocate(s *harness.Scratch) harness.Allocator {
	query := "CALL Allocate('Test Sequence', ?)"
	if s.IsPostgres() {
		query = "SELECT Allocate('Test Sequence', $1)"
	}
	return func(ctx context.Context, c *sql.Conn, n int64) (first int64, err error) {
		err = c.QueryRowContext(ctx, query, n).Scan(&first)
		return first, err
	}
}

// allocateDirectly is the body of the procedure in statements of its own.
func allocateDirectly(s *harness.Scratch) harness.Allocator {
	update := placed(s, "UPDATE SequenceTable SET next_value = next_value + %s WHERE sequence_name = 'Test Sequence'", 1)
	read := "SELECT next_value FROM SequenceTable WHERE sequence_name = 'Test Sequence'"
	return func(ctx context.Context, c *sql.Conn, n int64) (first int64, err error) {
		if s.Dialect.Name != "mariadb" {
			err := c.QueryRowContext(ctx, update+" RETURNING next_value", n).Scan(&first)
			return first - n, err
		}
		err = harness.ArticleTransaction(ctx, c, "BEGIN", func() error {
			if err := affects(ctx, c, update, n); err != nil {
				return err
			}
			return c.QueryRowContext(ctx, read).Scan(&first)
		})
		return first - n, err
	}
}

// TestArticleAllocate: the article's procedure, its body, and keyfill in each of
// its ways take ranges from one row at the same time.
func TestArticleAllocate(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.StoreDrivers, func(t *testing.T, s *harness.Scratch) {
		harness.Exec(t, s.Raw, "CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY)")
		harness.Exec(t, s.Raw, sequenceTable)
		harness.Exec(t, s.Raw, "INSERT INTO SequenceTable VALUES ('Test Sequence', 1)")
		q := harness.Orders
		q.Table = &sequence.KeyTable{Name: "SequenceTable", Key: "sequence_name", Row: "Test Sequence", Value: "next_value"}
		optimistic := q
		optimistic.Lock = sequence.LockOptimistic
		programs := map[string]harness.Allocator{"directly": allocateDirectly(s)}
		sequences := map[string]sequence.Sequence{"pessimistic": q, "optimistic": optimistic}
		if s.Server != nil {
			harness.Exec(t, s.Raw, allocate[s.Dialect.Name])
			programs["procedure"] = callAllocate(s)
			called := q
			called.Procedure = "Allocate"
			alone := called
			alone.Name, alone.Table = "Test Sequence", nil
			sequences["by procedure"], sequences["by procedure alone"] = called, alone
		}
		total := harness.Together(t, s, programs, sequences)
		if next := harness.CountInt(t, s.Raw, "SELECT next_value FROM SequenceTable"); next != total+1 {
			t.Errorf("the next value is %d after %d", next, total)
		}
	})
}

// TestArticleAllocateErrors: what the procedure refuses is an error of keyfill's
// that asking again does not mend, and what it answers beside an integer too.
func TestArticleAllocateErrors(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.StoreDrivers[1:], func(t *testing.T, s *harness.Scratch) {
		ctx := context.Background()
		harness.Exec(t, s.Raw, "CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY)")
		harness.Exec(t, s.Raw, sequenceTable)
		harness.Exec(t, s.Raw, allocate[s.Dialect.Name])
		for name, body := range map[string]string{"answers_null": "NULL", "answers_text": "'a'"} {
			if s.IsPostgres() {
				harness.Exec(t, s.Raw, "CREATE FUNCTION "+name+"(a text, n integer) RETURNS text LANGUAGE sql AS $$ SELECT CAST("+body+" AS text) $$")
			} else {
				harness.Exec(t, s.Raw, "CREATE PROCEDURE "+name+"(a TEXT, n INT) SELECT "+body)
			}
		}
		q := harness.Orders
		for _, name := range []string{"Allocate", "nosuch", "answers_null", "answers_text"} {
			q.Procedure = name
			got, err := reserver.New(harness.StoreOf(t, s), q).Reserve(ctx, 5, 0)
			if !errors.Is(err, store.ErrProcedure) || !strings.Contains(err.Error(), "create the procedure that keyfill ddl --procedure prints") {
				t.Errorf("%s: %+v, %v; want %v", name, got, err, store.ErrProcedure)
			}
		}
		// With the table it is known what is missing.
		q.Procedure = "Allocate"
		q.Table = &sequence.KeyTable{Name: "SequenceTable", Key: "sequence_name", Row: "Test Sequence", Value: "next_value"}
		r := reserver.New(harness.StoreOf(t, s), q)
		_, err := r.Reserve(ctx, 5, 0)
		var e *store.Error
		if !errors.As(err, &e) || e.Err != store.ErrNoRow {
			t.Fatalf("%v, want %v", err, store.ErrNoRow)
		}
		harness.Exec(t, s.Raw, e.SQL)
		if got, err := r.Reserve(ctx, 5, 0); err != nil || got.First != 1 {
			t.Errorf("%+v, %v; want 1", got, err)
		}
		harness.Exec(t, s.Raw, "DELETE FROM SequenceTable")
		if got, err := r.Reserve(ctx, 5, 0); !errors.Is(err, store.ErrNoRow) {
			t.Errorf("%+v, %v; want %v", got, err, store.ErrNoRow)
		}
	})
}
