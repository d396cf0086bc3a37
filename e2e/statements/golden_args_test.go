package statements_test

import (
	"database/sql"
	"fmt"
	"iter"
	"slices"
)

// argKind is what an argument of a golden case is; each argument is another
// value of its kind, so that one in the wrong column is seen.
type argKind uint8

const (
	argDigits argKind = iota // text that numbers and texts take
	argUUID
	argNull
	argZero     // "0"
	argZeroUUID // the zero UUID
	argEmpty    // ''
)

// value returns the i-th argument of a case.
func (k argKind) value(i int) any {
	switch k {
	case argDigits:
		return fmt.Sprint(910_001 + i)
	case argUUID:
		return fmt.Sprintf("aaaaaaaa-0000-7000-8000-%012d", i+1)
	case argZero:
		return "0"
	case argZeroUUID:
		return "00000000-0000-0000-0000-000000000000"
	case argEmpty:
		return ""
	}
	return nil
}

// argsOf returns the arguments of kinds, by name where there are names.
func argsOf(kinds []argKind, names []string) []any {
	args := make([]any, len(kinds))
	for i, k := range kinds {
		args[i] = k.value(i)
		if names != nil {
			args[i] = sql.Named(names[i], args[i])
		}
	}
	return args
}

// argChoices returns what n arguments may be, the likely first: the engine says
// which ones its columns take.
func argChoices(n int) iter.Seq[[]argKind] {
	return func(yield func([]argKind) bool) {
		const most = 5 // arguments of which all choices are tried
		if n <= most {
			for choice := range power(3, n) {
				kinds := make([]argKind, n)
				for i := range kinds {
					kinds[i] = argKind(choice % 3)
					choice /= 3
				}
				if !yield(kinds) {
					return
				}
			}
			return
		}
		for _, pattern := range [][]argKind{{argDigits}, {argUUID, argDigits}, {argDigits, argUUID}, {argUUID}, {argNull}} {
			kinds := make([]argKind, n)
			for i := range kinds {
				kinds[i] = pattern[i%len(pattern)]
			}
			if !yield(kinds) {
				return
			}
		}
	}
}

func power(base, n int) int {
	p := 1
	for range n {
		p *= base
	}
	return p
}

// argMasks returns the arguments with NULL, and with zeros, in some of their
// places, for cases where the arguments decide.
func argMasks(kinds, zeros []argKind) [][]argKind {
	masked := func(k argKind, in func(i int) bool) []argKind {
		m := slices.Clone(kinds)
		for i := range m {
			if in(i) {
				m[i] = k
			}
		}
		return m
	}
	var (
		all  = func(int) bool { return true }
		even = func(i int) bool { return i%2 == 0 }
		odd  = func(i int) bool { return i%2 == 1 }
	)
	masks := [][]argKind{masked(argNull, all), masked(argNull, even), masked(argNull, odd)}
	for i := range kinds {
		masks = append(masks, masked(argNull, func(j int) bool { return i == j }))
	}
	for _, k := range zeros {
		masks = append(masks, masked(k, all), masked(k, even), masked(k, odd))
	}
	return masks
}
