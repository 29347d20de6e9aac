package claims

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// Facts are the data about a user from which claim rules make claims.
type Facts struct {
	// Roles are the roles of the user and of the user's groups.
	Roles, Groups []string
	Attributes    map[string][]string // the values of each attribute
}

// plainNumber matches a number that has no exponent and that every JSON parser can represent.
var plainNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]{0,14})(\.[0-9]{1,10})?$`)

// maxMembers is the maximum size of the custom claims in a token, in bytes of JSON. It is limited since tokens are sent
// in a header of each request.
const maxMembers = 8 << 10

// Members are the claims made by claim rules. A nil *Members is empty.
type Members struct {
	// Omitted are the names of claims that were omitted because the token would have become too large.
	Omitted []string

	object map[string]any // the claims, with nested objects
	size   int            // of the claims, in bytes of JSON
}

// Wanted returns the rules of the lists that apply to a place (AccessToken, IDToken or UserInfo) and to the scope of a
// token. If no rule applies, it does not allocate.
func Wanted(place string, scope []string, lists ...[]Rule) (rules []Rule) {
	for _, list := range lists {
		for i := range list {
			if list[i].applies(place, scope) {
				rules = append(rules, list[i])
			}
		}
	}
	return rules
}

// Make applies rules to the facts about a user and returns the resulting claims. An attribute without a value is
// omitted. If several rules make lists under the same name, the claim has all their values; otherwise the first rule
// wins.
func Make(rules []Rule, facts *Facts) *Members {
	m := &Members{object: make(map[string]any)}
	for i := range rules {
		if value := rules[i].value(facts); value != nil && !m.add(rules[i].Claim, value) {
			m.Omitted = append(m.Omitted, rules[i].Claim)
		}
	}
	return m
}

// add adds a claim. It returns false if the claim does not fit into maxMembers. A claim that conflicts with an earlier
// one is ignored, unless both are lists, which are merged.
func (m *Members) add(claim string, value any) bool {
	path := steps(claim)
	parent := m.object
	for _, name := range path[:len(path)-1] {
		child, isObject := parent[name].(map[string]any)
		if !isObject {
			if parent[name] != nil { // a rule of another list has made a value here
				return true
			}
			child = make(map[string]any)
		}
		parent[name] = child
		parent = child
	}
	name := path[len(path)-1]
	if earlier, exists := parent[name]; exists {
		earlierList, isList := earlier.([]string)
		list, isListToo := value.([]string)
		if !isList || !isListToo {
			return true
		}
		value = union(earlierList, list)
	}
	text, err := json.Marshal(value)
	if err != nil || m.size+len(claim)+len(text) > maxMembers {
		return false
	}
	m.size += len(claim) + len(text)
	parent[name] = value
	return true
}

// union returns a new list with the values of a, followed by the values of b that a does not contain.
func union(a, b []string) []string {
	list := slices.Clone(a)
	for _, value := range b {
		if !slices.Contains(list, value) {
			list = append(list, value)
		}
	}
	return list
}

// Append inserts the claims into object, the text of a JSON object, and returns the new text. The object must have at
// least one member, and no space may follow its closing brace. The new text may reuse the underlying array of object.
func (m *Members) Append(object []byte) []byte {
	if m == nil {
		return object
	}
	prune(m.object)
	if len(m.object) == 0 {
		return object
	}
	text, err := json.Marshal(m.object)
	if err != nil {
		panic(err) // strings, numbers and booleans can be encoded
	}
	object = append(object[:len(object)-1], ',')
	return append(object, text[1:]...)
}

// prune removes empty objects that are nested in an object.
func prune(object map[string]any) {
	for name, value := range object {
		inner, ok := value.(map[string]any)
		if !ok {
			continue
		}
		prune(inner)
		if len(inner) == 0 {
			delete(object, name)
		}
	}
}

// value returns the value of a rule for a user, or nil if the user has no value.
func (r *Rule) value(f *Facts) any {
	name, isAttribute := strings.CutPrefix(r.From, Attribute)
	if !isAttribute {
		list := f.Roles
		if r.From == Groups {
			list = f.Groups
		}
		return r.selected(list)
	}
	values := f.Attributes[name]
	if len(values) == 0 {
		return nil
	}
	switch r.Type {
	case List:
		return slices.Clone(values)
	case Number:
		if plainNumber.MatchString(values[0]) {
			return json.Number(values[0])
		}
		return nil
	case Boolean:
		switch values[0] {
		case "true":
			return true
		case "false":
			return false
		}
		return nil
	}
	return values[0]
}

// selected returns the roles or groups that a rule selects from a list. If it selects nothing, the result is empty but
// not nil, so that a client learns that the user has lost the last role or group.
func (r *Rule) selected(list []string) []string {
	values := []string{}
	for _, name := range list {
		value, ok := strings.CutPrefix(name, r.Prefix)
		if !ok {
			continue
		}
		if !r.Strip {
			value = name
		}
		if value != "" && !slices.Contains(values, value) {
			values = append(values, value)
		}
	}
	return values
}
