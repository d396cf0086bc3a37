package keyfillotel

import (
	"reflect"
	"sync"
	"weak"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/internal/anchor"
)

// ErrRegistered is returned by [Register] for a mount (keyfill's handle on a database) that
// the meter observes already with the same attributes: the meter would add the figures of
// both registrations.
var ErrRegistered = anchor.Last("mount", "keyfillotel: the meter observes this mount already: register it once, or call Unregister of the first registration before")

// registered are the registrations that are in force. They are kept for the whole process,
// since neither a meter nor a mount (keyfill's handle on a database) can hold them. They do
// not prevent the garbage collector from freeing meters and mounts.
var registered registrations

type registrations struct {
	mu  sync.Mutex
	all map[registeredMount]bool
}

// registeredMount is a pair of a meter and a mount (keyfill's handle on a database) that
// may be registered once at a time. The zero value is used for a meter that is not a
// pointer, such as one that does nothing: such meters are not distinguished.
type registeredMount struct {
	meter  weak.Pointer[byte]
	mount  weak.Pointer[keyfill.Mount]
	common attribute.Distinct
}

// add notes a registration. It returns ErrRegistered if the same pair is registered
// already.
func (r *registrations) add(meter metric.Meter, m *keyfill.Mount, common attribute.Set) (registeredMount, error) {
	v := reflect.ValueOf(meter)
	if v.Kind() != reflect.Pointer || v.IsNil() || v.Elem().Type().Size() == 0 { // the pointers to values without a size may be equal, so such meters cannot be distinguished
		return registeredMount{}, nil
	}
	entry := registeredMount{weak.Make((*byte)(v.UnsafePointer())), weak.Make(m), common.Equivalent()}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.all[entry] {
		return registeredMount{}, ErrRegistered
	}
	if r.all == nil {
		r.all = map[registeredMount]bool{}
	}
	r.all[entry] = true
	return entry, nil
}

// remove forgets a registration.
func (r *registrations) remove(entry registeredMount) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.all, entry)
}

// registration ends the observation of a mount (keyfill's handle on a database), after
// which the mount may be registered again.
type registration struct {
	metric.Registration

	entry registeredMount
	once  sync.Once
}

// Unregister ends the observation.
func (r *registration) Unregister() error {
	r.once.Do(func() { registered.remove(r.entry) })
	return r.Registration.Unregister()
}
