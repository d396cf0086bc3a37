package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Row-level security may hide rows of the application's table from the user, so that the
// greatest key that is shown is not the greatest one. Each question for keys also asks
// whether that is so: PostgreSQL 18 documentation, sections 5.9 and 9.27.

// hides returns the second value of a question about a table: 1 where rows may be hidden.
func (r *runner) hides(table string) string {
	if r.engine.hides == "" {
		return ""
	}
	return ", " + fmt.Sprintf(r.engine.hides, r.nameLiteral(table))
}

// nameLiteral returns the name of a table, as it is written in a query, as a literal of
// PostgreSQL.
func (*runner) nameLiteral(table string) string { return "E'" + escapes.Replace(table) + "'" }

// escapes are those of a literal that means the same whatever standard_conforming_strings is.
var escapes = strings.NewReplacer(`\`, `\\`, "'", "''")

// areHidden reports whether that value is 1 in an answer.
func (r *runner) areHidden(row []any) (bool, error) {
	if r.engine.hides == "" || len(row) != 2 {
		return false, nil
	}
	n, err := toInteger(row[1])
	return n != 0, err
}

// AllShown returns [ErrHiddenRows] where the engine need not have shown the user every row
// to the last question.
func (k *KeyColumn) AllShown() error {
	if !k.hidden {
		return nil
	}
	return k.run.failed(k.column.String(), &refusal{ErrHiddenRows, errors.New(k.table())})
}

// allShown returns [ErrHiddenRows] where rows of a column of a sequence may be hidden. It
// asks once more, for an error that is to say why.
func (s servedColumns) allShown(ctx context.Context) error {
	for _, k := range s.all() {
		if k.column.Unranked || k.run.engine.hides == "" {
			continue
		}
		if _, err := k.MaxKey(ctx); err != nil {
			return err
		}
		if err := k.AllShown(); err != nil {
			return err
		}
	}
	return nil
}

// guarding asks whether a table has a unique index of the key and columns that it is numbered
// within, and of nothing else.
const guarding = `SELECT COUNT(*) FROM pg_catalog.pg_index i
WHERE i.indrelid = to_regclass(%s) AND i.indisunique AND i.indisvalid AND i.indpred IS NULL
AND NOT EXISTS (SELECT 1 FROM pg_catalog.generate_series(0, i.indnkeyatts - 1) p
	LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[p]
	WHERE a.attname IS NULL OR a.attname NOT IN (%s))
AND EXISTS (SELECT 1 FROM pg_catalog.pg_attribute a WHERE a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey) AND a.attname = %s)`

// guarded returns [ErrHiddenParent] where no unique index keeps a number of a parent from
// being stored twice. Where one does, rows that are hidden do no harm.
func (s *ScopeRows) guarded(ctx context.Context, table string) error {
	quoted := func(text string) string { return "E'" + escapes.Replace(text) + "'" }
	key := quoted(s.scope.Column.Name)
	columns := key
	for _, c := range s.scope.Within {
		columns += ", " + quoted(c)
	}
	row, err := s.run.conn.query(ctx, fmt.Sprintf(guarding, quoted(table), columns, key), nil)
	if err != nil {
		return err
	}
	if n, err := toInteger(row[0]); n > 0 || err != nil {
		return err
	}
	return s.run.failed(s.scope.Name, &refusal{ErrHiddenParent, errors.New(table)})
}
