package declared

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
)

// ProviderKeys lists the provider keys of an owner. A nil pointer means that the file does not mention provider keys;
// an empty list means that the owner must not have any.
type ProviderKeys struct{ List []ProviderKey }

// ProviderKey is a key at a model provider. It is identified by provider and label, which must be unique among the keys
// of an owner.
type ProviderKey struct {
	Provider, Label string
	// Reference points to the text of the key, such as {env.OPENAI_KEY} or {file./run/secrets/openai}. If it is empty,
	// the stored text stays.
	Reference string
	Limits    *Limits // nil if the file does not mention them
	Line      int
}

// String returns the name of the key in messages.
func (k *ProviderKey) String() string {
	if k.Label == "" {
		return "provider key " + k.Provider
	}
	return "provider key " + k.Provider + " " + strconv.Quote(k.Label)
}

// reference matches the allowed forms of ProviderKey.Reference. The text of a key itself is refused, since declared
// files are meant for version control.
var reference = regexp.MustCompile(`^\{(env|file)\.[^{}]+\}$`)

// keyLimits has the names of the limits that a provider key can have besides budgets.
var keyLimits = map[string]bool{"rate_limit_per_minute": true, "expires_at": true}

// providerKeys reads the list of an owner's keys. The result is nil if n is null.
func (r *reader) providerKeys(n *yaml.Node) *ProviderKeys {
	if n.ShortTag() == "!!null" {
		return nil
	}
	keys := &ProviderKeys{List: []ProviderKey{}}
	seen := make(map[string]int) // the line of each name
	r.list(n, "provider_keys", func(n *yaml.Node) {
		k := r.providerKey(n)
		if earlier := seen[k.String()]; earlier > 0 && k.Provider != "" {
			r.errorAt(k.Line, "the %s is already declared in line %d: give each key of a provider a different label", k.String(), earlier)
		}
		seen[k.String()] = k.Line
		keys.List = append(keys.List, k)
	})
	return keys
}

// providerKey reads one key.
func (r *reader) providerKey(n *yaml.Node) (k ProviderKey) {
	k.Line = n.Line
	r.object(n, "a provider key", map[string]func(n *yaml.Node){
		"provider": func(n *yaml.Node) { r.word(n, "provider", &k.Provider) },
		"label":    func(n *yaml.Node) { r.word(n, "label", &k.Label) },
		"key": func(n *yaml.Node) {
			if n.Kind == yaml.MappingNode {
				r.errorAt(n.Line, "key: write it in quotes, such as \"{env.OPENAI_KEY}\"")
				return
			}
			r.word(n, "key", &k.Reference)
			if k.Reference != "" && !reference.MatchString(k.Reference) {
				r.errorAt(n.Line, "key must be a reference to the text of the key, such as \"{env.OPENAI_KEY}\" or "+
					"\"{file./run/secrets/openai}\", and not the text itself")
			}
		},
		"limits": func(n *yaml.Node) {
			k.Limits = r.limits(n)
			// Content has the names and the values in turn.
			for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
				name := n.Content[i]
				for _, f := range limitFields {
					if f.name == name.Value && !f.budget && !keyLimits[f.name] {
						r.errorAt(name.Line, "a provider key cannot have the limit %s", f.name)
					}
				}
			}
		},
	})
	if k.Provider == "" {
		r.errorAt(k.Line, "a provider key must have a provider")
	}
	return k
}

// object returns the list in the form that Read parses.
func (k *ProviderKeys) object() []object {
	list := make([]object, 0, len(k.List))
	for i := range k.List {
		key := &k.List[i]
		o := object{{"provider", key.Provider}}
		if key.Label != "" {
			o = append(o, field{"label", key.Label})
		}
		if key.Reference != "" {
			o = append(o, field{"key", key.Reference})
		}
		if key.Limits != nil {
			o = append(o, field{"limits", key.Limits.object()})
		}
		list = append(list, o)
	}
	return list
}

// exportKeys returns the provider keys of an owner for a file, or nil if the owner has no keys. The keys have no
// Reference, since their texts are not exported.
func exportKeys(ctx context.Context, s *keychain.Service, owner keychain.Owner) (*ProviderKeys, error) {
	stored, err := s.StoredKeys(ctx, owner)
	if err != nil || len(stored) == 0 {
		return nil, err
	}
	keys := new(ProviderKeys)
	for i := range stored {
		k := ProviderKey{Provider: stored[i].Provider, Label: stored[i].Label}
		if limits := (&Limits{Limits: stored[i].Limits.All()}); len(limits.fields()) > 0 {
			k.Limits = limits
		}
		keys.List = append(keys.List, k)
	}
	return keys, nil
}

// applyKeys adds and changes the keys of an owner as in the file. ownerName, such as "team Research", is for changes
// and errors. Other keys are removed only with Options.Prune. A nil declared means that the file does not mention keys.
func (a *applier) applyKeys(owner keychain.Owner, ownerName string, declared *ProviderKeys) error {
	if declared == nil {
		return nil
	}
	stored, err := a.StoredKeys(a.ctx, owner)
	if err != nil {
		return err
	}
	byName := make(map[string][]*keychain.StoredKey)
	for i := range stored {
		old := &stored[i]
		name := (&ProviderKey{Provider: old.Provider, Label: old.Label}).String()
		byName[name] = append(byName[name], old)
		isDeclared := slices.ContainsFunc(declared.List, func(k ProviderKey) bool { return k.String() == name })
		if a.options.Prune && !isDeclared { // before keys are added, since their number is bounded
			if err := a.DeleteKeyOf(a.ctx, owner, old.ID); err != nil {
				return err
			}
			a.note(Removed, old.Masked, "%s: %s", ownerName, name)
		}
	}
	for i := range declared.List {
		k := &declared.List[i]
		subject := ownerName + ": " + k.String()
		matches := byName[k.String()]
		if len(matches) > 1 {
			return fmt.Errorf(
				"line %d: %s: %d stored keys have this provider and label: remove all but one with "+
					"'tollgate keychain provider-keys'", k.Line, subject, len(matches))
		}
		var previous *keychain.StoredKey
		if len(matches) == 1 {
			previous = matches[0]
		}
		if err := a.applyKey(owner, subject, k, previous); err != nil {
			return atLine(k.Line, subject, err)
		}
	}
	return nil
}

// applyKey adds or replaces a key, or changes its limits; subject names the key in changes and errors. previous is the
// stored key, or nil for a new key. If the key's text has changed, a new key replaces the old one and inherits its
// limits, unless the file states limits for the key.
func (a *applier) applyKey(owner keychain.Owner, subject string, k *ProviderKey, previous *keychain.StoredKey) error {
	id, oldLimits := "", new(Limits)
	if previous != nil {
		id, oldLimits.Limits = previous.ID, previous.Limits.All()
	}
	text, err := a.keyText(subject, k, previous)
	if err != nil {
		return err
	}
	stored := oldLimits // the limits of the key with id
	if text != "" {
		if id, err = a.replaceKey(owner, subject, k, text, previous); err != nil {
			return err
		}
		stored = new(Limits)
	}
	newLimits := cmp.Or(k.Limits, oldLimits)
	if difference(stored, newLimits) == "" {
		return nil
	}
	if err := a.LimitStored(a.ctx, owner, id, newLimits.OfKey()); err != nil {
		return err
	}
	if details := difference(oldLimits, newLimits); details != "" { // not if a new key has only inherited its limits
		a.note(Changed, details, "%s: limits", subject)
	}
	return nil
}

// replaceKey adds a key with the given text and returns the id of the new key. The new key replaces previous, the
// stored key. If previous is nil, the new key replaces no other key.
func (a *applier) replaceKey(
	owner keychain.Owner, subject string, k *ProviderKey, text string, previous *keychain.StoredKey,
) (id string, err error) {
	if previous != nil {
		if err := a.DeleteKeyOf(a.ctx, owner, previous.ID); err != nil {
			return "", err
		}
	}
	added, err := a.AddKeyOf(a.ctx, owner, k.Provider, text, k.Label, a.offered)
	if err != nil {
		return "", err
	}
	if previous == nil {
		a.note(Added, added.Masked, "%s", subject)
	} else {
		a.note(Changed, previous.Masked+" -> "+added.Masked, "%s", subject)
	}
	return added.ID, nil
}

// keyText returns the text to store. It returns an empty string if previous, the stored key, keeps its text. subject
// names the key in errors.
func (a *applier) keyText(subject string, k *ProviderKey, previous *keychain.StoredKey) (string, error) {
	if k.Reference == "" {
		if previous == nil {
			return "", fmt.Errorf(
				"line %d: %s: the key is not stored yet: set the field key to a reference to its text, such as \"{env.OPENAI_KEY}\"",
				k.Line, subject)
		}
		return "", nil
	}
	if a.options.Resolve == nil {
		return "", fmt.Errorf("line %d: %s: references to keys are not allowed here", k.Line, subject)
	}
	text, err := a.options.Resolve(k.Reference)
	if text = strings.TrimSpace(text); err == nil && text == "" {
		err = fmt.Errorf("%s is empty", k.Reference)
	}
	if err != nil {
		return "", fmt.Errorf("line %d: %s: %w", k.Line, subject, err)
	}
	if previous == nil {
		return text, nil
	}
	unchanged, err := a.HasText(a.ctx, previous, text)
	if err != nil || unchanged {
		return "", err
	}
	return text, nil
}

// offered reports whether the catalog has a provider with the code. Without a catalog every code is accepted.
func (a *applier) offered(code string) bool {
	if a.options.Catalog == nil {
		return true
	}
	_, ok := a.options.Catalog.Provider(code)
	return ok
}
