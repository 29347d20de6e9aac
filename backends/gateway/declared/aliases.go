package declared

import (
	"context"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
)

// Aliases lists the aliases (other names for models and tiers) of the organisation or of a team. A nil pointer means
// that the file does not mention aliases; an empty list means that the owner must not have any.
type Aliases struct{ List []Alias }

// Alias is another name for a model or a tier. Line is its line in the file.
type Alias struct {
	Name, Target string
	Line         int
}

// maxAliases is the largest number of aliases that an owner may have in a file.
const maxAliases = 200

// aliases reads an object that maps names to targets. The result is nil if n is null or faulty.
func (r *reader) aliases(n *yaml.Node) *Aliases {
	if n.ShortTag() == "!!null" || !r.plain(n, "aliases") {
		return nil
	}
	if n.Kind != yaml.MappingNode {
		r.errorAt(n.Line, "aliases must be an object that maps names to models, such as gpt-4o: openai/gpt-5.4-mini")
		return nil
	}
	aliases := &Aliases{List: []Alias{}}
	seen := make(map[string]bool)
	for i := 0; i+1 < len(n.Content); i += 2 {
		a := Alias{Line: n.Content[i].Line}
		if len(aliases.List) == maxAliases {
			r.errorAt(a.Line, "there are more than %d aliases", maxAliases)
			return aliases
		}
		r.word(n.Content[i], "the name of an alias", &a.Name)
		r.word(n.Content[i+1], "the target of an alias", &a.Target)
		if seen[a.Name] {
			r.errorAt(a.Line, "aliases has the field %.100q twice", a.Name)
		}
		seen[a.Name] = true
		aliases.List = append(aliases.List, a)
	}
	return aliases
}

// object returns the aliases in the form that Read parses.
func (l *Aliases) object() object {
	o := make(object, 0, len(l.List))
	for _, a := range l.List {
		o = append(o, field{a.Name, a.Target})
	}
	return o
}

// exportAliases returns the aliases of an owner, or nil if the owner has no aliases.
func exportAliases(ctx context.Context, s *keychain.Service, owner keychain.Owner) (*Aliases, error) {
	list, err := s.Aliases(ctx, owner)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	exported := new(Aliases)
	for _, a := range list {
		exported.List = append(exported.List, Alias{Name: a.Name, Target: a.Target})
	}
	return exported, nil
}

// applyAliases sets the aliases of an owner that are in the file. ownerName, such as "team Research", is for changes
// and errors. Other aliases are removed only with Options.Prune. A nil declared means that the file does not mention
// aliases.
func (a *applier) applyAliases(owner keychain.Owner, ownerName string, declared *Aliases) error {
	if declared == nil {
		return nil
	}
	stored, err := a.Aliases(a.ctx, owner)
	if err != nil {
		return err
	}
	cat := a.options.Catalog
	if cat == nil {
		cat = catalog.Embedded()
	}
	if a.options.Prune { // first, since the number of aliases is bounded
		for _, old := range stored {
			if slices.ContainsFunc(declared.List, func(alias Alias) bool { return alias.Name == old.Name }) {
				continue
			}
			if err := a.RemoveAlias(a.ctx, owner, old.Name); err != nil {
				return err
			}
			a.note(Removed, old.Target, "%s: alias %s", ownerName, old.Name)
		}
	}
	for _, alias := range declared.List {
		i := slices.IndexFunc(stored, func(old keychain.Alias) bool { return old.Name == alias.Name })
		if i >= 0 && stored[i].Target == alias.Target {
			continue
		}
		set, err := a.SetAlias(a.ctx, cat, owner, alias.Name, alias.Target)
		switch {
		case err != nil:
			return atLine(alias.Line, ownerName+": alias "+alias.Name, err)
		case i < 0:
			a.note(Added, set.Target, "%s: alias %s", ownerName, alias.Name)
		case stored[i].Target != set.Target: // not for a short form of the stored target: low is stored as keychain-low
			a.note(Changed, stored[i].Target+" -> "+set.Target, "%s: alias %s", ownerName, alias.Name)
		}
	}
	return nil
}
