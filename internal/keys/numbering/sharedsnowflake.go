package numbering

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/keyfill/keyfill/internal/counting"
	"github.com/keyfill/keyfill/internal/keys/statestore"
	"github.com/keyfill/keyfill/keysource"
)

// workers holds the worker numbers of the snowflakes without a store that are open in
// this process. A process may use each number only once, even for two databases: if
// they were opened under different names, they can be the same database.
var workers counting.Workers

// SharedSnowflakes are the snowflakes without a store, one for each worker number. All
// databases that are opened through one registered name share them.
type SharedSnowflakes struct {
	mu  sync.Mutex
	all map[int]*sharedFlake
}

type sharedFlake struct {
	*counting.Snowflake
	bits  keysource.SnowflakeBits
	users int
}

// NewSharedSnowflakes returns an empty set.
func NewSharedSnowflakes() *SharedSnowflakes { return &SharedSnowflakes{all: map[int]*sharedFlake{}} }

// Take adds a user to the snowflake with the options' worker number. If there is none,
// Take makes it. It does no I/O.
func (f *SharedSnowflakes) Take(o keysource.SnowflakeOptions, env keysource.Env) (number int, err error) {
	if number, err = o.Number(); err != nil {
		return 0, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if one := f.all[number]; one != nil {
		if one.bits != o.Bits {
			return 0, fmt.Errorf("%w: two snowflakes of worker %d have different bits: give one of them another number, or a store",
				keysource.ErrWorkerTaken, number)
		}
		one.users++
		return number, nil
	}
	made, err := counting.NewSnowflake(&workers, o, env)
	if errors.Is(err, keysource.ErrWorkerTaken) {
		return 0, fmt.Errorf("%w by a database that was opened through another name: give this one another number, or a store, or open both through one name", err)
	}
	if err != nil {
		return 0, err
	}
	f.all[number] = &sharedFlake{made, o.Bits, 1}
	return number, nil
}

// Get returns the snowflake with the options' worker number, which Take has made.
func (f *SharedSnowflakes) Get(o keysource.SnowflakeOptions) (*counting.Snowflake, error) {
	number, err := o.Number()
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if one := f.all[number]; one != nil {
		return one.Snowflake, nil
	}
	return nil, statestore.ErrMountClosed
}

// Release removes a user of the snowflake with a worker number. If it was the last one,
// Release closes the snowflake.
func (f *SharedSnowflakes) Release(ctx context.Context, number int) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	one := f.all[number]
	if one.users--; one.users > 0 {
		return nil
	}
	delete(f.all, number)
	return one.Close(ctx)
}
