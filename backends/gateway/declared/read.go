package declared

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
)

// MaxFile is the maximum size of a file, in bytes.
const MaxFile = 16 << 20

// maxFaults is the largest number of errors that are reported at once.
const maxFaults = 20

// reader collects the errors found in a file.
type reader struct{ faults []string }

// errorAt adds an error at a line of the file.
func (r *reader) errorAt(line int, format string, args ...any) {
	r.faults = append(r.faults, fmt.Sprintf("line %d: ", line)+fmt.Sprintf(format, args...))
}

// err returns an error with all errors found, one per line of its text, or nil if no error was found.
func (r *reader) err() error {
	if len(r.faults) > maxFaults {
		r.faults = append(r.faults[:maxFaults], fmt.Sprintf("and %d more", len(r.faults)-maxFaults))
	}
	if len(r.faults) == 0 {
		return nil
	}
	return errors.New(strings.Join(r.faults, "\n"))
}

// Read parses a file in YAML or JSON. The error lists the mistakes with their lines, at most maxFaults of them.
func Read(text []byte) (*File, error) {
	if len(text) > MaxFile {
		return nil, fmt.Errorf("the file has more than %d bytes", MaxFile)
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var document, next yaml.Node
	err := decoder.Decode(&document)
	if err == nil && !errors.Is(decoder.Decode(&next), io.EOF) {
		err = errors.New("the file has more than one document")
	}
	switch {
	case errors.Is(err, io.EOF):
		return nil, errors.New("the file is empty")
	case err != nil:
		return nil, fmt.Errorf("reading YAML: %s", strings.TrimPrefix(err.Error(), "yaml: "))
	}
	f, r := new(File), new(reader)
	r.object(document.Content[0], "the file", map[string]func(n *yaml.Node){
		"organisation": func(n *yaml.Node) {
			r.object(n, "organisation", map[string]func(n *yaml.Node){
				"limits":        func(n *yaml.Node) { f.Organisation = r.limits(n) },
				"provider_keys": func(n *yaml.Node) { f.ProviderKeys = r.providerKeys(n) },
				"aliases":       func(n *yaml.Node) { f.Aliases = r.aliases(n) },
			})
		},
		"teams":  func(n *yaml.Node) { r.list(n, "teams", func(n *yaml.Node) { f.Teams = append(f.Teams, r.team(n)) }) },
		"prices": func(n *yaml.Node) { f.Prices = r.prices(n) },
		"users":  func(n *yaml.Node) { r.list(n, "users", func(n *yaml.Node) { f.Users = append(f.Users, r.user(n)) }) },
	})
	r.refuseRepeated(f)
	return f, r.err()
}

// plain reports whether n has neither a YAML alias nor a tag. These are errors, so that a small file cannot expand to a
// large one; subject names the value in the error.
func (r *reader) plain(n *yaml.Node, subject string) bool {
	switch {
	case n.Kind == yaml.AliasNode:
		r.errorAt(n.Line, "%s: YAML aliases are not supported: write the value out", subject)
	case n.Style&yaml.TaggedStyle != 0:
		r.errorAt(n.Line, "%s: YAML tags are not supported", subject)
	default:
		return true
	}
	return false
}

// object calls the function in fields for each field of a mapping. Unknown and repeated fields are errors; subject
// names the object in these.
func (r *reader) object(n *yaml.Node, subject string, fields map[string]func(n *yaml.Node)) {
	if !r.plain(n, subject) {
		return
	}
	if n.Kind != yaml.MappingNode {
		r.errorAt(n.Line, "%s must be an object", subject)
		return
	}
	seen := make(map[string]bool)
	for i := 0; i+1 < len(n.Content); i += 2 {
		name, value := n.Content[i], n.Content[i+1]
		read := fields[name.Value]
		switch {
		case name.Kind != yaml.ScalarNode || read == nil:
			known := make([]string, 0, len(fields))
			for name := range fields {
				known = append(known, name)
			}
			slices.Sort(known)
			r.errorAt(name.Line, "%s has no field %.100q; its fields are: %s", subject, name.Value, strings.Join(known, ", "))
		case seen[name.Value]:
			r.errorAt(name.Line, "%s has the field %s twice", subject, name.Value)
		default:
			seen[name.Value] = true
			read(value)
		}
	}
}

// list calls fn for every element of a sequence. Null is accepted as an empty list. subject names the list in errors.
func (r *reader) list(n *yaml.Node, subject string, fn func(n *yaml.Node)) {
	if !r.plain(n, subject) {
		return
	}
	if n.Kind != yaml.SequenceNode {
		if n.ShortTag() != "!!null" {
			r.errorAt(n.Line, "%s must be a list", subject)
		}
		return
	}
	for _, element := range n.Content {
		fn(element)
	}
}

// word reads a non-empty scalar into a string. Numbers are accepted, too, because ids may look like numbers. subject
// names the value in errors.
func (r *reader) word(n *yaml.Node, subject string, target *string) {
	if !r.plain(n, subject) {
		return
	}
	if n.Kind != yaml.ScalarNode || n.Value == "" || n.ShortTag() == "!!null" {
		r.errorAt(n.Line, "%s must be a string", subject)
		return
	}
	*target = n.Value
}

// flag reads true or false. subject names the value in errors.
func (r *reader) flag(n *yaml.Node, subject string) (value bool) {
	if r.plain(n, subject) && (n.ShortTag() != "!!bool" || n.Decode(&value) != nil) {
		r.errorAt(n.Line, "%s must be true or false", subject)
	}
	return value
}

// team reads an element of teams.
func (r *reader) team(n *yaml.Node) (t Team) {
	t.Line = n.Line
	r.object(n, "a team", map[string]func(n *yaml.Node){
		"name":          func(n *yaml.Node) { r.word(n, "name", &t.Name) },
		"limits":        func(n *yaml.Node) { t.Limits = r.limits(n) },
		"provider_keys": func(n *yaml.Node) { t.ProviderKeys = r.providerKeys(n) },
		"aliases":       func(n *yaml.Node) { t.Aliases = r.aliases(n) },
		"members": func(n *yaml.Node) {
			r.list(n, "members", func(n *yaml.Node) { t.Members = append(t.Members, r.member(n)) })
		},
	})
	if t.Name == "" {
		r.errorAt(t.Line, "a team must have a name")
	}
	return t
}

// member reads a member of a team, which is an object or just the user's id or mail address.
func (r *reader) member(n *yaml.Node) (m Member) {
	m.Line, m.Role = n.Line, keychain.RoleMember
	if n.Kind == yaml.ScalarNode {
		r.word(n, "a member", &m.User)
		return m
	}
	r.object(n, "a member", map[string]func(n *yaml.Node){
		"user":    func(n *yaml.Node) { r.word(n, "user", &m.User) },
		"role":    func(n *yaml.Node) { r.word(n, "role", &m.Role) },
		"default": func(n *yaml.Node) { m.Default = r.flag(n, "default") },
	})
	if m.User == "" {
		r.errorAt(m.Line, "a member must have a user")
	}
	if m.Role != keychain.RoleMember && m.Role != keychain.RoleAdmin {
		r.errorAt(m.Line, "the role %.100q must be %s or %s", m.Role, keychain.RoleMember, keychain.RoleAdmin)
	}
	return m
}

// user reads an element of users.
func (r *reader) user(n *yaml.Node) (u User) {
	u.Line = n.Line
	r.object(n, "a user", map[string]func(n *yaml.Node){
		"id":        func(n *yaml.Node) { r.word(n, "id", &u.ID) },
		"suspended": func(n *yaml.Node) { suspended := r.flag(n, "suspended"); u.Suspended = &suspended },
		"limits":    func(n *yaml.Node) { u.Limits = r.limits(n) },
	})
	if u.ID == "" {
		r.errorAt(u.Line, "a user must have an id")
	}
	return u
}

// limits reads limits. Each field is decoded as the operator's API decodes it.
func (r *reader) limits(n *yaml.Node) *Limits {
	l := &Limits{Line: n.Line}
	fields := make(map[string]func(n *yaml.Node), len(limitFields))
	for _, f := range limitFields {
		fields[f.name] = func(n *yaml.Node) {
			value, err := jsonOf(n)
			if err != nil {
				r.errorAt(n.Line, "%s: %s", f.name, err)
				return
			}
			body := `{"` + f.name + `":` + string(value) + `}`
			if f.budget {
				body = `{"budgets":` + body + `}`
			}
			if err := json.Unmarshal([]byte(body), &l.Limits); err != nil {
				if wrongType, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
					err = fmt.Errorf("it has the wrong type: %s", wrongType.Value)
				}
				if f.name == "expires_at" {
					err = errors.New("it must be a time such as 2027-01-31T18:00:00Z")
				}
				r.errorAt(n.Line, "%s: %s", f.name, err)
			}
		}
	}
	r.object(n, "limits", fields)
	return l
}

// jsonOf converts the value of a limits field to JSON. The value must be a number, a string, null or a list of scalars.
func jsonOf(n *yaml.Node) (json.RawMessage, error) {
	switch {
	case n.Kind == yaml.AliasNode || n.Style&yaml.TaggedStyle != 0:
		return nil, errors.New("YAML aliases and tags are not supported")
	case n.Kind == yaml.SequenceNode:
		list := make([]json.RawMessage, 0, len(n.Content))
		for _, element := range n.Content {
			if element.Kind != yaml.ScalarNode {
				return nil, errors.New("it must be a list of strings")
			}
			value, err := jsonOf(element)
			if err != nil {
				return nil, err
			}
			list = append(list, value)
		}
		return json.Marshal(list)
	case n.Kind != yaml.ScalarNode:
		return nil, errors.New("it must be a value, not an object")
	}
	switch n.ShortTag() {
	case "!!null":
		return json.RawMessage("null"), nil
	case "!!int":
		var value int64
		if err := n.Decode(&value); err != nil {
			return nil, errors.New("the number is too large")
		}
		return json.Marshal(value)
	case "!!float":
		var value float64
		if err := n.Decode(&value); err != nil {
			return nil, err
		}
		return json.Marshal(value)
	}
	return json.Marshal(n.Value)
}

// refuseRepeated reports teams, members, users and default teams that are declared more than once.
func (r *reader) refuseRepeated(f *File) {
	// refuse reports an error if the map lines has the name already. Otherwise it adds the name. The map has the lines of
	// the file, by name.
	refuse := func(lines map[string]int, name string, line int, subject string) {
		if earlier := lines[name]; earlier > 0 && name != "" {
			r.errorAt(line, "%s %.100q is already declared in line %d", subject, name, earlier)
			return
		}
		lines[name] = line
	}
	teams, defaultTeams, users := make(map[string]int), make(map[string]int), make(map[string]int)
	for _, t := range f.Teams {
		refuse(teams, t.Name, t.Line, "the team")
		members := make(map[string]int)
		for _, m := range t.Members {
			refuse(members, m.User, m.Line, "in this team the user")
			if m.Default {
				refuse(defaultTeams, m.User, m.Line, "the default team of the user")
			}
		}
	}
	for _, u := range f.Users {
		refuse(users, u.ID, u.Line, "the user")
	}
}
