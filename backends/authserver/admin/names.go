package admin

import (
	"maps"
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
)

// mentioned are the ids that the rows of an answer mention.
type mentioned struct {
	clients, users map[string]bool
	resources      map[string]bool
}

func newMentioned() mentioned {
	return mentioned{make(map[string]bool), make(map[string]bool), make(map[string]bool)}
}

// add notes ids of a kind; one may be several with blanks between.
func add(to map[string]bool, ids ...string) {
	for _, id := range ids {
		for one := range strings.FieldsSeq(id) {
			to[one] = true
		}
	}
}

// names adds to an answer what is called by the ids in it, where that is asked for by
// names=true: people know no ids. Clients have their names, users their mail addresses,
// resources their slugs. What is gone has none.
func (a *API) names(c *call, told map[string]any, m mentioned) (any, error) {
	wanted, err := c.Choice("names", "false", "true")
	if err != nil || wanted == "false" {
		return told, err
	}
	var clients, users map[string]string
	if err := a.Read(c.R.Context(), func(conn kernel.Conn) (err error) {
		if clients, err = kernel.Names(conn, "authserver_clients", "name", slices.Sorted(maps.Keys(m.clients))); err == nil {
			users, err = kernel.Names(conn, "authserver_users", "email", slices.Sorted(maps.Keys(m.users)))
		}
		return err
	}); err != nil {
		return nil, err
	}
	all, err := a.Catalog.All(c.R.Context())
	if err != nil {
		return nil, err
	}
	resources := make(map[string]string)
	for _, r := range all {
		if m.resources[r.ID] {
			resources[r.ID] = r.Slug
		}
	}
	told["names"] = map[string]map[string]string{"clients": clients, "users": users, "resources": resources}
	return told, nil
}
