package counting_test

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/keyfill/keyfill/internal/counting"
	"github.com/keyfill/keyfill/keysource"
)

// memoryMarker keeps a mark while the process lives; a real one keeps it in a database.
type memoryMarker struct {
	mu   sync.Mutex
	mark int64
}

func (m *memoryMarker) Mark(_ context.Context, until int64) (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	before := m.mark
	m.mark = max(before, until)
	return before, nil
}

func ExampleSnowflake() {
	ctx := context.Background()
	s, err := counting.NewSnowflake(nil, keysource.SnowflakeOptions{
		Worker: new(42),
		Marker: new(memoryMarker),
	}, keysource.Env{
		Now: func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close(ctx)
	keys, err := s.Next(ctx, keysource.Request{N: 3})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, key := range keys {
		readings, err := keysource.Inspect(fmt.Sprint(key))
		if err != nil {
			fmt.Println(err)
			return
		}
		r := readings[0]
		fmt.Println(key, r.Kind, r.Time.Format(time.DateTime), r.Worker, r.Sequence)
	}
	fmt.Println("until", s.Traits().End.Format(time.DateOnly))
	// Output:
	// 794762915348652032 snowflake 2026-01-02 03:04:05 42 0
	// 794762915348652033 snowflake 2026-01-02 03:04:05 42 1
	// 794762915348652034 snowflake 2026-01-02 03:04:05 42 2
	// until 2089-09-06
}
