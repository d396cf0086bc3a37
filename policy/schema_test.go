package policy_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"go.yaml.in/yaml/v3"

	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

func TestSchemaIsUpToDate(t *testing.T) {
	const file = "keyfill.schema.json"
	want, err := policy.GenerateSchema()
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(file, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is not what the fields of the file say; run go test ./policy -update", file)
	}
}

func TestSchemaIsTheCallers(t *testing.T) {
	clear(policy.Schema())
	if !json.Valid(policy.Schema()) {
		t.Error("Schema is not JSON after a caller wrote to what it returned")
	}
}

// TestFieldsAreThoseOfTheTypes compares the fields of the file with the fields of the Go
// types, so that none is forgotten here or there.
func TestFieldsAreThoseOfTheTypes(t *testing.T) {
	inGoOnly := []string{"in_place"}
	names := policy.FieldNames()
	for _, typ := range []reflect.Type{
		reflect.TypeFor[policy.Config](), reflect.TypeFor[policy.Table](),
		reflect.TypeFor[policy.Key](), reflect.TypeFor[policy.Source](), reflect.TypeFor[policy.Store](),
		reflect.TypeFor[policy.KeyTable](), reflect.TypeFor[policy.ScopeColumn](), reflect.TypeFor[keysource.StoreTLS](),
	} {
		var want []string
		for _, f := range reflect.VisibleFields(typ) {
			if name := snake(f.Name); f.IsExported() && !slices.Contains(inGoOnly, name) {
				want = append(want, name)
			}
		}
		got := names[typ.Name()]
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s has the fields %q in a file, want %q", typ.Name(), got, want)
		}
	}
}

// snake returns dsn_env for DSNEnv.
func snake(name string) string {
	var b strings.Builder
	runes := []rune(name)
	for i, c := range runes {
		if i > 0 && unicode.IsUpper(c) &&
			(!unicode.IsUpper(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(c))
	}
	return b.String()
}

// TestSchemaAgreesWithReader takes the golden files: the schema accepts what
// compiles, and what it refuses is refused.
func TestSchemaAgreesWithReader(t *testing.T) {
	var root any
	if err := json.Unmarshal(policy.Schema(), &root); err != nil {
		t.Fatal(err)
	}
	refused := 0
	for _, c := range goldenCases(t) {
		var file any
		if err := yaml.Unmarshal([]byte(c.in), &file); err != nil {
			continue
		}
		text, err := json.Marshal(withoutDates(file))
		if err != nil {
			continue // a key that is no string
		}
		if err := json.Unmarshal(text, &file); err != nil {
			t.Fatal(err)
		}
		msg := violation(root, file)
		if msg != "" {
			refused++
		}
		if !c.bad && msg != "" {
			t.Errorf("%s: the schema refuses %s, which compiles: %s", c.archive, c.name, msg)
		}
	}
	if refused < 20 {
		t.Errorf("the schema refuses %d of the golden files, want 20 at least", refused)
	}
}

// withoutDates returns a value with its days as the texts that they are in YAML
// 1.2 (and to editors), where there are no dates.
func withoutDates(value any) any {
	switch v := value.(type) {
	case time.Time:
		return v.Format(time.DateOnly)
	case map[string]any:
		for name, sub := range v {
			v[name] = withoutDates(sub)
		}
	case []any:
		for i, sub := range v {
			v[i] = withoutDates(sub)
		}
	}
	return value
}

// violation returns why a value does not follow a schema, or "". It knows the
// keywords that the generator writes, and panics at others.
func violation(schema, value any) string {
	if allowed, ok := schema.(bool); ok {
		if allowed {
			return ""
		}
		return "not allowed"
	}
	s := schema.(map[string]any)
	for keyword, arg := range s {
		if msg := keywordViolation(s, keyword, arg, value); msg != "" {
			return fmt.Sprintf("%s: %s", keyword, msg)
		}
	}
	return ""
}

func keywordViolation(s map[string]any, keyword string, arg, value any) string {
	object, isObject := value.(map[string]any)
	list, isList := value.([]any)
	text, isText := value.(string)
	switch keyword {
	case "$schema", "title", "description", "default", "examples": // TestSchemaShowsWhatFits looks at the last two
	case "type":
		number, isNumber := value.(float64)
		_, isBool := value.(bool)
		kind := map[bool]string{
			isObject: "object", isList: "array", isText: "string", isBool: "boolean",
			isNumber && number == math.Trunc(number): "integer",
		}[true]
		if arg, ok := arg.([]any); ok {
			return unless(slices.Contains(arg, any(cmp.Or(kind, map[bool]string{true: "null"}[value == nil]))), "want %v, have %T", arg, value)
		}
		return unless(kind == arg, "want %v, have %T", arg, value)
	case "minimum":
		number, isNumber := value.(float64)
		return unless(!isNumber || number >= arg.(float64), "less than %v", arg)
	case "const":
		return unless(reflect.DeepEqual(arg, value), "want %v", arg)
	case "enum":
		return unless(slices.Contains(arg.([]any), value), "want one of %v", arg)
	case "pattern":
		return unless(!isText || regexp.MustCompile(arg.(string)).MatchString(text), "want %v", arg)
	case "not":
		return unless(violation(arg, value) != "", "not allowed")
	case "minLength":
		return unless(!isText || float64(len(text)) >= arg.(float64), "too short")
	case "minItems":
		return unless(!isList || float64(len(list)) >= arg.(float64), "too short")
	case "maxItems":
		return unless(!isList || float64(len(list)) <= arg.(float64), "too long")
	case "minProperties":
		return unless(!isObject || float64(len(object)) >= arg.(float64), "too few")
	case "uniqueItems":
		for i, v := range list {
			if slices.Contains(list[:i], v) {
				return fmt.Sprintf("%v twice", v)
			}
		}
	case "required":
		for _, name := range arg.([]any) {
			if _, ok := object[name.(string)]; isObject && !ok {
				return fmt.Sprintf("%v is missing", name)
			}
		}
	default:
		return structureViolation(s, keyword, arg, object, value)
	}
	return ""
}

// structureViolation is for the keywords that hold schemas.
func structureViolation(s map[string]any, keyword string, arg any, object map[string]any, value any) string {
	switch keyword {
	case "properties":
		for name, sub := range arg.(map[string]any) {
			if v, ok := object[name]; ok {
				if msg := violation(sub, v); msg != "" {
					return name + ": " + msg
				}
			}
		}
	case "additionalProperties":
		properties, _ := s["properties"].(map[string]any)
		for name, v := range object {
			if _, ok := properties[name]; !ok {
				if msg := violation(arg, v); msg != "" {
					return name + ": " + msg
				}
			}
		}
	case "items":
		list, _ := value.([]any)
		for _, v := range list {
			if msg := violation(arg, v); msg != "" {
				return msg
			}
		}
	case "propertyNames":
		for name := range object {
			if msg := violation(arg, name); msg != "" {
				return name + ": " + msg
			}
		}
	case "allOf":
		for _, sub := range arg.([]any) {
			rule := sub.(map[string]any) // the generator writes if and else only
			if violation(rule["if"], value) != "" {
				if msg := violation(rule["else"], value); msg != "" {
					return msg
				}
			}
		}
	case "anyOf", "oneOf":
		passed := 0
		for _, sub := range arg.([]any) {
			if violation(sub, value) == "" {
				passed++
			}
		}
		return unless(passed == 1 || passed > 1 && keyword == "anyOf", "%d of the forms fit", passed)
	default:
		panic("a keyword that the test does not know: " + keyword)
	}
	return ""
}

// unless returns a message, or an empty text if ok.
func unless(ok bool, format string, args ...any) string {
	if ok {
		return ""
	}
	return fmt.Sprintf(format, args...)
}
