package drivers

import (
	"maps"
	"slices"
)

// Known returns the paths of the packages of all known drivers.
func Known() []string { return slices.Sorted(maps.Keys(known)) }
