package policy

// ofColumn returns what in the column the source counts through, for a message, such as the
// keys of the column. Two columns cannot share that. It is empty if the source counts
// through a state (counter) of its own.
func (s Source) ofColumn() string {
	switch {
	case s.Kind == KindMaxPlusOne:
		return "the keys of the column"
	case s.Kind == KindNative && s.Sequence == "":
		return "the column's own sequence"
	}
	for _, f := range ownFields {
		if f.owns != "" && f.isSet(&s) {
			return f.owns
		}
	}
	return ""
}

// checkOwn reports a source that counts through its column if several keys use it: its keys
// would then not be unique over all these columns, which a shared source promises.
func (k *compiler) checkOwn(u keyUse) {
	if what := u.key().Source.ofColumn(); what != "" {
		k.wrong(u.at.in("source"), "the source counts through %s, so two tables cannot share it: write it in place for each table", what)
	}
}

// nameStates names the states (counters) of all keys and finds out which are shared.
func (k *compiler) nameStates() {
	k.markWide()
	if k.err() != nil {
		return
	}
	for _, u := range k.uses {
		k.useState(u)
	}
	k.checkRows()
	if k.err() != nil {
		return
	}
	k.added = make(map[sourceID]bool)
	for _, u := range k.uses {
		k.addSource(u.key().Source)
	}
	for _, e := range k.policy.inOrder {
		e.rule.Keys = k.policy.keysFor(e, k.fullName(e))
		e.rule.Loose = e.isLoose("")
	}
	for _, e := range k.policy.globs {
		for _, key := range e.keys {
			if key.name != nil { // a key without a name for its state has a separate state for each table
				key.State = key.name.String()
			}
			e.rule.Keys = append(e.rule.Keys, key.RuleKey)
		}
		e.rule.Loose = e.isLoose("")
	}
	for _, u := range k.uses {
		if u.isGlob() {
			continue
		}
		key := u.rule.Keys[u.i]
		if key.fault != "" && !key.state.has(wordSchema) {
			k.wrong(u.at.in("source"), "the state %s: %s; say name: in its source", showState(key.State), key.fault)
		}
	}
}

// fullName returns the name of the table of an exact entry, with the default schema if
// the entry has none.
func (k *compiler) fullName(e *entry) tableName {
	n := tableName{e.schema.Text, e.table.Text}
	if e.isBare() {
		n.schema = k.policy.defaultSchema
	}
	return n
}

// markWide marks the keys whose states (counters) may serve several tables although this
// does not follow from the name of the state. These are the keys of globs if the state's
// name does not distinguish the matched tables, and keys the names of whose states may
// become equal. All of these get the least MaxBits among them.
func (k *compiler) markWide() {
	named := make(map[string]*alikeKeys) // indexed by the template of the state's name
	for _, u := range k.uses {
		name := u.key().name
		u.key().wide = !u.tells(name)
		if u.key().wide {
			k.checkOwn(u)
		}
		if name == nil {
			continue
		}
		id := name.id()
		if named[id] == nil {
			named[id] = &alikeKeys{name: name, kinds: make(map[alikeKind]*alikeStates)}
		}
		named[id].isOpen = named[id].isOpen || u.isGlob() || name.has(wordSchema)
	}
	for _, u := range k.uses {
		if name := u.key().name; name != nil {
			if alike := named[name.id()]; alike.isOpen && !alike.add(u) {
				k.wrong(u.at.in("source"), otherSource, showState(name.String()))
			}
		}
	}
	for _, alike := range named {
		alike.mark()
	}
}

// meetsIn reports whether two keys whose states (counters) have the template name can have
// the same state.
func (u keyUse) meetsIn(name template, v keyUse) bool {
	if name.has(wordTable) {
		switch {
		case u.entry == v.entry:
			return true
		case !u.isGlob() && !v.isGlob(),
			!u.isGlob() && u.isBare(), !v.isGlob() && v.isBare():
			// Two exact entries never match the same table. Nor do a glob and an exact
			// entry without a schema, which wins for its name.
			return false
		case !u.table.Meets(v.table):
			return false
		}
	}
	return !name.has(wordSchema) || u.isBare() || v.isBare() || u.schema.Meets(v.schema)
}

// otherSource is the message about a state (counter) that two different sources would share.
const otherSource = "the state %s belongs to another source too; say name: in one of them"

// useState notes which state (counter) a key has, unless that depends on the table that a
// glob matches. It reports a state that belongs to another source.
func (k *compiler) useState(u keyUse) {
	key := *u.key()
	if u.isGlob() && (key.name == nil || key.name.has(wordTable) || key.name.has(wordSchema)) {
		return
	}
	ref := k.policy.nameState(u.entry, &key, k.fullName(u.entry))
	if key.name.has(wordSchema) {
		return
	}
	id := key.name.id()
	use := k.policy.states[id]
	switch {
	case use == nil:
		use = &stateUse{isOf: make(map[ColumnRef]bool), source: key.Source, shared: key.wide, maxBits: key.MaxBits}
		k.policy.states[id] = use
	case !use.source.equal(key.Source):
		k.wrong(u.at.in("source"), otherSource, showState(key.name.String()))
	default:
		k.checkOwn(u)
		use.shared, use.maxBits = true, min(use.maxBits, key.MaxBits)
	}
	if !u.isGlob() {
		use.columns = append(use.columns, ref)
		use.isOf[ref] = true
	}
}

// addSource adds a source to the policy's sources, unless it is among them.
func (k *compiler) addSource(s Source) {
	if id := s.id(); Stateful(s) && !k.added[id] {
		k.added[id] = true
		k.policy.sources = append(k.policy.sources, s)
	}
}
