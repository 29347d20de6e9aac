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
	Attributes    map[string][]string
}

// plainNumber matches a number without an exponent that every JSON parser can represent.
var plainNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]{0,14})(\.[0-9]{1,10})?$`)

// maxMembers is the maximum size of the custom claims in a token, in bytes of JSON. It is limited since tokens are sent
// in a header of each request.
const maxMembers = 8 << 10

// Members are the claims made by claim rules. A nil *Members is empty.
type Members struct {
	// Left are the names of claims that were omitted because the token would have become too large.
	Left []string

	object map[string]any
	size   int
}

// Wanted returns the rules of the lists that apply to a place and to the scope of a token. If no rule applies, it does
// not allocate.
func Wanted(place string, scope []string, lists ...[]Rule) (rules []Rule) {
	for _, list := range lists {
		for i := range list {
			if list[i].acts(place, scope) {
				rules = append(rules, list[i])
			}
		}
	}
	return rules
}

// Make makes the claims of rules from facts. An attribute without a value is omitted. If several rules make lists under
// the same name, the claim has all their values; otherwise the first rule wins.
func Make(rules []Rule, facts *Facts) *Members {
	m := &Members{object: make(map[string]any)}
	for i := range rules {
		if value := rules[i].value(facts); value != nil && !m.add(rules[i].Claim, value) {
			m.Left = append(m.Left, rules[i].Claim)
		}
	}
	return m
}

// add adds a claim. It returns false if the claim does not fit into maxMembers.
func (m *Members) add(claim string, value any) bool {
	path := steps(claim)
	parent := m.object
	for _, step := range path[:len(path)-1] {
		next, ok := parent[step].(map[string]any)
		if !ok {
			if parent[step] != nil { // a rule of another list has made a value here
				return true
			}
			next = make(map[string]any)
		}
		parent[step], parent = next, next
	}
	last := path[len(path)-1]
	if before, there := parent[last]; there {
		list, ok := before.([]string)
		more, too := value.([]string)
		if !ok || !too {
			return true
		}
		value = union(list, more)
	}
	text, err := json.Marshal(value)
	if err != nil || m.size+len(claim)+len(text) > maxMembers {
		return false
	}
	m.size += len(claim) + len(text)
	parent[last] = value
	return true
}

func union(list, more []string) []string {
	list = slices.Clone(list)
	for _, value := range more {
		if !slices.Contains(list, value) {
			list = append(list, value)
		}
	}
	return list
}

// Append inserts the claims into the text of a JSON object, which must have at least one member, and returns the new
// text.
func (m *Members) Append(object []byte) []byte {
	if m == nil {
		return object
	}
	m.prune(m.object)
	if len(m.object) == 0 {
		return object
	}
	text, err := json.Marshal(m.object)
	if err != nil {
		panic(err) // texts, numbers and truths
	}
	object = append(object[:len(object)-1], ',')
	return append(object, text[1:]...)
}

// prune removes empty objects.
func (m *Members) prune(object map[string]any) {
	for name, value := range object {
		if inner, ok := value.(map[string]any); ok {
			if m.prune(inner); len(inner) == 0 {
				delete(object, name)
			}
		}
	}
}

// value returns the value of a rule for a user, or nil if the user has no value.
func (r *Rule) value(f *Facts) any {
	name, ok := strings.CutPrefix(r.From, Attribute)
	if !ok {
		list := f.Roles
		if r.From == Groups {
			list = f.Groups
		}
		return r.filter(list)
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

// filter returns the roles or groups that a rule selects. If it selects nothing, the list is empty but not nil, so that
// a client learns that the user has lost the last role or group.
func (r *Rule) filter(list []string) []string {
	through := []string{}
	for _, name := range list {
		rest, ok := strings.CutPrefix(name, r.Prefix)
		if !ok {
			continue
		}
		if !r.Strip {
			rest = name
		}
		if rest != "" && !slices.Contains(through, rest) {
			through = append(through, rest)
		}
	}
	return through
}
