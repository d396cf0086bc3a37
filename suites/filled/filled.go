// Package filled makes the test program of another project open its databases through
// keyfill. The packages below it do so for one driver each:
//
//	import _ "github.com/keyfill/keyfill/suites/filled/mysql"
//
// wraps the driver that is registered as "mysql" and gives its name to the wrapped driver,
// so that the source of the suite stays as it is. If $KEYFILL_SUITES_POLICY is empty,
// nothing is wrapped: one test program runs both plain and filled.
package filled

import (
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"os"
	"sync"
	"time"
	_ "unsafe" // for go:linkname

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/policy"
)

// The environment of a test program.
const (
	PolicyVariable = "KEYFILL_SUITES_POLICY" // the policy file; if it is empty, the program runs plain
	DriverVariable = "KEYFILL_SUITES_DRIVER" // the package below this one whose driver is wrapped
	CountsVariable = "KEYFILL_SUITES_COUNTS" // the file to which the counts are written
)

// Counts holds how many INSERTs of a test program keyfill has filled, refused, and left alone.
type Counts struct {
	Filled  uint64 `json:"filled"`
	Refused uint64 `json:"refused"`
	Others  uint64 `json:"others"` // INSERTs that were kept or passed
}

// Add adds the counts of another program.
func (c *Counts) Add(other Counts) {
	c.Filled += other.Filled
	c.Refused += other.Refused
	c.Others += other.Others
}

// drivers is the registry of database/sql, which has no function that removes a name. The
// standard library keeps its name and type for such programs: go.dev/issue/67401.
//
//go:linkname drivers database/sql.drivers
var drivers map[string]driver.Driver

// Driver registers keyfill, around a registered driver, under the names of that driver. A
// package below this one calls it in its init function, before the program can open a
// database.
func Driver(ofPackage string, names ...string) {
	options, ok := options(ofPackage)
	if !ok {
		return
	}
	for _, name := range names {
		plain := drivers[name]
		delete(drivers, name)
		sql.Register(name+"-plain", plain)
		mount, err := keyfill.RegisterByName(name, name+"-plain", options)
		if err != nil {
			panic(err)
		}
		count(mount)
	}
}

// OpenDB does what sql.OpenDB does. If the program runs through keyfill with the driver of
// the package ofPackage, the returned database fills keys.
func OpenDB(ofPackage string, c driver.Connector) *sql.DB {
	options, ok := options(ofPackage)
	if !ok {
		return sql.OpenDB(c)
	}
	db, err := keyfill.OpenDB(c, options)
	if err != nil {
		panic(err)
	}
	mount, err := keyfill.From(db)
	if err != nil {
		panic(err)
	}
	count(mount)
	return db
}

// Runs reports whether the program runs through keyfill with the driver of the package
// ofPackage, which is one of those below this package.
func Runs(ofPackage string) bool {
	return os.Getenv(PolicyVariable) != "" && os.Getenv(DriverVariable) == ofPackage
}

// options returns the options for keyfill, and whether the program runs through keyfill
// with the driver of the package ofPackage.
func options(ofPackage string) (keyfill.Options, bool) {
	if !Runs(ofPackage) {
		return keyfill.Options{}, false
	}
	config, err := policy.Load(os.Getenv(PolicyVariable))
	if err != nil {
		panic(err)
	}
	return keyfill.Options{Policy: config}, true
}

var (
	mutex  sync.Mutex
	mounts []*keyfill.Mount
)

// count adds a mount (keyfill's handle on a database) to those whose statistics the program
// writes.
func count(m *keyfill.Mount) {
	mutex.Lock()
	defer mutex.Unlock()
	mounts = append(mounts, m)
	if file := os.Getenv(CountsVariable); file != "" && len(mounts) == 1 {
		time.AfterFunc(0, func() { write(file, Counts{}) })
	}
}

// write writes the counts to the file if they have changed, and calls itself again later: a
// test program may end by os.Exit or by a panic at any moment. No goroutine waits in between,
// since some suites look for goroutines that are left.
func write(file string, written Counts) {
	now := counts()
	if now != written {
		text, err := json.Marshal(now)
		if err != nil {
			panic(err)
		}
		if err := os.WriteFile(file+".new", text, 0o600); err != nil {
			panic(err)
		}
		if err := os.Rename(file+".new", file); err != nil {
			panic(err)
		}
	}
	time.AfterFunc(20*time.Millisecond, func() { write(file, now) })
}

// counts adds up the statistics of all mounts.
func counts() Counts {
	mutex.Lock()
	defer mutex.Unlock()
	var sum Counts
	for _, m := range mounts {
		stats := m.Stats()
		sum.Others += stats.Passed
		for _, t := range stats.Tables {
			sum.Filled += t.Filled
			sum.Others += t.Kept
			for _, n := range t.Refused {
				sum.Refused += n
			}
		}
	}
	return sum
}
