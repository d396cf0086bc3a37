// Package hotstate finds states that come near the number of reservations a second that one
// row, or one key of etcd or Redis, can give. docs/performance.md has the measurement.
package hotstate

import (
	"fmt"
	"math"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/policy"
)

// Limit is how many reservations a second a state gives where each change is synced, on the
// machine of docs/performance.md. A store that syncs faster gives more.
type Limit float64

// nearShare is the share of its limit from which on a state is near it: from half of it on
// the waits for the row grow fast.
const nearShare = 0.5

// The limits that were measured, by family, and by driver.
var (
	ofFamilies = map[dialect.Family]Limit{dialect.FamilyMySQL: 480, dialect.FamilyPostgreSQL: 290}
	ofDrivers  = map[string]Limit{"etcd": 550, "redis": 770}
)

// LimitOf returns the limit of a database, or of a store that has a driver and no dialect;
// 0 if it is not known, or if no row is locked.
func LimitOf(d *dialect.Dialect, driver string) Limit {
	if d == nil {
		return ofDrivers[driver]
	}
	return ofFamilies[d.Family]
}

// Counts reports whether each of the keys of a source is a number of a row that all
// processes change. A snowflake and recycled have a row for each process.
func Counts(src policy.Source) bool {
	switch src.Kind {
	case policy.KindNative, policy.KindMaxPlusOne, policy.KindRecycled, policy.KindSnowflake, policy.KindComposite, policy.KindIdentity:
		return false
	}
	return policy.Stateful(src)
}

// Use is a column whose keys are numbers of a state.
type Use struct {
	State     string // its name, with the name of its store
	Source    policy.Source
	Joined    bool    // the row is locked until the transaction of the INSERT ends
	PerSecond float64 // rows a second, of all processes
	Limit     Limit
}

// States sums up the uses of states. The zero value is ready for use.
type States struct{ reservations map[string]float64 }

// Add adds a use, and returns what is wrong and what to change when the state comes near its
// limit by it; empty texts otherwise. A block that follows the use comes near no limit, since
// a process reserves one in ten to twenty seconds.
func (s *States) Add(u Use) (message, remedy string) {
	block := u.Source.Block
	if u.Joined {
		block = 1
	}
	if block == 0 || u.Limit == 0 || u.PerSecond <= 0 {
		return "", ""
	}
	if s.reservations == nil {
		s.reservations = map[string]float64{}
	}
	before := s.reservations[u.State]
	now := before + u.PerSecond/float64(block)
	s.reservations[u.State] = now
	if near := nearShare * float64(u.Limit); now < near || before >= near {
		return "", ""
	}
	message = fmt.Sprintf("at this rate the state is asked for %.0f reservations a second, and gives about %.0f: INSERTs wait for each other", now, float64(u.Limit))
	if u.Joined {
		return message + ", as its row is locked until each transaction ends", "in the policy: leave transaction: joined out of the source, where the numbers may have gaps; or number within scope:"
	}
	// A power of ten with which the state is asked for a tenth of its limit.
	enough := math.Pow(10, math.Ceil(math.Log10(now*float64(block)/float64(u.Limit)*10)))
	return message, fmt.Sprintf("in the policy: block: %.0f in the source, or leave block: out, so that it follows the use", enough)
}
