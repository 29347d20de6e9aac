package moving

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// keycloakOwnRoles are built-in roles of a realm that every user has. Another built-in role is default-roles-<name of
// the realm>, whose composites are the roles that every user has.
var keycloakOwnRoles = []string{"offline_access", "uma_authorization"}

const (
	// maxKeycloakRoles is the maximum number of composite roles in a realm, and of the roles that a composite role
	// includes, directly or indirectly.
	maxKeycloakRoles = 10_000
	// maxKeycloakProviders is the maximum number of identity providers in a realm.
	maxKeycloakProviders = 10_000
)

// keycloakRealm holds the parts of a realm to which its users refer: roles and identity providers.
type keycloakRealm struct {
	// composites maps each composite role to the roles that it includes. The field known is set once they have been
	// read.
	composites map[keycloakRole][]keycloakRole
	known      bool
	// issuers are the issuers of the realm's OpenID providers, by alias.
	issuers map[string]string
}

// keycloakRole is a role of a client, or of the realm if client is empty.
type keycloakRole struct{ client, name string }

// own reports whether the role is built into Keycloak.
func (r keycloakRole) own() bool {
	if r.client != "" {
		return slices.Contains(keycloakOwn, r.client)
	}
	return slices.Contains(keycloakOwnRoles, r.name) || strings.HasPrefix(r.name, "default-roles-")
}

// keycloakLink is Keycloak's FederatedIdentityRepresentation.
type keycloakLink struct {
	Provider string `json:"identityProvider"`
	Subject  string `json:"userId"`
	Username string `json:"userName"`
}

func newKeycloakRealm() *keycloakRealm {
	return &keycloakRealm{composites: make(map[keycloakRole][]keycloakRole), issuers: make(map[string]string)}
}

// parts returns the functions that read the members of a realm; see members.
func (k *keycloakRealm) parts() map[string]func(d *json.Decoder) error {
	return map[string]func(d *json.Decoder) error{
		"roles":             k.readRoles,
		"identityProviders": func(d *json.Decoder) error { return elements(d, k.provider) },
	}
}

// readRoles reads Keycloak's RolesRepresentation: {"realm": [role], "client": {client: [role]}}.
func (k *keycloakRealm) readRoles(d *json.Decoder) error {
	k.known = true
	return object(d, func(name string) error {
		switch name {
		case "realm":
			return elements(d, k.role(""))
		case "client":
			return object(d, func(client string) error { return elements(d, k.role(client)) })
		}
		return skip(d)
	})
}

// role returns a function that reads a RoleRepresentation of a client, or of the realm if client is empty. A role that
// does not parse has no composites.
func (k *keycloakRealm) role(client string) func(i int, raw json.RawMessage) error {
	return func(_ int, raw json.RawMessage) error {
		var r struct {
			Name       string `json:"name"`
			Composites struct {
				Realm  []string            `json:"realm"`
				Client map[string][]string `json:"client"`
			} `json:"composites"`
		}
		if json.Unmarshal(raw, &r) != nil {
			return nil
		}
		list := keycloakList(r.Composites.Realm, r.Composites.Client)
		if len(list) == 0 {
			return nil
		}
		if len(k.composites) >= maxKeycloakRoles {
			return fmt.Errorf("there are more than %d composite roles", maxKeycloakRoles)
		}
		k.composites[keycloakRole{client, r.Name}] = list
		return nil
	}
}

// provider reads an IdentityProviderRepresentation.
func (k *keycloakRealm) provider(_ int, raw json.RawMessage) error {
	var p struct {
		Alias  string            `json:"alias"`
		Config map[string]string `json:"config"`
	}
	if json.Unmarshal(raw, &p) != nil || p.Alias == "" || p.Config["issuer"] == "" {
		return nil // it is no OpenID provider
	}
	if len(k.issuers) >= maxKeycloakProviders {
		return fmt.Errorf("there are more than %d identity providers", maxKeycloakProviders)
	}
	k.issuers[p.Alias] = p.Config["issuer"]
	return nil
}

// keycloakList returns roles of the realm and of clients as one list.
func keycloakList(realm []string, ofClients map[string][]string) (list []keycloakRole) {
	for _, name := range realm {
		list = append(list, keycloakRole{"", name})
	}
	for client, names := range ofClients {
		for _, name := range names {
			list = append(list, keycloakRole{client, name})
		}
	}
	return list
}

// rolesOf returns the names of roles and of all roles that they include, without built-in roles. The name of a client's
// role begins with the id of the client and a colon. The result incomplete is set if there are roles whose composites
// are not known.
func (k *keycloakRealm) rolesOf(realm []string, ofClients map[string][]string) (roles []string, incomplete bool) {
	pending := keycloakList(realm, ofClients)
	seen := make(map[keycloakRole]bool, len(pending))
	for len(pending) > 0 && len(seen) < maxKeycloakRoles {
		role := pending[len(pending)-1]
		pending = pending[:len(pending)-1]
		if seen[role] { // also where roles consist of each other
			continue
		}
		seen[role] = true
		pending = append(pending, k.composites[role]...)
		switch {
		case role.own():
		case role.client == "":
			roles = append(roles, role.name)
		default:
			roles = append(roles, role.client+":"+role.name)
		}
	}
	slices.Sort(roles)
	return slices.Compact(roles), len(roles) > 0 && !k.known
}
