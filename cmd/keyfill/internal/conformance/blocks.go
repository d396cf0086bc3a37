package conformance

import (
	"bufio"
	"context"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"sync"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/sqlcode"
	"github.com/keyfill/keyfill/policy"
)

const (
	processes   = 4
	processRows = 150 // of each process
	killedAfter = 40  // rows of the process that is killed
	blockSize   = 20
)

// childOrder is what a process is told on its standard input, which stays open until the
// process shall end.
type childOrder struct {
	Driver, DSN, Dialect string
	Place                string
	Rows, Rate, Process  int
}

// blocksPolicy has the table that the processes fill.
func blocksPolicy() map[string]policy.Table {
	source := &policy.Source{Kind: policy.KindSequence, Block: blockSize, EnsureSchema: true, Exclusive: true}
	return map[string]policy.Table{"kf_blocks": {Column: "id", InPlace: source}}
}

// tryBlocks lets processes fill a table without a unique index, and kills one.
func tryBlocks(ctx context.Context, r *run) (_ outcome, err error) {
	if r.options.Child == nil {
		return notTried("no further process could be started"), nil
	}
	n := r.engine.number
	if err := r.exec(ctx, "CREATE TABLE kf_blocks (id "+n+" NOT NULL, process "+n+" NOT NULL)", "CREATE INDEX kf_blocks_id ON kf_blocks (id)"); err != nil {
		return outcome{}, err
	}
	defer func() { err = errors.Join(err, r.drop("kf_blocks")) }()
	var wg sync.WaitGroup
	told := make([][]int64, processes)
	errs := make([]error, processes)
	for i := range processes {
		wg.Go(func() { told[i], errs[i] = r.startChild(ctx, i) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return outcome{}, err
	}
	return r.compareBlocks(ctx, told)
}

// startChild runs a process, and returns the keys that it says are stored. The first
// process is killed in its middle, and its error then means nothing.
func (r *run) startChild(ctx context.Context, i int) (told []int64, err error) {
	command := r.options.Child(ctx)
	in, err := command.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	var text strings.Builder
	command.Stderr = &text
	if err := command.Start(); err != nil {
		return nil, err
	}
	order := childOrder{r.target.Name, r.place.insideDSN(), r.target.Dialect.Name, r.place.name, processRows, max(1, r.options.Rate/processes), i}
	if err := json.NewEncoder(in).Encode(order); err != nil {
		return nil, errors.Join(err, command.Process.Kill(), command.Wait())
	}
	killed := false
	for lines := bufio.NewScanner(out); lines.Scan(); {
		key, err := strconv.ParseInt(lines.Text(), 10, 64)
		if err != nil {
			break // what else it says is its error
		}
		if told = append(told, key); i == 0 && len(told) == killedAfter {
			killed = command.Process.Kill() == nil
		}
	}
	err = command.Wait()
	if killed || err == nil {
		return told, nil
	}
	fmt.Fprintf(r.options.Out, "process %d: %s\n", i, strings.TrimSpace(text.String()))
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return nil, errProcess
	}
	return nil, err
}

// errProcess is returned if a process could not store its rows.
var errProcess = errors.New("a process of the run could not store its rows: look at the output of that process")

// compareBlocks looks whether each key that a process was told is in one row.
func (r *run) compareBlocks(ctx context.Context, told [][]int64) (outcome, error) {
	stored := map[int64]int{}
	rows, err := r.db.QueryContext(ctx, "SELECT id FROM kf_blocks ORDER BY id")
	if err != nil {
		return outcome{}, err
	}
	defer rows.Close()
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return outcome{}, err
		}
		if stored[id]++; stored[id] > 1 {
			return refused("a key is in two rows"), nil
		}
	}
	if err := rows.Err(); err != nil {
		return outcome{}, err
	}
	for i, keys := range told {
		if i > 0 && len(keys) != processRows {
			return refused("process %d has stored %d rows of %d", i, len(keys), processRows), nil
		}
		for _, key := range keys {
			if stored[key] == 0 {
				return refused("a row that was stored is not in the table"), nil
			}
		}
	}
	if len(told[0]) < killedAfter {
		return refused("the first process ended before it was killed"), nil
	}
	return shown(int64(len(stored))), nil
}

// insideDSN returns the DSN for a process that works in the schema. It still has to make
// the schema its own, where the DSN does not.
func (p *place) insideDSN() string {
	if p.folder != nil {
		return p.folder.dsn
	}
	return p.target.DSN
}

// Child stores rows as its standard input says, and writes each key to its standard output
// once its row is stored. It ends early if the standard input is closed.
func Child(ctx context.Context, in io.Reader, out io.Writer, driverOf func(name, dsn string) (driver.Driver, error), wrap func(driver.Connector) driver.Connector) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	decoder := json.NewDecoder(in)
	var order childOrder
	if err := decoder.Decode(&order); err != nil {
		return err
	}
	go func() {
		var more any
		_ = decoder.Decode(&more) // nothing more comes: it returns when the parent has ended
		stop()
	}()
	d, err := dialect.ByName(order.Dialect)
	if err != nil {
		return err
	}
	opened, err := driverOf(order.Driver, order.DSN)
	if err != nil {
		return err
	}
	p := &place{target: Target{order.Driver, opened, order.DSN, d, wrap}, engine: engines[d.Family], name: order.Place}
	if p.engine.create == "" {
		p.folder = &folder{dsn: order.DSN}
	}
	c, err := p.inside()
	if err != nil {
		return err
	}
	db, err := openFilled(c, p.target, blocksPolicy())
	if err != nil {
		return err
	}
	defer db.Close()
	pace := newRate(order.Rate)
	for stored := 0; stored < order.Rows; stored++ {
		if err := pace.wait(ctx, 1); err != nil {
			return err
		}
		noted, rec := keyfill.Record(ctx)
		if _, err := db.ExecContext(noted, p.target.bind("INSERT INTO kf_blocks (process) VALUES (?)"), order.Process); err != nil {
			if sqlcode.ClassOf(d, err).Transient() {
				stored-- // nothing was stored: SQLite without a busy_timeout does not wait for a lock
				continue
			}
			return err
		}
		key, _ := keyfill.Last[int64](rec, "kf_blocks")
		if _, err := fmt.Fprintln(out, key); err != nil {
			return err
		}
	}
	return nil
}
