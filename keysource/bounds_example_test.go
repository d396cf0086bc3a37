package keysource_test

import (
	"fmt"
	"time"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/keysource"
)

// The keys of a day: WHERE id >= low AND id < high.
func ExampleUUIDv7Bounds() {
	day := time.Date(2026, 11, 28, 0, 0, 0, 0, time.UTC)
	low, high, err := keysource.UUIDv7Bounds(day, day.AddDate(0, 0, 1), dialect.SequentialAsString)
	fmt.Println(low, err)
	fmt.Println(high)
	// Output:
	// 01a21f73-9c00-7000-8000-000000000000 <nil>
	// 01a22499-f800-7000-8000-000000000000
}

func ExampleULIDBounds() {
	day := time.Date(2026, 11, 28, 0, 0, 0, 0, time.UTC)
	low, high, err := keysource.ULIDBounds(day, day.AddDate(0, 0, 1), dialect.SequentialAsString)
	fmt.Println(low, high, err)
	// Output:
	// 01M8FQ77000000000000000000 01M8J9KY000000000000000000 <nil>
}

func ExampleCOMBBounds() {
	day := time.Date(2026, 11, 28, 0, 0, 0, 0, time.UTC)
	low, high, err := keysource.COMBBounds(day, day.AddDate(0, 0, 1), keysource.EpochDotNet, dialect.SequentialAtEnd)
	fmt.Println(low, high, err)
	// Output:
	// 00000000-0000-0000-0000-3a2531a07400 00000000-0000-0000-0000-3a2536c6d000 <nil>
}

func ExampleSnowflakeBounds() {
	day := time.Date(2026, 11, 28, 0, 0, 0, 0, time.UTC)
	low, high, err := keysource.SnowflakeBounds(day, day.AddDate(0, 0, 1), keysource.SnowflakeBits{}, "")
	fmt.Println(low, high, err)
	// Output:
	// 914304584908800000 914666972774400000 <nil>
}
