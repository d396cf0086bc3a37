package keyfill_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/rewrite"
)

func ExampleRegister() {
	if _, err := keyfill.Register("printer-register-keyfill", printer{}, options(uuids)); err != nil {
		fmt.Println(err)
		return
	}
	db, err := sql.Open("printer-register-keyfill", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close()
	if _, err := db.Exec("INSERT INTO orders (note) VALUES ($1)", "a"); err != nil {
		fmt.Println(err)
	}
	// Output:
	// INSERT INTO orders (note, "id") VALUES ($1, $2)
	//    a
	//    019b76da-a800-7000-8000-000000000001
}

// A driver that is registered already is wrapped under a second name.
func ExampleRegisterByName() {
	mount, err := keyfill.RegisterByName("printer-keyfill", "printer", options(uuids))
	if err != nil {
		fmt.Println(err)
		return
	}
	db, err := sql.Open("printer-keyfill", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close()
	if _, err := db.Exec("INSERT INTO orders (id, note) VALUES ($1, $2)", "an id of the program's", "a"); err != nil {
		fmt.Println(err)
	}
	fmt.Println(mount.Stats().Tables["orders"].Kept, "was kept")
	// Output:
	// INSERT INTO orders (id, note) VALUES ($1, $2)
	//    an id of the program's
	//    a
	// 1 was kept
}

func ExampleWrapConnector() {
	c, err := keyfill.WrapConnector(printer{}, options(uuids))
	if err != nil {
		fmt.Println(err)
		return
	}
	db := sql.OpenDB(c)
	defer db.Close()
	if _, err := db.Exec("INSERT INTO orders (note) VALUES ('a'), ('b')"); err != nil {
		fmt.Println(err)
	}
	fmt.Println(c.Mount().Stats().Tables["orders"].Keys, "keys")
	// Output:
	// INSERT INTO orders (note, "id") VALUES ('a', '019b76da-a800-7000-8000-000000000001'), ('b', '019b76da-a800-7001-8000-000000000002')
	// 2 keys
}

func ExampleOpenDB() {
	db, err := keyfill.OpenDB(printer{}, options(integers))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close()
	result, err := db.Exec("INSERT INTO orders (note) VALUES (?)", "a")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.LastInsertId())
	// Output:
	// INSERT INTO orders (note, "id") VALUES (?, ?)
	//    a
	//    1
	// 1 <nil>
}

func ExampleFrom() {
	db, err := keyfill.OpenDB(printer{}, options(uuids))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close()
	mount, err := keyfill.From(db)
	fmt.Println(mount != nil, err)

	plain := sql.OpenDB(printer{})
	defer plain.Close()
	_, err = keyfill.From(plain)
	fmt.Println(errors.Is(err, keyfill.ErrNotOurs))
	// Output:
	// true <nil>
	// true
}

// Mounts finds the mount of a blank import, whatever wraps the database.
func ExampleMounts() {
	if _, err := keyfill.Register("printer-mounts-keyfill", printer{}, options(integers)); err != nil { // as a blank import does
		fmt.Println(err)
		return
	}
	db, err := sql.Open("printer-mounts-keyfill", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close()
	fmt.Println(keyfill.Mounts()["printer-mounts-keyfill"].Keys(context.Background(), "orders", 3))
	// Output: [1 2 3] <nil>
}

// What cannot be filled exactly is refused before it is sent.
func ExampleError() {
	db, err := keyfill.OpenDB(printer{}, options(uuids))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close()
	_, err = db.Exec("INSERT INTO orders VALUES ('a', 'b')")
	var refused *keyfill.Error
	if errors.As(err, &refused) {
		fmt.Println(refused.Table, refused.Offset, errors.Is(err, rewrite.ErrNoColumnList))
	}
	// Output: orders 26 true
}

// Unwrap gives a program the driver's own connection, for what only the driver has.
func ExampleUnwrap() {
	db, err := keyfill.OpenDB(printer{}, options(uuids))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close()
	conn, err := db.Conn(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer conn.Close()
	err = conn.Raw(func(driverConn any) error {
		_, own := keyfill.Unwrap(driverConn).(printer)
		fmt.Println(own)
		return nil
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output: true
}
