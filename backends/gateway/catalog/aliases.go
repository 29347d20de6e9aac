package catalog

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// TierPrefix is the prefix of the names by which clients request a tier: keychain-low, keychain-medium and
// keychain-high.
const TierPrefix = "keychain-"

// maxAlias is the length limit of an alias name, in bytes.
const maxAlias = 100

// CheckAlias checks the name and the target of an alias and returns the target in its full form. A target is a tier
// (low, medium, high, or their names with TierPrefix), an entry provider/model, or the id of a model without its
// provider. It must not be another alias, so that aliases cannot form a circle. isOwn reports whether an entry outside
// of the catalog is a valid target; a nil isOwn refuses all of them. The error names the mistake.
func (c *Catalog) CheckAlias(name, target string, isOwn func(entry string) bool) (string, error) {
	switch {
	case name == "" || len(name) > maxAlias || strings.ContainsFunc(name, func(r rune) bool {
		return r <= ' ' || r > '~'
	}):
		return "", fmt.Errorf("the name of an alias must be 1 to %d printable ASCII characters without spaces", maxAlias)
	case strings.HasPrefix(name, TierPrefix):
		return "", fmt.Errorf("the alias %q would hide the name of a tier: an alias must not begin with %s", name, TierPrefix)
	case c.Offers(name):
		return "", fmt.Errorf("the alias %q would hide the model of that name: choose another name", name)
	}
	if tier, err := ParseTier(strings.TrimPrefix(target, TierPrefix)); err == nil {
		return TierPrefix + tier.String(), nil
	}
	if c.Offers(target) || c.hasID(target) || isOwn != nil && isOwn(target) {
		return target, nil
	}
	return "", fmt.Errorf("the target %q of the alias %q is neither low, medium, high nor a model of the catalog; "+
		"GET /models lists all models", clip(target), name)
}

// Offers reports whether entry, in the form provider/model, is a model of an enabled provider and not retired.
func (c *Catalog) Offers(entry string) bool {
	provider, id, ok := strings.Cut(entry, "/")
	if !ok {
		return false
	}
	m, ok := c.Model(provider, id)
	return ok && !m.Retired
}

// hasID reports whether an enabled provider has a model that has the id and is not retired. The id may be given
// without the part up to its last slash, which names the maker of the model.
func (c *Catalog) hasID(id string) bool {
	for _, models := range c.models {
		if slices.ContainsFunc(models, func(m *Model) bool { return m.ID == id || strings.HasSuffix(m.ID, "/"+id) }) {
			return true
		}
	}
	return false
}

// Aliases returns the aliases of the configuration, as a map from name to target. The caller must not change the map.
func (c *Catalog) Aliases() map[string]string { return c.aliases }

// setAliases checks and sets the aliases of the catalog, which map names to targets.
func (c *Catalog) setAliases(aliases map[string]string) error {
	c.aliases = make(map[string]string, len(aliases))
	for _, name := range slices.Sorted(maps.Keys(aliases)) {
		target, err := c.CheckAlias(name, aliases[name], nil)
		if err != nil {
			return err
		}
		c.aliases[name] = target
	}
	return nil
}
