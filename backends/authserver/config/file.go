package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// sections is the set of keys in the file that contain other keys.
var sections = func() map[string]bool {
	s := make(map[string]bool)
	for i := range keys {
		for at, c := range keys[i].Name {
			if c == '.' {
				s[keys[i].Name[:at]] = true
			}
		}
	}
	return s
}()

// byName maps the names of keys to their entries in the table.
var byName = func() map[string]*Key {
	m := make(map[string]*Key, len(keys))
	for i := range keys {
		m[keys[i].Name] = &keys[i]
	}
	return m
}()

// file reads the YAML text, a mapping of sections. Aliases and tags are refused, so that a small text cannot expand to
// a large one.
func (l *loader) file(text []byte) {
	l.leaves = make(map[string]leaf)
	if len(text) > maxFile {
		l.faults = append(l.faults, fmt.Sprintf("the file has more than %d bytes", maxFile))
		return
	}
	root, err := document(text)
	if err != nil {
		l.faults = append(l.faults, err.Error())
		return
	}
	if root != nil {
		l.section("", root)
	}
}

// document returns the single YAML document in a text, or nil if the text is empty. More than one document is an error.
func document(text []byte) (*yaml.Node, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var first, second yaml.Node
	switch err := decoder.Decode(&first); {
	case errors.Is(err, io.EOF):
		return nil, nil //nolint:nilnil // see above
	case err != nil:
		return nil, errors.New(strings.ReplaceAll(err.Error(), "\n", " "))
	}
	if err := decoder.Decode(&second); !errors.Is(err, io.EOF) {
		return nil, errors.New("the file must be one YAML document")
	}
	if first.Kind != yaml.DocumentNode || len(first.Content) != 1 || null(first.Content[0]) {
		return nil, nil //nolint:nilnil // see above
	}
	return first.Content[0], nil
}

// null reports whether a node is null, such as the value of a key without a value.
func null(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

// plain returns an error for a node with an alias or a tag.
func plain(n *yaml.Node) error {
	switch {
	case n.Kind == yaml.AliasNode:
		return errors.New("aliases are not read: write the value out")
	case n.Style&yaml.TaggedStyle != 0:
		return errors.New("tags are not read")
	}
	return nil
}

// at records a fault of the node n, which is the value of the key called name or of the whole file if name is empty.
func (l *loader) at(name string, n *yaml.Node, format string, args ...any) {
	if name == "" {
		name = "the file"
	}
	l.faults = append(l.faults, fmt.Sprintf("%s: %s (line %d)", name, fmt.Sprintf(format, args...), n.Line))
}

// section reads a mapping. The names of its keys begin with prefix.
func (l *loader) section(prefix string, n *yaml.Node) {
	if err := plain(n); err != nil {
		l.at(strings.TrimSuffix(prefix, "."), n, "%s", err)
		return
	}
	if n.Kind != yaml.MappingNode {
		l.at(strings.TrimSuffix(prefix, "."), n, "must be a section with keys")
		return
	}
	seen := make(map[string]bool)
	for i := 0; i+1 < len(n.Content); i += 2 {
		word, value := n.Content[i], n.Content[i+1]
		if word.Kind != yaml.ScalarNode || len(word.Value) > 100 {
			l.at(strings.TrimSuffix(prefix, "."), word, "a key must be a word")
			continue
		}
		name := prefix + word.Value
		if seen[name] {
			l.at(name, word, "is given twice")
			continue
		}
		seen[name] = true
		switch seeds := l.lists.of(name); {
		case seeds != nil:
			*seeds = value
		case sections[name]:
			if !null(value) {
				l.section(name+".", value)
			}
		case byName[name] != nil:
			l.leaf(byName[name], value)
		default:
			l.at(name, word, "there is no such key")
		}
	}
}

// leaf reads the value of a key. A null value is ignored.
func (l *loader) leaf(k *Key, n *yaml.Node) {
	err := plain(n)
	read := leaf{line: n.Line}
	switch {
	case err != nil:
	case null(n):
		return
	case n.Kind == yaml.ScalarNode:
		read.text, err = l.expand(n.Value)
	case n.Kind == yaml.SequenceNode:
		read.list = make([]string, 0, len(n.Content))
		for _, item := range n.Content {
			if err = plain(item); err == nil && (item.Kind != yaml.ScalarNode || null(item)) {
				err = errors.New("must be a list of words")
			}
			if err != nil {
				break
			}
			var word string
			if word, err = l.expand(item.Value); err != nil {
				break
			}
			if word != "" {
				read.list = append(read.list, word)
			}
		}
	default:
		err = errors.New("must be a value, not a section")
	}
	if err != nil {
		l.at(k.String(), n, "%s", err)
		return
	}
	l.leaves[k.Name] = read
}

// expand replaces variables in a value: {$NAME}, or {$NAME:default} for a variable that may be unset, as in a
// Caddyfile. The values of variables are not expanded again.
func (l *loader) expand(text string) (string, error) {
	var out strings.Builder
	for {
		before, rest, ok := strings.Cut(text, "{$")
		out.WriteString(before)
		if !ok {
			return out.String(), nil
		}
		word, after, closed := strings.Cut(rest, "}")
		name, value, optional := strings.Cut(word, ":")
		if !closed || !variable.MatchString(name) {
			return "", errors.New("{$ must begin a variable, such as {$NAME} or {$NAME:default}")
		}
		if set := l.env(name); set != "" {
			value = set
		} else if !optional {
			return "", fmt.Errorf("has the variable %s, which is not set", name)
		}
		out.WriteString(value)
		text = after
	}
}

// variable matches the name of an environment variable.
var variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,99}$`)
