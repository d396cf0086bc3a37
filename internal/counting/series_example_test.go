package counting_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/keyfill/keyfill/internal/counting"
	"github.com/keyfill/keyfill/keysource"
)

// oneSeries keeps one series, for a single process that never fails. A real store
// keeps a row for each series in a database.
type oneSeries struct{ row keysource.Series }

func (s *oneSeries) Own(context.Context) (keysource.Series, error) { return s.row, nil }

func (s *oneSeries) Move(_ context.Context, was keysource.Series, to int64) (keysource.Series, bool, error) {
	if s.row != was {
		return s.row, false, nil
	}
	s.row.Next = to
	return s.row, true, nil
}

func (s *oneSeries) TakeOver(context.Context, int64) (keysource.Series, error) {
	return keysource.Series{}, nil
}

func (s *oneSeries) Open(context.Context, int64) (keysource.Series, error) {
	if s.row.First > 0 {
		return keysource.Series{}, errors.New("the example has one series")
	}
	s.row = keysource.Series{First: 1, Last: 100, Next: 1, Epoch: 1, Own: true}
	return s.row, nil
}

func (s *oneSeries) GiveUp(_ context.Context, was keysource.Series, to int64) error {
	if s.row == was {
		s.row.Next, s.row.Own = to, false
	}
	return nil
}

func (s *oneSeries) Advance(context.Context, int64) error { return nil }

// What is reserved and not used is given back at Close.
func ExampleRecycled() {
	ctx := context.Background()
	store := new(oneSeries)
	s, err := counting.NewRecycled(counting.RecycledOptions{Store: store}, keysource.Env{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 2 {
		fmt.Println(s.Reserve(ctx, 3))
	}
	fmt.Println(s.Close(ctx), store.row.Next)
	// Output:
	// 1 <nil>
	// 4 <nil>
	// <nil> 7
}

// The worker's number is the series that the store has leased, less one.
func ExampleLeased() {
	ctx := context.Background()
	marker := new(memoryMarker)
	s, err := counting.NewLeased(counting.LeasedOptions{
		Store: new(oneSeries),
		Open: func(worker int) (*counting.Snowflake, error) {
			fmt.Println("worker", worker)
			return counting.NewSnowflake(nil, keysource.SnowflakeOptions{Worker: &worker, Marker: marker}, keysource.Env{})
		},
	}, keysource.Env{})
	if err != nil {
		fmt.Println(err)
		return
	}
	first, err := s.Reserve(ctx, 10)
	fmt.Println(first > 0, err)
	fmt.Println(s.Close(ctx))
	// Output:
	// worker 0
	// true <nil>
	// <nil>
}

// Two sources of one process do not get the same number.
func ExampleWorkers() {
	var workers counting.Workers
	for range 2 {
		_, err := counting.NewSnowflake(&workers, keysource.SnowflakeOptions{Worker: new(7)}, keysource.Env{})
		fmt.Println(errors.Is(err, keysource.ErrWorkerTaken))
	}
	// Output:
	// false
	// true
}

// inMemory is a store of a sequence that forgets everything with the process.
type inMemory struct{ next int64 }

func (m *inMemory) Reserve(_ context.Context, n, _ int64) (keysource.Reservation, error) {
	first := m.next + 1
	m.next += n
	return keysource.Reservation{First: first}, nil
}

func (m *inMemory) Advance(_ context.Context, to int64) error {
	m.next = max(m.next, to-1)
	return nil
}

func ExampleSequence() {
	ctx := context.Background()
	s, err := counting.NewSequence(counting.SequenceOptions{Reserver: new(inMemory), Block: 100}, keysource.Env{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close(ctx)
	first, err := s.Reserve(ctx, 3) // three consecutive integers
	fmt.Println(first, err)
	keys, err := s.Next(ctx, keysource.Request{N: 2})
	fmt.Println(keys, err)
	// Output:
	// 1 <nil>
	// [4 5] <nil>
}
