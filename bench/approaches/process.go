package approaches

import (
	"context"
	"database/sql"
	"fmt"
	"sync/atomic"
	"time"
)

// process is one connection that inserts. Only one goroutine uses it.
type process struct {
	db            *sql.DB
	number        int // the number of the process, from 0
	query, update string
	held          int  // how many statements follow an INSERT in its transaction, as in Form
	may           bool // whether keys may be refused as duplicates

	stored, rows, refused int64 // counts, with the meaning that they have in Result
	err                   error // the error that run has returned
}

// run inserts until the time is over, or another process has failed.
func (p *process) run(ctx context.Context, over time.Time, failed *atomic.Bool) error {
	for !failed.Load() && time.Now().Before(over) {
		err := p.insert(ctx)
		if err == nil {
			p.stored++
			if time.Now().Before(over) {
				p.rows++
			}
			continue
		}
		end, ok := endOf(err)
		switch {
		case !ok:
			return err
		case end == Duplicate && !p.may:
			return fmt.Errorf("approaches: a key came twice: %w", err)
		}
		p.refused++
	}
	return nil
}

// insert commits a row.
func (p *process) insert(ctx context.Context) error {
	if p.held == 0 {
		_, err := p.db.ExecContext(ctx, p.query, p.args()...)
		return err
	}
	tx, err := p.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := p.work(ctx, tx); err != nil {
		// An error of Rollback only says that the engine has ended the transaction already.
		_ = tx.Rollback()
		return err
	}
	return tx.Commit()
}

// work executes the INSERT, and the statements that follow it in its transaction.
func (p *process) work(ctx context.Context, tx *sql.Tx) error {
	if _, err := tx.ExecContext(ctx, p.query, p.args()...); err != nil {
		return err
	}
	for range p.held {
		if _, err := tx.ExecContext(ctx, p.update, p.number); err != nil {
			return err
		}
	}
	return nil
}

func (p *process) args() []any { return []any{p.number, p.stored, "what a row of an order may say"} }
