package policy

// keyRow identifies a row of an application's own table that holds a state (counter).
type keyRow struct {
	store, table, row string
}

// rowOf returns the row that holds the state (counter) called name of a source; false if the
// state is in keyfill's own table.
func (n namer) rowOf(s Source, name string) (keyRow, bool) {
	if s.Table == nil {
		return keyRow{}, false
	}
	parts, _ := n.parse(s.Table.Name) // a wrong table name was reported before
	var texts []string
	for _, part := range parts {
		texts = append(texts, part.Text)
	}
	r := keyRow{store: s.Store, table: n.join(texts...)}
	switch {
	case s.Table.Key == "":
	case s.Table.Row != "":
		r.row = s.Table.Row
	default:
		r.row = name
	}
	return r, true
}

// checkRows reports a row of an application's table that two states (counters) would share.
// Each state would start above the keys of its own columns alone, and so could repeat keys
// of the columns of the other state.
func (k *compiler) checkRows() {
	states := make(map[keyRow]string)
	for _, u := range k.uses {
		key, s := *u.key(), u.key().Source
		if s.Table == nil {
			continue
		}
		if u.isGlob() && (s.Table.Key == "" || s.Table.Row != "") && key.name == nil {
			k.wrong(u.at.in("source"), "the tables that the pattern matches would share a row; write key and leave row out, or name the source under sources:")
			continue
		}
		if u.isGlob() && key.name == nil {
			continue
		}
		k.policy.nameState(u.entry, &key, k.fullName(u.entry))
		state := key.name.String()
		row, _ := k.names.rowOf(s, state)
		if other, ok := states[row]; ok && other != state {
			k.wrong(u.at.in("source"), "the source's row in the table is also the row of the state %s; name one source under sources: and let both tables use that source", showState(other))
		}
		states[row] = state
	}
}
