package counting_test

import (
	"errors"
	"testing"

	"github.com/keyfill/keyfill/internal/counting"
	"github.com/keyfill/keyfill/keysource"
)

func TestWorkers(t *testing.T) {
	workers := new(counting.Workers)
	open := func(number int, w *counting.Workers) (*counting.Snowflake, error) {
		return counting.NewSnowflake(w, keysource.SnowflakeOptions{Worker: &number}, keysource.Env{})
	}
	first, err := open(1, workers)
	if err != nil {
		t.Fatal(err)
	}
	if s, err := open(1, workers); s != nil || !errors.Is(err, keysource.ErrWorkerTaken) {
		t.Errorf("the same number: %v, want ErrWorkerTaken", err)
	}
	for _, other := range []struct {
		number  int
		workers *counting.Workers
	}{{2, workers}, {1, new(counting.Workers)}, {1, nil}} {
		s, err := open(other.number, other.workers)
		if err != nil {
			t.Errorf("number %d: %v", other.number, err)
			continue
		}
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if err := first.Close(t.Context()); err != nil {
		t.Error(err)
	}
	again, err := open(1, workers)
	if err != nil {
		t.Fatalf("the number of a source that was closed: %v", err)
	}
	if err := again.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestSnowflakeWithoutNumber: a source of options without a worker's number is not made,
// for the reason that the options give.
func TestSnowflakeWithoutNumber(t *testing.T) {
	for _, o := range []keysource.SnowflakeOptions{
		{}, {Worker: new(1024)}, {Worker: new(-1)}, {Worker: new(1), WorkerEnv: "N"}, {WorkerEnv: "KEYFILL_TEST_NOT_SET"},
		{Bits: keysource.SnowflakeBits53(), Worker: new(128)},
	} {
		_, err := o.Number()
		if _, made := counting.NewSnowflake(nil, o, keysource.Env{}); err == nil || made == nil || made.Error() != err.Error() {
			t.Errorf("NewSnowflake: %v, want what Number says: %v", made, err)
		}
	}
}
