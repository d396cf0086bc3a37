package keyvalues

import (
	"bufio"
	"context"
	"fmt"
	"io"

	"github.com/keyfill/keyfill/keysource"
)

// genBatch is how many keys are made at a time: many, so that each costs little time, but
// few enough that a million keys need little memory.
const genBatch = 1000

// Generate prints the keys of the request.
func Generate(ctx context.Context, out io.Writer, source keysource.Source, all keysource.Request) error {
	w := bufio.NewWriter(out)
	for left := all.N; left > 0; {
		r := all
		r.N = min(left, genBatch)
		keys, err := source.Next(ctx, r)
		if err != nil {
			return err
		}
		for _, key := range keys {
			if err := printKey(w, key); err != nil {
				return err
			}
		}
		left -= r.N
	}
	return w.Flush()
}

func printKey(w io.Writer, key any) error {
	if b, ok := key.([]byte); ok {
		_, err := fmt.Fprintf(w, "%x\n", b)
		return err
	}
	_, err := fmt.Fprintln(w, key)
	return err
}
