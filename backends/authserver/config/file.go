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
		for index, char := range keys[i].Name {
			if char == '.' {
				s[keys[i].Name[:index]] = true
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

// file reads the YAML text, a mapping of sections, and adds what is wrong with it to l.faults. readable is false if the
// text is too long or not one YAML document. Aliases and tags are faults, so that a small text cannot expand to a large
// one.
func (l *loader) file(text []byte) (readable bool) {
	l.leaves = make(map[string]leaf)
	if len(text) > maxFile {
		l.faults = append(l.faults, fmt.Sprintf("the file has more than %d bytes", maxFile))
		return false
	}
	root, err := document(text)
	if err != nil {
		l.faults = append(l.faults, err.Error())
		return false
	}
	if root != nil {
		l.section("", root)
	}
	return true
}

// document returns the single YAML document in a text, or nil if the text is empty. More than one document is an error.
func document(text []byte) (*yaml.Node, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var first, second yaml.Node
	switch err := decoder.Decode(&first); {
	case errors.Is(err, io.EOF):
		return nil, nil
	case err != nil:
		return nil, errors.New(strings.ReplaceAll(err.Error(), "\n", " "))
	}
	if err := decoder.Decode(&second); !errors.Is(err, io.EOF) {
		return nil, errors.New("the file must be one YAML document")
	}
	if first.Kind != yaml.DocumentNode || len(first.Content) != 1 || null(first.Content[0]) {
		return nil, nil
	}
	return first.Content[0], nil
}

// null reports whether a node is null, such as the value of a key without a value.
func null(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

// plain returns an error if a node is an alias or has a tag.
func plain(n *yaml.Node) error {
	switch {
	case n.Kind == yaml.AliasNode:
		return errors.New("aliases are not read: write the value out")
	case n.Style&yaml.TaggedStyle != 0:
		return errors.New("tags are not read")
	}
	return nil
}

// faultAt records a fault of the node n. The node is the value of the key called name or, if name is empty, the whole
// file.
func (l *loader) faultAt(name string, n *yaml.Node, format string, args ...any) {
	if name == "" {
		name = "the file"
	}
	l.faults = append(l.faults, fmt.Sprintf("%s: %s (line %d)", name, fmt.Sprintf(format, args...), n.Line))
}

// section reads a mapping. The names of its keys begin with prefix.
func (l *loader) section(prefix string, n *yaml.Node) {
	sectionName := strings.TrimSuffix(prefix, ".")
	if err := plain(n); err != nil {
		l.faultAt(sectionName, n, "%s", err)
		return
	}
	if n.Kind != yaml.MappingNode {
		l.faultAt(sectionName, n, "must be a section with keys")
		return
	}
	seen := make(map[string]bool)
	for i := 0; i+1 < len(n.Content); i += 2 { // keys and values alternate
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind != yaml.ScalarNode || len(key.Value) > 100 {
			l.faultAt(sectionName, key, "a key must be a word")
			continue
		}
		name := prefix + key.Value
		if seen[name] {
			l.faultAt(name, key, "is given twice")
			continue
		}
		seen[name] = true
		switch list := l.lists.node(name); {
		case list != nil:
			*list = value // decoded later, by seeds
		case sections[name]:
			if !null(value) {
				l.section(name+".", value)
			}
		case byName[name] != nil:
			l.leaf(byName[name], value)
		default:
			l.faultAt(name, key, "there is no such key")
		}
	}
}

// leaf reads the value of a key into l.leaves. A null value is ignored.
func (l *loader) leaf(k *Key, n *yaml.Node) {
	err := plain(n)
	value := leaf{line: n.Line}
	switch {
	case err != nil: // recorded below
	case null(n):
		return
	case n.Kind == yaml.ScalarNode:
		value.text, err = l.expand(n.Value)
	case n.Kind == yaml.SequenceNode:
		value.list, err = l.words(n.Content)
	default:
		err = errors.New("must be a value, not a section")
	}
	if err != nil {
		l.faultAt(k.String(), n, "%s", err)
		return
	}
	l.leaves[k.Name] = value
}

// words returns the texts of a list's items with their variables expanded. Empty texts are left out. The result is not
// nil, even for an empty list.
func (l *loader) words(items []*yaml.Node) ([]string, error) {
	list := make([]string, 0, len(items))
	for _, item := range items {
		if err := plain(item); err != nil {
			return nil, err
		}
		if item.Kind != yaml.ScalarNode || null(item) {
			return nil, errors.New("must be a list of words")
		}
		word, err := l.expand(item.Value)
		if err != nil {
			return nil, err
		}
		if word != "" {
			list = append(list, word)
		}
	}
	return list, nil
}

// expand replaces variables in a value: {$NAME}, or {$NAME:default} for a variable that may be unset, as in a
// Caddyfile. The values of variables are not expanded again.
func (l *loader) expand(text string) (string, error) {
	var out strings.Builder
	for {
		literal, tail, found := strings.Cut(text, "{$")
		out.WriteString(literal)
		if !found {
			return out.String(), nil
		}
		reference, rest, closed := strings.Cut(tail, "}")
		name, value, hasDefault := strings.Cut(reference, ":")
		if !closed || !variable.MatchString(name) {
			return "", errors.New("{$ must begin a variable, such as {$NAME} or {$NAME:default}")
		}
		if envValue := l.env(name); envValue != "" {
			value = envValue
		} else if !hasDefault {
			return "", fmt.Errorf("uses the variable %s, which is not set", name)
		}
		out.WriteString(value)
		text = rest
	}
}

// variable matches the name of an environment variable.
var variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,99}$`)
