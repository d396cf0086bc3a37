package keysource_test

import (
	"context"
	"database/sql/driver"
	"fmt"
	"strings"
	"time"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/keysource"
)

// fixed is a clock that stands and entropy that is not random, so that the
// examples print the same keys each time.
func fixed() keysource.Env {
	return keysource.Env{
		Now:  func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) },
		Rand: strings.NewReader("not random at all, but printable, and long enough for some keys"),
	}
}

// A caller that has room for the keys needs no new slice for each request.
func ExampleSource_append() {
	var s keysource.Source = keysource.NewUUIDv7(fixed())
	room := make([]driver.Value, 0, 8)
	room = append(room, "an argument")
	room, err := s.Append(context.Background(), room, keysource.Request{N: 2, Layout: dialect.SequentialAsString})
	fmt.Println(room, err)
	// Output:
	// [an argument 019b7ca9-8c88-7000-ae6f-742072616e64 019b7ca9-8c88-7001-af6d-20617420616c] <nil>
}

// A key of 16 bytes needs no memory. The layout makes of it what a driver takes.
func ExampleSource16() {
	var s keysource.Source16 = keysource.NewUUIDv7(fixed())
	key, err := s.Key16(context.Background(), dialect.SequentialAtEnd)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%x\n", key)
	fmt.Println(dialect.SequentialAtEnd.Value(key))
	// Output:
	// 019b7ca98c887000ae6f742072616e64
	// 646e6172-2074-6fae-7000-019b7ca98c88
}

func ExampleCOMB() {
	s := keysource.NewCOMB(fixed(), keysource.EpochDotNet)
	keys, err := s.Next(context.Background(), keysource.Request{N: 2, Layout: dialect.SequentialAtEnd})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, key := range keys {
		fmt.Println(key)
	}
	// Output:
	// 20746120-6c61-2c6c-2062-3a1e8ed66488
	// 20746f6e-6172-646e-6f6d-3a1e8ed66488
}

func ExampleULID() {
	keys, err := keysource.NewULID(fixed()).Next(context.Background(), keysource.Request{N: 2, Layout: dialect.SequentialAsString})
	fmt.Println(keys, err)
	// Output:
	// [01KDYAK348DSQQ883JC5Q68VVD 01KDYAK348DSQQ883JC7D913YG] <nil>
}

func ExampleUUIDv4() {
	keys, err := keysource.NewUUIDv4(fixed()).Next(context.Background(), keysource.Request{N: 1, Layout: dialect.SequentialAsString})
	fmt.Println(keys, err)
	// Output:
	// [6e6f7420-7261-4e64-af6d-20617420616c] <nil>
}

// The numbers of a sequence become short texts, all different.
func ExampleCoprime() {
	c, err := keysource.NewCoprime(keysource.CoprimeOptions{Length: 6, Alphabet: keysource.AlphabetBase62})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(c.Key(1, ""), c.Key(2, ""), c.Key(3, ""))
	number, err := c.Number("QXapD7")
	fmt.Println(number, err)
	// Output:
	// CjINSn eDrBKK QXapD7
	// 3 <nil>
}

func ExamplePseudorandom() {
	p := keysource.NewPseudorandom()
	fmt.Println(p.Key(1, ""), p.Key(2, ""), p.Key(3, ""))
	// Output:
	// 16807 33614 50421
}

func ExampleScatter() {
	s, err := keysource.NewScatter(31, "any text that never changes")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(s.Key(1, ""), s.Key(2, ""), s.Key(3, ""))
	// Output:
	// 1642299193 692228269 2116214303
}

func ExampleComposite() {
	c, err := keysource.NewComposite(20)
	if err != nil {
		fmt.Println(err)
		return
	}
	number, err := c.Number("12520260602120000123")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(c.Key(number, ""))
	// Output:
	// 12520260602120000123
}

// Ids that say what they are, as keys.
func ExampleTypeID() {
	s, err := keysource.NewTypeID(fixed(), "cus")
	if err != nil {
		fmt.Println(err)
		return
	}
	keys, err := s.Next(context.Background(), keysource.Request{N: 2, Layout: dialect.SequentialAsString})
	fmt.Println(keys, err)
	// Output: [cus_01kdyak348e00awvvm41s62vk4 cus_01kdyak348e00tyv90c5t20rbc] <nil>
}
