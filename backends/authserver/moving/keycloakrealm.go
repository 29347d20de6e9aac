package moving

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// keycloakOwnRoles are built-in roles of a realm that every user has. Another one is default-roles- with the
// name of the realm, which consists of the roles that every user has.
var keycloakOwnRoles = []string{"offline_access", "uma_authorization"}

const (
	// maxKeycloakRoles bounds how many composite roles a realm has, and how many roles one of them consists of, also
	// through others.
	maxKeycloakRoles = 10_000
	// maxKeycloakProviders bounds how many identity providers a realm has.
	maxKeycloakProviders = 10_000
)

// keycloakRealm is what the records of a realm refer to.
type keycloakRealm struct {
	// composites are the roles that a role consists of. known is set once they have been read.
	composites map[keycloakRole][]keycloakRole
	known      bool
	// issuers are those of the OpenID providers of the realm, by their aliases.
	issuers map[string]string
}

// keycloakRole is a role of a client, or of the realm if client is empty.
type keycloakRole struct{ client, name string }

// own reports whether the role is a built-in one of Keycloak.
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

// parts returns the functions that read the realm; see members.
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

// role returns a function that reads a RoleRepresentation. A role that cannot be read has no composites.
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

// rolesOf returns roles of the realm, and those of its clients with the id of the client and a colon in front, with all
// roles that they consist of, and without the built-in ones. incomplete is set if there are roles and it is not known
// what they consist of.
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
