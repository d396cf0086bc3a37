package keysource

import (
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/keyfill/keyfill/internal/anchor"
)

// Number returns the worker's number that the options give. Its error wraps
// [ErrOptions] if none or more than one is given, the environment variable is not set,
// the host's name has no ordinal, or the number does not fit its bits. There is no
// default, and nothing is derived from addresses, process numbers or random bits:
// libraries that derived it so have made the same keys twice (baomidou/mybatis-plus,
// issues 3077 and 6177).
func (o SnowflakeOptions) Number() (int, error) {
	given := 0
	for _, is := range []bool{o.Worker != nil, o.WorkerEnv != "", o.Ordinal} {
		if is {
			given++
		}
	}
	switch {
	case given == 0:
		return 0, anchor.Endf("%w: worker: none is given, and there is no default", ErrOptions)
	case given > 1:
		return 0, anchor.Endf("%w: worker: more than one is given", ErrOptions)
	}
	limit := o.Bits.complete().Workers
	switch {
	case o.WorkerEnv != "":
		return numberFromEnv(o.WorkerEnv, limit)
	case o.Ordinal:
		return numberFromHost(limit)
	case *o.Worker < 0 || *o.Worker >= limit:
		return 0, anchor.Endf("%w: worker: %d is not from 0 to %d", ErrOptions, *o.Worker, limit-1)
	}
	return *o.Worker, nil
}

// numberFromEnv reads a number below limit from an environment variable. The
// error does not repeat the variable's value, which may be anything.
func numberFromEnv(name string, limit int) (int, error) {
	text := os.Getenv(name)
	if text == "" {
		return 0, anchor.Endf("%w: worker: the environment variable %q is not set: let it hold a number from 0 to %d", ErrOptions, name, limit-1)
	}
	n, ok := parseNumber(text)
	if !ok || n >= limit {
		return 0, anchor.Endf("%w: worker: the environment variable %q does not hold a number from 0 to %d",
			ErrOptions, name, limit-1)
	}
	return n, nil
}

// numberFromHost reads the ordinal at the end of the host's name.
func numberFromHost(limit int) (int, error) {
	host, err := os.Hostname()
	if err != nil {
		return 0, anchor.Endf("%w: worker: the host's name: %w", ErrOptions, err)
	}
	return ordinalOf(host, limit)
}

// ordinalOf returns N for a host name that ends in -N, as the pods of a StatefulSet are
// called ("StatefulSets", Pod Identity, in the documentation of Kubernetes 1.32). The
// domain follows the first dot.
func ordinalOf(host string, limit int) (int, error) {
	name, _, _ := strings.Cut(host, ".")
	dash := strings.LastIndexByte(name, '-')
	n, ok := parseNumber(name[dash+1:])
	switch {
	case dash < 1 || !ok:
		return 0, anchor.Endf("%w: worker: the host's name %q does not end in -N, as web-3 does: say worker_env or worker instead", ErrOptions, host)
	case n >= limit:
		return 0, anchor.Endf("%w: worker: the ordinal of the host's name %q is not from 0 to %d",
			ErrOptions, host, limit-1)
	}
	return n, nil
}

// parseNumber reads a decimal number without sign, spaces or leading zeros, so that
// each number has only one text.
func parseNumber(text string) (int, bool) {
	n, err := strconv.Atoi(text)
	return n, err == nil && n >= 0 && strconv.Itoa(n) == text
}

// Workers holds the numbers of the snowflakes that are open in this process and were
// given the same Workers. The zero value is empty. It is safe for concurrent use and
// must not be copied.
//
// They are for sources without a [Marker], of which two with one number would make the
// same keys. A program keeps one Workers for the process, since two databases that are
// opened under different names can be one; gives it to each source; lets all tables under
// one name that want the same number share one source and so its bits; and closes that
// source when the last of them is closed. The next source with its number leaves out the
// time that it may have used, by waiting for it to pass.
type Workers struct {
	mu    sync.Mutex
	taken map[int]bool
}

// take takes a number, or returns an error that wraps [ErrWorkerTaken]. If w is nil, it
// does nothing.
func (w *Workers) take(number int) error {
	if w == nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.taken[number] {
		return anchor.Endf("%w: %d", ErrWorkerTaken, number)
	}
	if w.taken == nil {
		w.taken = make(map[int]bool)
	}
	w.taken[number] = true
	return nil
}

// free gives a number back, so that another source can take it.
func (w *Workers) free(number int) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.taken, number)
}
