package rewrite

// insertState is what the parser knows of the INSERT that it reads.
type insertState struct {
	Insert
	listed   places // of the keys in the column list
	columns  int    // length of the column list; -1 without one
	listEnd  int    // where the last column of the list ends, or its bracket
	listAt   int    // where a column list would stand
	judged   bool   // some of the values in a row stand in the place of a key
	involved bool   // a value of a row is not a constant
	name     name
	calls    []span // the values of the first row that may be sets, where the engine has them
	merged   bool   // it is of a MERGE, which takes no sets
	linked   bool   // the table is behind a database link

	upserts []upsertClause // in the text

	conditional bool // a condition of a SELECT may leave a row out

	// overruled says why the engine would take another key than the filled one;
	// overruledAt is the token that makes the engine take it.
	overruled   Reason
	overruledAt token
}

// fewKeys is how many keys of a table there is room for without an allocation;
// most have one.
const fewKeys = 2

// places are for each key the column of a list that it is.
type places struct {
	few  [fewKeys]int // plus one, of the first keys
	more []int        // plus one, of the others
}

// of returns the column that a key is, -1 for none.
func (l *places) of(key int) int {
	if key < fewKeys {
		return l.few[key] - 1
	}
	if key -= fewKeys; key < len(l.more) {
		return l.more[key] - 1
	}
	return -1
}

func (l *places) set(key, column int) {
	if key < fewKeys {
		l.few[key] = column + 1
		return
	}
	key -= fewKeys
	for len(l.more) <= key {
		l.more = append(l.more, 0)
	}
	l.more[key] = column + 1
}

// newInsertState begins an INSERT with the head. The caller keeps it where it is done
// with before the caller returns, which spares the heap.
func newInsertState(h head, verb int) insertState {
	return insertState{
		Insert:  Insert{Target: h.target, Database: h.name.outside(), Cased: h.cased, Offset: verb, Rows: -1, Conflict: h.conflict, Replaces: h.replaces, delayed: h.delayed, scopes: scopesOf(h.target)},
		columns: -1,
		name:    h.name,
	}
}

// missing appends to keys those that the column list does not name and the
// policy fills then.
func (in *insertState) missing(keys []int) []int {
	for i := range in.Target.Keys {
		if in.listed.of(i) < 0 && in.Target.Keys[i].Fill&FillMissing != 0 {
			keys = append(keys, i)
		}
	}
	return keys
}

// lists reports whether the column list names a key.
func (in *insertState) lists() bool {
	for i := range in.Target.Keys {
		if in.listed.of(i) >= 0 {
			return true
		}
	}
	return false
}

// lacks reports whether there is a key that the column list does not name and the
// policy fills then.
func (in *insertState) lacks() bool {
	for i := range in.Target.Keys {
		if in.listed.of(i) < 0 && in.Target.Keys[i].Fill&FillMissing != 0 {
			return true
		}
	}
	return false
}
