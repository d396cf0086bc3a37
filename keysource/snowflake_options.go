package keysource

import (
	"os"
	"strconv"
	"strings"

	"github.com/keyfill/keyfill/internal/anchor"
)

// SnowflakeOptions select which snowflakes to make. Of Worker, WorkerEnv and Ordinal
// exactly one must be given.
type SnowflakeOptions struct {
	Bits SnowflakeBits // the zero value means 41, 10 and 12 bits

	// Worker is the number of this process among all that make keys for the
	// same table.
	Worker *int

	// WorkerEnv is the name of an environment variable that holds the number in
	// decimal digits.
	WorkerEnv string

	// Ordinal takes the number from the end of the host's name, where the pods
	// of a Kubernetes StatefulSet have their ordinal: web-0, web-1. It is wrong
	// for pods of a Deployment and for those that use the host's network;
	// Kubernetes since 1.28 can also give the ordinal to WorkerEnv, as the label
	// apps.kubernetes.io/pod-index.
	Ordinal bool

	// Marker reserves time for this worker's number in a store. If it is nil, nothing
	// guards the keys against other processes with the same number.
	Marker Marker
}

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
	limit := o.Bits.Numbers()
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
