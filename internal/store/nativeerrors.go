package store

import "github.com/keyfill/keyfill/internal/anchor"

// Errors about a sequence of the engine. All are wrapped in an [*Error].
var (
	// ErrNoNative is returned for an engine without sequences.
	ErrNoNative = anchor.New("native", "this engine has no sequences: use kind sequence")

	// ErrNoSequence is returned when the sequence does not exist, or the user may not draw
	// from it.
	ErrNoSequence = anchor.New("native", "the engine has no such sequence that this user may draw from: create it, write its schema before the name, or let it be used")

	// ErrNoOwn is returned when the policy names no sequence, and the default of the
	// column draws from none.
	ErrNoOwn = anchor.New("native", "the column has no sequence of its own: name one in sequence")

	// ErrIncrement is returned when the increment of the sequence is not the block (how
	// many integers a value stands for).
	ErrIncrement = anchor.New("native", "the increment of the engine's sequence is not the block of the policy")

	// ErrNodes is returned on a Galera cluster for a sequence that does not have
	// INCREMENT BY 0, or for blocks of more than one.
	ErrNodes = anchor.New("native", "on Galera a sequence needs INCREMENT BY 0, or its nodes give the same values: alter it and say block: 1, or take kind sequence")

	// ErrCycle is returned when the sequence begins again after its end.
	ErrCycle = anchor.New("native", "the engine's sequence has CYCLE, which repeats keys")

	// ErrBelowOne is returned when the sequence has given a value below 1, which is not a
	// key.
	ErrBelowOne = anchor.New("native", "the engine's sequence counts from below 1, but keys begin at 1")

	// ErrUnordered is returned when each session draws values of the sequence in advance.
	ErrUnordered = anchor.New("native", "each session draws values of the sequence in advance (CACHE), so keys come out of order")

	// ErrOtherSequence is returned when the default of a column draws from another
	// sequence, or changes the value that it draws.
	ErrOtherSequence = anchor.New("native", "the column has another default: let it draw from the same sequence, remove it, or say exclusive if no INSERT uses it")

	// ErrScattered is returned when other sessions draw so often that not enough values
	// follow each other.
	ErrScattered = anchor.New("native", "other sessions draw from the engine's sequence at the same time")

	// ErrNoAdvance is returned when a sequence of the engine would have to be raised.
	ErrNoAdvance = anchor.New("native", "a sequence of the engine is not moved from here, since that might set it back: stop what draws from it")
)
