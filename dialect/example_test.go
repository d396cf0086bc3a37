package dialect_test

import (
	"fmt"

	"github.com/keyfill/keyfill/dialect"
)

func ExampleByName() {
	d, err := dialect.ByName("mariadb")
	fmt.Println(d.Title, err)
	// Output: MariaDB <nil>
}

func ExampleNames() {
	fmt.Println(dialect.Names())
	// Output: mysql, mariadb, postgres, sqlite, sqlserver, oracle
}

func ExampleAll() {
	for _, d := range dialect.All() {
		fmt.Println(d.Name)
	}
	// Output:
	// mysql
	// mariadb
	// postgres
	// sqlite
	// sqlserver
	// oracle
}

// A layout says in which order the bytes of a UUID are stored.
func ExampleParseLayout() {
	layout, err := dialect.ParseLayout("binary")
	fmt.Println(layout == dialect.SequentialAsBinary, err)
	// Output: true <nil>
}

var sorted = [16]byte{
	0x01, 0x90, 0x00, 0x00, 0x00, 0x01, 0x70, 0x02, 0x80, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09,
}

func ExampleText() {
	fmt.Println(dialect.Text(sorted))
	// Output: 01900000-0001-7002-8003-040506070809
}

// SQL Server compares the last six bytes of a uniqueidentifier first.
func ExampleAtEnd() {
	fmt.Println(dialect.Text(dialect.AtEnd(sorted)))
	// Output: 09080706-0504-0380-7002-019000000001
}

func ExampleFromAtEnd() {
	fmt.Println(dialect.FromAtEnd(dialect.AtEnd(sorted)) == sorted)
	// Output: true
}

// SQL Server stores the first three groups of a uniqueidentifier with the least
// significant byte first.
func ExampleMixedEndian() {
	fmt.Println(dialect.Text(dialect.MixedEndian(sorted)))
	// Output: 00009001-0100-0270-8003-040506070809
}
