package admin

import (
	"maps"
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
)

// mentioned collects the ids of clients, users and resources that occur in the rows of a response.
type mentioned struct {
	clients, users, resources map[string]bool
}

func newMentioned() mentioned {
	return mentioned{make(map[string]bool), make(map[string]bool), make(map[string]bool)}
}

// addIDs adds ids to a set. Each argument is a list of ids, separated by spaces. It may be empty.
func addIDs(set map[string]bool, lists ...string) {
	for _, list := range lists {
		for id := range strings.FieldsSeq(list) {
			set[id] = true
		}
	}
}

// names adds the names of the mentioned ids to a response, if the request has names=true: the names of clients, the
// mail addresses of users and the slugs of resources. Ids that no longer exist are omitted.
func (a *API) names(c *call, response map[string]any, m mentioned) (any, error) {
	include, err := c.Choice("names", "false", "true")
	if err != nil || include == "false" {
		return response, err
	}
	var clients, users map[string]string // the name of each id
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
	response["names"] = map[string]map[string]string{"clients": clients, "users": users, "resources": resources}
	return response, nil
}
