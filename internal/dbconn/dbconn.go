// Package dbconn runs statements on a connection of a driver as database/sql
// would, for drivers of every strength: with contexts or without, with Exec and
// Query on the connection or on a prepared statement only, with checkers of
// arguments or without.
//
// The arguments are integers, texts, byte slices, nil and sql.Out, which every
// driver accepts once its own checker has seen them. A driver.NamedValue is an
// argument that the checker has seen already.
//
// # Caveats
//
// A connection of a driver must be used by one goroutine at a time. Errors are the
// driver's own, driver.ErrBadConn among them.
package dbconn

import (
	"context"
	"database/sql/driver"
	"io"
	"slices"
)

// Exec executes a statement. It prepares the statement if the driver has no other method
// for it, or if the driver's method returns driver.ErrSkip.
func Exec(ctx context.Context, c driver.Conn, query string, args []any) (driver.Result, error) {
	var res driver.Result
	err := driver.ErrSkip
	switch d := c.(type) {
	case driver.ExecerContext:
		var named []driver.NamedValue
		if named, err = check(c, args, nil); err == nil {
			res, err = d.ExecContext(ctx, query, named)
		}
	case driver.Execer:
		var plain []driver.Value
		if plain, err = checkPlain(ctx, c, args, nil); err == nil {
			res, err = d.Exec(query, plain)
		}
	}
	if err == driver.ErrSkip {
		var stmt driver.Stmt
		if stmt, err = prepare(ctx, c, query); err == nil {
			res, err = execStmt(ctx, c, stmt, args)
			err = closeAfter(stmt, err)
		}
	}
	if err != nil {
		return nil, err
	}
	return res, nil
}

// Query executes a query, as Exec does, and calls visit with each row, which visit may
// keep. Query reads the answer to its end, so that an error that the engine sends last,
// such as a commit that has failed, is returned. An error of visit ends the query and is
// returned.
func Query(ctx context.Context, c driver.Conn, query string, args []any, visit func(row []any) error) error {
	rows, err := queryDirectly(ctx, c, query, args)
	if err == driver.ErrSkip {
		stmt, err := prepare(ctx, c, query)
		if err != nil {
			return err
		}
		rows, err := queryStmt(ctx, c, stmt, args)
		return closeAfter(stmt, read(rows, err, visit))
	}
	return read(rows, err, visit)
}

// ColumnTypes executes a query, as Query does, and returns the names of its columns' types,
// as the driver returns them, or empty. The rows are not read.
func ColumnTypes(ctx context.Context, c driver.Conn, query string, args []any) (types []string, err error) {
	rows, err := queryDirectly(ctx, c, query, args)
	if err == driver.ErrSkip {
		stmt, err := prepare(ctx, c, query)
		if err != nil {
			return nil, err
		}
		rows, err := queryStmt(ctx, c, stmt, args)
		types, err = typesOf(rows, err)
		return types, closeAfter(stmt, err)
	}
	return typesOf(rows, err)
}

func typesOf(rows driver.Rows, err error) ([]string, error) {
	if err != nil {
		return nil, err
	}
	types := make([]string, len(rows.Columns()))
	if named, ok := rows.(driver.RowsColumnTypeDatabaseTypeName); ok {
		for i := range types {
			types[i] = named.ColumnTypeDatabaseTypeName(i)
		}
	}
	return types, rows.Close()
}

// Begin begins a transaction.
func Begin(ctx context.Context, c driver.Conn) (driver.Tx, error) {
	if b, ok := c.(driver.ConnBeginTx); ok {
		return b.BeginTx(ctx, driver.TxOptions{})
	}
	return c.Begin()
}

// queryDirectly sends a query without preparing it. It returns ErrSkip if the driver, or
// its connection, wants the query to be prepared.
func queryDirectly(ctx context.Context, c driver.Conn, query string, args []any) (driver.Rows, error) {
	switch d := c.(type) {
	case driver.QueryerContext:
		named, err := check(c, args, nil)
		if err != nil {
			return nil, err
		}
		return d.QueryContext(ctx, query, named)
	case driver.Queryer:
		plain, err := checkPlain(ctx, c, args, nil)
		if err != nil {
			return nil, err
		}
		return d.Query(query, plain)
	}
	return nil, driver.ErrSkip
}

// closeAfter closes a statement whose use has ended in err. It returns err, or the error of
// closing if err is nil.
func closeAfter(stmt driver.Stmt, err error) error {
	if closeErr := stmt.Close(); err == nil {
		err = closeErr
	}
	return err
}

func prepare(ctx context.Context, c driver.Conn, query string) (driver.Stmt, error) {
	if p, ok := c.(driver.ConnPrepareContext); ok {
		return p.PrepareContext(ctx, query)
	}
	stmt, err := c.Prepare(query)
	if err == nil && ctx.Err() != nil {
		_ = stmt.Close()
		return nil, ctx.Err()
	}
	return stmt, err
}

func execStmt(ctx context.Context, c driver.Conn, stmt driver.Stmt, args []any) (driver.Result, error) {
	if s, ok := stmt.(driver.StmtExecContext); ok {
		named, err := check(c, args, stmt)
		if err != nil {
			return nil, err
		}
		return s.ExecContext(ctx, named)
	}
	plain, err := checkPlain(ctx, c, args, stmt)
	if err != nil {
		return nil, err
	}
	return stmt.Exec(plain)
}

func queryStmt(ctx context.Context, c driver.Conn, stmt driver.Stmt, args []any) (driver.Rows, error) {
	if s, ok := stmt.(driver.StmtQueryContext); ok {
		named, err := check(c, args, stmt)
		if err != nil {
			return nil, err
		}
		return s.QueryContext(ctx, named)
	}
	plain, err := checkPlain(ctx, c, args, stmt)
	if err != nil {
		return nil, err
	}
	return stmt.Query(plain)
}

// check returns the arguments in the types that the driver wants. It asks the statement, if
// there is one, then the connection, then the statement's converters, as database/sql does.
func check(c driver.Conn, args []any, stmt driver.Stmt) ([]driver.NamedValue, error) {
	checker, ok := stmt.(driver.NamedValueChecker)
	if !ok {
		checker, _ = c.(driver.NamedValueChecker)
	}
	converter, _ := stmt.(driver.ColumnConverter)
	named := make([]driver.NamedValue, len(args))
	for i, arg := range args {
		if checked, ok := arg.(driver.NamedValue); ok {
			checked.Ordinal = i + 1
			named[i] = checked
			continue
		}
		named[i] = driver.NamedValue{Ordinal: i + 1, Value: arg}
		err := driver.ErrSkip
		if checker != nil {
			err = checker.CheckNamedValue(&named[i])
		}
		if err == driver.ErrSkip {
			// No checker has handled the argument, whose type every driver accepts. An
			// older driver may have a converter for it.
			err = nil
			if converter != nil {
				named[i].Value, err = converter.ColumnConverter(i).ConvertValue(arg)
			}
		}
		if err != nil {
			return nil, err
		}
	}
	return named, nil
}

// checkPlain does what check does, for drivers without contexts.
func checkPlain(ctx context.Context, c driver.Conn, args []any, stmt driver.Stmt) ([]driver.Value, error) {
	named, err := check(c, args, stmt)
	if err != nil {
		return nil, err
	}
	plain := make([]driver.Value, len(named))
	for i := range named {
		plain[i] = named[i].Value
	}
	return plain, ctx.Err()
}

// read visits all rows of an answer and closes it.
func read(rows driver.Rows, err error, visit func(row []any) error) error {
	if err != nil {
		return err
	}
	dest := make([]driver.Value, len(rows.Columns()))
	for err == nil {
		if err = rows.Next(dest); err != nil {
			break
		}
		row := make([]any, len(dest))
		for i, v := range dest {
			if b, ok := v.([]byte); ok {
				v = slices.Clone(b) // the driver reuses its bytes at the next call of Next
			}
			row[i] = v
		}
		err = visit(row)
	}
	closeErr := rows.Close()
	if err == io.EOF {
		return closeErr
	}
	return err
}
