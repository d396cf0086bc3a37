package main

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"slices"
	"strings"

	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"
	_ "github.com/lib/pq"
	_ "github.com/microsoft/go-mssqldb"
	_ "github.com/sijms/go-ora/v2"
	_ "modernc.org/sqlite"

	"github.com/spf13/cobra"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/sqlcode"
)

// databaseFlags are the flags by which a command finds the database that it looks at.
type databaseFlags struct {
	driver, dsn, variable string
}

// databaseDrivers are the drivers by their names, with what they speak.
var databaseDrivers = []struct {
	name    string
	dialect func() *dialect.Dialect
}{
	{"sqlite", dialect.SQLite},
	{"mysql", dialect.MySQL}, // or MariaDB, which the server's version tells
	{"pgx", dialect.PostgreSQL},
	{"postgres", dialect.PostgreSQL},
	{"sqlserver", dialect.SQLServer},
	{"oracle", dialect.Oracle},
}

func (f *databaseFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.driver, "driver", "", "sqlite, mysql, pgx, postgres, sqlserver or oracle")
	completes(cmd, "driver", checkDrivers...)
	cmd.Flags().StringVar(&f.dsn, "dsn", "", "what the driver opens; others may see it")
	cmd.Flags().StringVar(&f.variable, "dsn-env", "", "the environment `variable` that holds the DSN")
}

// dataSource returns the DSN and the dialect that the flags name.
func (f *databaseFlags) dataSource() (string, *dialect.Dialect, error) {
	i := slices.IndexFunc(databaseDrivers, func(d struct {
		name    string
		dialect func() *dialect.Dialect
	}) bool {
		return d.name == f.driver
	})
	switch {
	case i < 0:
		return "", nil, usagef("say --driver, one of sqlite, mysql, pgx, postgres, sqlserver and oracle")
	case (f.dsn == "") == (f.variable == ""):
		return "", nil, usagef("say one of --dsn and --dsn-env")
	}
	dsn := f.dsn
	if f.variable != "" {
		if dsn = os.Getenv(f.variable); dsn == "" {
			return "", nil, usagef("--dsn-env: set the environment variable %s, which is empty", f.variable)
		}
	}
	return dsn, databaseDrivers[i].dialect(), nil
}

// open connects to the database that the flags name, which has to be there.
func (f *databaseFlags) open(ctx context.Context) (*sql.DB, *dialect.Dialect, error) {
	dsn, _, err := f.dataSource()
	if err != nil {
		return nil, nil, err
	}
	if err := isThere(f.driver, dsn); err != nil {
		return nil, nil, err
	}
	return f.connect(ctx)
}

// connect connects to the database that the flags name. What the drivers say of a DSN is
// not shown, since it may hold the password.
func (f *databaseFlags) connect(ctx context.Context) (*sql.DB, *dialect.Dialect, error) {
	dsn, d, err := f.dataSource()
	if err != nil {
		return nil, nil, err
	}
	db, err := sql.Open(f.driver, dsn)
	if err != nil {
		return nil, nil, usagef("the driver %s cannot read the DSN: write it as that driver's documentation says", f.driver)
	}
	if err := db.PingContext(ctx); err != nil {
		return nil, nil, closing(db, fmt.Errorf("%w", sqlcode.Connecting(err)))
	}
	if d.Family == dialect.FamilyMySQL {
		var version string
		if err := db.QueryRowContext(ctx, "SELECT VERSION()").Scan(&version); err != nil {
			return nil, nil, closing(db, err)
		}
		if strings.Contains(version, "MariaDB") {
			d = dialect.MariaDB()
		}
	}
	return db, d, nil
}

// closing closes a database that is not used because of an error, which is returned.
func closing(db *sql.DB, err error) error {
	_ = db.Close() // the error before is the cause of any that follows
	return err
}
