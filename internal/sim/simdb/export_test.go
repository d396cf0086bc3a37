package simdb

import "fmt"

// Read reads a statement, and returns why it is not understood.
func (db *DB) Read(text string) (err error) {
	defer func() {
		if e := recover(); e != nil {
			err = fmt.Errorf("%v", e)
		}
	}()
	db.statement(text)
	return nil
}
