package policy

// lastInsertID returns how an application learns the key at p. rk holds the other rules
// of the key.
func (k *compiler) lastInsertID(p place, key Key, rk *RuleKey) LastInsertID {
	if !rk.Integer {
		return LastInsertIDOff
	}
	normal, at := lastInsertIDOf(k.names.d), p.in("last_insert_id")
	switch {
	case key.LastInsertID == LastInsertIDSession && normal != LastInsertIDSession:
		k.wrong(at, "%s has no LAST_INSERT_ID() that a statement can set; say result or off", k.names.d.Title)
	case key.LastInsertID == LastInsertIDSession && rk.Layout != "":
		k.wrong(at, "LAST_INSERT_ID() takes no key that is sent as %s; say result or off", rk.Layout)
	case key.LastInsertID != "":
		return key.LastInsertID
	case p.item > 0 || rk.Layout != "": // an additional key column (an entry of the field keys), or a key that is sent as text
		return LastInsertIDOff
	}
	return normal
}

// checkLearnt reports a second key of one table that LastInsertId would have to return.
func (k *compiler) checkLearnt(uses []keyUse) {
	first := ""
	for _, u := range uses {
		switch key := u.key(); {
		case key.LastInsertID == LastInsertIDOff:
		case first == "":
			first = key.Column
		default:
			k.wrong(u.at.in("last_insert_id"), "a statement has one LastInsertId, and it is the key of %s; say last_insert_id: off for one of the two", show(first))
		}
	}
}
