package keysource_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/keysource"
)

func ExampleUUIDv7() {
	s := keysource.NewUUIDv7(keysource.Env{
		Now:  func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) },
		Rand: strings.NewReader("not random at all, but printable"),
	})
	keys, err := s.Next(context.Background(), keysource.Request{N: 3, Layout: dialect.SequentialAsString})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, key := range keys {
		fmt.Println(key)
	}
	// Output:
	// 019b7ca9-8c88-7000-ae6f-742072616e64
	// 019b7ca9-8c88-7001-af6d-20617420616c
	// 019b7ca9-8c88-7002-ac2c-206275742070
}

func ExampleInspect() {
	for _, text := range []string{
		"39babcb4-e446-4ed5-4012-2e27653a9d13",
		"139d3a65-272e-1280-7ed5-0137aa880c46",
		"01ARZ3NDEKTSV4RRFFQ69G5FAV",
	} {
		readings, err := keysource.Inspect(text)
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, r := range readings {
			fmt.Println(r.Kind, r.Layout, r.Time.Format("2006-01-02 15:04:05.000"))
		}
	}
	// Output:
	// comb string 2012-06-02 00:11:11.814
	// uuidv7 sequential_at_end 2012-06-02 00:11:11.814
	// ulid string 2016-07-30 23:54:10.259
}
