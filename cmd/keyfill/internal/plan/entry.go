package plan

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/keyfill/keyfill/cmd/keyfill/internal/usage"
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/policy"
)

// entry is the entry of a table in a policy file, as the file has it: the policies that a
// plan prints repeat the whole entry, with the plan's changes.
type entry struct {
	dialect *dialect.Dialect
	node    *yaml.Node            // a mapping
	sources map[string]*yaml.Node // the named sources of the file
}

// readEntry returns the entry for a table, or nil if no file is named or the file has no
// entry for it.
func readEntry(d *dialect.Dialect, file, table string) (*entry, error) {
	if file == "" {
		return nil, nil
	}
	rules, cfg, err := compiled(d, file)
	if err != nil {
		return nil, err
	}
	schema, bare, err := rules.ParseName(table)
	if err != nil {
		return nil, usage.Wrap(err)
	}
	found, ok := rules.EntryOf(schema, bare)
	if !ok {
		return nil, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, err
	}
	top := document.Content[0]
	if cfg.Dialect != "" {
		if d, err = dialect.ByName(cfg.Dialect); err != nil {
			return nil, err
		}
	}
	e := &entry{dialect: d, node: plainNode(fieldOf(fieldOf(top, "tables"), found.Name)), sources: map[string]*yaml.Node{}}
	for name := range cfg.Sources {
		e.sources[name] = plainNode(fieldOf(fieldOf(top, "sources"), name))
	}
	return e, nil
}

// compiled reads and compiles a policy file, which may name another dialect than d.
func compiled(d *dialect.Dialect, file string) (*policy.Policy, *policy.Config, error) {
	cfg, err := policy.Load(file)
	if err != nil {
		return nil, nil, err
	}
	if cfg.Dialect != "" {
		if d, err = dialect.ByName(cfg.Dialect); err != nil {
			return nil, nil, err
		}
	}
	rules, err := cfg.Compile(d)
	return rules, cfg, err
}

// keyOf returns the mapping in an entry that names a column, nil if there is none. The
// policy was parsed before, so that the mapping has the expected form.
func (e *entry) keyOf(entry *yaml.Node, column string) *yaml.Node {
	keys := []*yaml.Node{entry}
	if list := fieldOf(entry, "keys"); list != nil {
		keys = append(keys, list.Content...)
	}
	for _, key := range keys {
		if name := fieldOf(key, "column"); name != nil &&
			(name.Value == catalog.PolicyColumn(e.dialect, column) || e.dialect.Fold(name.Value, false) == e.dialect.Fold(column, true)) {
			return key
		}
	}
	return nil
}

// isAlone reports whether the entry has one key column.
func (e *entry) isAlone(entry *yaml.Node) bool {
	list := fieldOf(entry, "keys")
	return list == nil || len(list.Content) == 1 && fieldOf(entry, "column") == nil
}

// with returns the text of the entry with fields set in the source of a column; the source
// is a sequence then. If the entry does not have the column, it gets the key new.
func (e *entry) with(column, fields, new string) string {
	entry := cloneNode(e.node)
	key := e.keyOf(entry, column)
	if key == nil {
		addKey(entry, parseNode(new))
		return flowText(entry)
	}
	source := e.sourceOf(key)
	set := parseNode("{" + fields + "}")
	for i := 0; i+1 < len(set.Content); i += 2 {
		setField(source, set.Content[i].Value, set.Content[i+1])
	}
	if fieldOf(set, "below") != nil {
		removeField(source, "exclusive") // a source has either below or exclusive: with below the engine numbers the column too
	}
	if fieldOf(set, "exclusive") != nil {
		removeField(source, "below")
	}
	for field, instead := range map[string]string{"start_at": "start", "start": "start_at"} {
		if fieldOf(set, field) != nil {
			removeField(source, instead)
		}
	}
	if bits := fieldOf(parseNode(new), "max_bits"); bits != nil && fieldOf(key, "max_bits") == nil {
		setField(key, "max_bits", bits)
	}
	setField(key, "source", source)
	return flowText(entry)
}

// from returns the text of the entry with another source for a column. If the entry does
// not have the column, it gets the key new.
func (e *entry) from(column, source, new string) string {
	entry := cloneNode(e.node)
	if key := e.keyOf(entry, column); key != nil {
		setField(key, "source", parseNode(source))
	} else {
		addKey(entry, parseNode(new))
	}
	return flowText(entry)
}

// plus returns the text of the entry with one more key.
func (e *entry) plus(key string) string {
	entry := cloneNode(e.node)
	addKey(entry, parseNode(key))
	return flowText(entry)
}

// uuid returns the text of the entry whose column is a UUID. If the entry does not have the
// column, it gets the key new.
func (e *entry) uuid(column, layout, new string) string {
	entry := cloneNode(e.node)
	key := e.keyOf(entry, column)
	if key == nil {
		addKey(entry, parseNode(new))
		return flowText(entry)
	}
	for _, name := range []string{"max_bits", "last_insert_id", "layout", "mode"} {
		removeField(key, name)
	}
	setField(key, "source", stringNode(policy.KindUUIDv7))
	if layout != "" {
		setField(key, "layout", stringNode(layout))
	}
	return flowText(entry)
}

// off returns the text of an entry that leaves a column to the engine: if the table has
// other keys, the column's source becomes identity; if it has no other key, the table's
// mode becomes off.
func (e *entry) off(column string) (text string, alone bool) {
	entry := cloneNode(e.node)
	key := e.keyOf(entry, column)
	switch {
	case key == nil:
		return flowText(entry), false
	case e.isAlone(entry):
		setField(entry, "mode", stringNode("off"))
		if fieldOf(key, "source") != nil {
			setField(key, "source", e.sourceOf(key))
		}
		return flowText(entry), true
	}
	for _, name := range []string{"layout", "max_bits", "last_insert_id", "fill"} {
		if name != "fill" || key != entry { // a field fill of the table's own entry also applies to its other keys, so it stays
			removeField(key, name)
		}
	}
	setField(key, "source", stringNode("identity"))
	return flowText(entry), false
}

// sourceOf returns the source of a key as a mapping within the entry. It copies a named
// source into the entry, with the field name: so that the same counter is used, and
// replaces a source that is not a sequence by a sequence.
func (e *entry) sourceOf(key *yaml.Node) *yaml.Node {
	source, name := fieldOf(key, "source"), ""
	if source != nil && source.Kind == yaml.ScalarNode {
		name = source.Value
		source = e.sources[name]
	}
	kind := fieldOf(source, "kind")
	if kind == nil || kind.Value != policy.KindSequence {
		return parseNode("{kind: sequence, ensure_schema: true}")
	}
	source = cloneNode(source)
	if name != "" && fieldOf(source, "name") == nil {
		setField(source, "name", stringNode(name))
	}
	if fieldOf(source, "ensure_schema") == nil {
		setField(source, "ensure_schema", &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: "true"})
	}
	return source
}

// isNumbered reports whether the source of a column has a format, a period or a scope: then
// its keys are no integers that the engine could give as well.
func (e *entry) isNumbered(column string) bool {
	if e == nil {
		return false
	}
	source := fieldOf(e.keyOf(e.node, column), "source")
	if source != nil && source.Kind == yaml.ScalarNode {
		source = e.sources[source.Value]
	}
	return slices.ContainsFunc([]string{"format", "period", "scope"}, func(name string) bool { return fieldOf(source, name) != nil })
}

// addKey adds a key to an entry that has others.
func addKey(entry, key *yaml.Node) {
	if fieldOf(entry, "column") == nil {
		entry.Content = append(key.Content, entry.Content...)
		return
	}
	list := fieldOf(entry, "keys")
	if list == nil {
		list = &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
		setField(entry, "keys", list)
	}
	list.Content = append(list.Content, key)
}

// fieldOf returns the value of a name in a mapping, or nil.
func fieldOf(mapping *yaml.Node, name string) *yaml.Node {
	if mapping == nil || mapping.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == name {
			return mapping.Content[i+1]
		}
	}
	return nil
}

// setField replaces the value of a name in a mapping, or adds the name at the end.
func setField(mapping *yaml.Node, name string, value *yaml.Node) {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == name {
			mapping.Content[i+1] = value
			return
		}
	}
	mapping.Content = append(mapping.Content, stringNode(name), value)
}

// removeField removes a name from a mapping.
func removeField(mapping *yaml.Node, name string) {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == name {
			mapping.Content = slices.Delete(mapping.Content, i, i+2)
			return
		}
	}
}

// stringNode returns a text as a node. The text is quoted if a YAML parser could read it as
// a value of another type.
func stringNode(text string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text}
	if catalog.YAMLString(text) != text {
		n.Style = yaml.DoubleQuotedStyle
	}
	return n
}

// parseNode parses a mapping that keyfill has written itself.
func parseNode(text string) *yaml.Node {
	var document yaml.Node
	if err := yaml.Unmarshal([]byte(text), &document); err != nil {
		panic(fmt.Sprintf("keyfill has written %q: %v", text, err))
	}
	return plainNode(document.Content[0])
}

// plainNode returns a copy of a node in one line, without comments.
func plainNode(n *yaml.Node) *yaml.Node {
	n = cloneNode(n)
	var clean func(n *yaml.Node)
	clean = func(n *yaml.Node) {
		n.HeadComment, n.LineComment, n.FootComment = "", "", ""
		if n.Kind != yaml.ScalarNode {
			n.Style = yaml.FlowStyle
		}
		for _, one := range n.Content {
			clean(one)
		}
	}
	clean(n)
	return n
}

// cloneNode returns a copy that shares nothing with a node.
func cloneNode(n *yaml.Node) *yaml.Node {
	copied := *n
	copied.Content = nil
	for _, one := range n.Content {
		copied.Content = append(copied.Content, cloneNode(one))
	}
	return &copied
}

// flowText returns a node as text.
func flowText(n *yaml.Node) string {
	text, err := yaml.Marshal(n)
	if err != nil {
		panic(fmt.Sprintf("a policy that was read cannot be written: %v", err))
	}
	return strings.TrimSpace(string(text))
}
