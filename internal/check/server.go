package check

import (
	"fmt"
)

// lookAtServer looks for settings by which a server refuses changes, or shares its numbers.
func (c *checker) lookAtServer() error {
	if look := c.engine.lookAtServer; look != nil {
		return look(c)
	}
	return nil
}

func (c *checker) readOnly(message, remedy string) {
	c.add(Finding{Severity: Error, Rule: ruleReadOnly, Message: message, Remedy: remedy})
}

func (c *checker) lookAtMySQL() error {
	row, err := c.row("SELECT @@read_only, @@innodb_read_only")
	if err != nil || len(row) < 2 {
		return err
	}
	if isTrue(row[0]) || isTrue(row[1]) {
		c.readOnly("the server is read-only, as a replica is: no INSERT and no state can be written there",
			"name the primary in the DSN, or end its read-only mode: SET GLOBAL read_only = 0")
	}
	rows, err := c.q.Rows(c.ctx, "SHOW STATUS LIKE 'wsrep_cluster_size'")
	if err != nil {
		return err
	}
	if len(rows) == 1 && len(rows[0]) == 2 && integerOf(rows[0][1]) > 0 {
		c.add(Finding{Severity: Info, Rule: ruleGalera, Line: c.lineOfUse(),
			Message: fmt.Sprintf("the server is a node of a Galera cluster of %s: a transaction may fail at its COMMIT, so that gap-free numbers (transaction: joined) are to be tried again by the application, and a sequence of the engine needs INCREMENT BY 0", textOf(rows[0][1])),
			Remedy:  "see docs/operating.md; kind sequence needs nothing"})
	}
	return nil
}

func (c *checker) lookAtPostgreSQL() error {
	row, err := c.row("SELECT pg_catalog.pg_is_in_recovery(), current_setting('default_transaction_read_only')")
	if err != nil || len(row) < 2 {
		return err
	}
	switch {
	case isTrue(row[0]):
		c.readOnly("the server is a standby: no INSERT and no state can be written there", "name the primary in the DSN")
	case isTrue(row[1]):
		c.readOnly("transactions are read-only by default (default_transaction_read_only = on): no INSERT and no state can be written",
			"set default_transaction_read_only off for the user, the database or the server")
	}
	return nil
}

func (c *checker) lookAtSQLite() error {
	row, err := c.row("SELECT query_only FROM pragma_query_only")
	if err != nil || len(row) == 0 {
		return nil // this SQLite was built without pragmas as tables
	}
	if isTrue(row[0]) {
		c.readOnly("the connection is read-only (PRAGMA query_only): no INSERT can be written", "leave query_only out of the DSN")
	}
	return nil
}
