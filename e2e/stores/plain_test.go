package stores_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"
)

// perProcess is how many connections a process mostly has: four of the application's, two to
// the store, and one to the states in the application's database.
const perProcess = 4 + 2 + 1

// plainRecovery kills the server under as many processes with as many connections as a
// run has, which use the plain driver, and reports how long it takes until each of them
// has an answer on all of its connections. It says how much of a recovery is the
// server's, the driver's and the machine's own; the bound of a run stays.
func plainRecovery(t *testing.T, s *store, processes int) {
	t.Helper()
	plain := *s
	plain.name = fmt.Sprintf("%s, %d plain drivers of %d connections", s.name, processes, perProcess)
	plain.kinds = []int{sequence}
	w := newWorld(t, &plain, job{Plain: perProcess, Pause: wholePlan.pause})
	for place := range processes {
		w.start(place)
	}
	w.probe("started", time.Now())
	w.rest(2 * time.Second)
	w.killedServer()
	w.end(w.places)
}

// runPlain asks on each of the connections now and then, until the standard input ends.
func (w *worker) runPlain() error {
	w.db.SetMaxOpenConns(w.Plain)
	w.db.SetMaxIdleConns(w.Plain)
	ctx, stop := context.WithCancel(context.Background())
	var all sync.WaitGroup
	all.Go(func() {
		for ctx.Err() == nil {
			if err := w.askPlain(ctx, nil); err != nil && ctx.Err() == nil {
				w.failed(err)
			}
			select {
			case <-ctx.Done():
			case <-time.After(w.Pause / time.Duration(w.Plain)):
			}
		}
	})
	w.obey(ctx, &all)
	stop()
	all.Wait()
	return w.closed()
}

// askPlain asks on a connection, and keeps that until there is an answer on each.
func (w *worker) askPlain(ctx context.Context, each *sync.WaitGroup) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	conn, err := w.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	var one int
	if err := conn.QueryRowContext(ctx, "SELECT 1").Scan(&one); err != nil {
		return err
	}
	if each != nil {
		each.Done()
		each.Wait() // else the next one takes this connection
	}
	return nil
}

// probePlain asks on all connections at once, as often as that takes, and notes when it has
// succeeded.
func (w *worker) probePlain(ctx context.Context, number int64) {
	began := time.Now()
	var each, hands sync.WaitGroup
	each.Add(w.Plain)
	for range w.Plain {
		hands.Go(func() {
			for ctx.Err() == nil {
				err := w.askPlain(ctx, &each)
				if err == nil {
					return
				}
				w.failed(err)
				time.Sleep(failurePause)
			}
		})
	}
	hands.Wait()
	w.log.write(record{What: probed, Kind: sequence, Draw: number, Began: began.UnixNano(), Ended: time.Now().UnixNano()})
}
