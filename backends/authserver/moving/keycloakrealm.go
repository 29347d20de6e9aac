package moving

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// keycloakBuiltInRoles are built-in roles of a realm that every user has. Another built-in role is default-roles-<name
// of the realm>, whose composites are the roles that every user has.
var keycloakBuiltInRoles = []string{"offline_access", "uma_authorization"}

const (
	// maxKeycloakRoles is the maximum number of composite roles in a realm, and of the roles that a composite role
	// includes, directly or indirectly.
	maxKeycloakRoles = 10_000
	// maxKeycloakProviders is the maximum number of identity providers in a realm.
	maxKeycloakProviders = 10_000
)

// keycloakRealm holds the parts of a realm to which its users refer: roles and identity providers.
type keycloakRealm struct {
	// composites maps each composite role to the roles that it includes. The field rolesRead is set once they have been
	// read.
	composites map[keycloakRole][]keycloakRole
	rolesRead  bool
	// issuers are the issuers of the realm's OpenID providers, by alias.
	issuers map[string]string
}

// keycloakRole is a role of a client, or of the realm if client is empty.
type keycloakRole struct{ client, name string }

// isBuiltIn reports whether the role is built into Keycloak.
func (r keycloakRole) isBuiltIn() bool {
	if r.client != "" {
		return slices.Contains(keycloakBuiltInClients, r.client)
	}
	return slices.Contains(keycloakBuiltInRoles, r.name) || strings.HasPrefix(r.name, "default-roles-")
}

// keycloakLink is Keycloak's FederatedIdentityRepresentation.
type keycloakLink struct {
	Provider string `json:"identityProvider"`
	Subject  string `json:"userId"`
	Username string `json:"userName"`
}

// noteIncompleteRoles is the note about an entry for which rolesOf has set the result incomplete.
const noteIncompleteRoles = "imported the roles without the roles that composite roles include:" +
	" the member roles of the realm must come before its groups and users in the file"

// newKeycloakRealm returns a realm without roles and providers.
func newKeycloakRealm() *keycloakRealm {
	return &keycloakRealm{composites: make(map[keycloakRole][]keycloakRole), issuers: make(map[string]string)}
}

// memberReaders returns the functions that read the members roles and identityProviders of a realm; see readTopLevel.
func (k *keycloakRealm) memberReaders() map[string]func(d *json.Decoder) error {
	return map[string]func(d *json.Decoder) error{
		"roles":             k.readRoles,
		"identityProviders": func(d *json.Decoder) error { return readArray(d, k.readProvider) },
	}
}

// readRoles reads Keycloak's RolesRepresentation: {"realm": [role], "client": {client: [role]}}.
func (k *keycloakRealm) readRoles(d *json.Decoder) error {
	k.rolesRead = true
	return readObject(d, func(name string) error {
		switch name {
		case "realm":
			return readArray(d, k.roleReader(""))
		case "client":
			return readObject(d, func(client string) error { return readArray(d, k.roleReader(client)) })
		}
		return skipValue(d)
	})
}

// roleReader returns a function that reads a RoleRepresentation of a client, or of the realm if client is empty, and
// stores which roles it includes. It ignores a role that does not parse.
func (k *keycloakRealm) roleReader(client string) func(i int, raw json.RawMessage) error {
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
		list := keycloakRoles(r.Composites.Realm, r.Composites.Client)
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

// readProvider reads an IdentityProviderRepresentation.
func (k *keycloakRealm) readProvider(_ int, raw json.RawMessage) error {
	var p struct {
		Alias  string            `json:"alias"`
		Config map[string]string `json:"config"`
	}
	if json.Unmarshal(raw, &p) != nil || p.Alias == "" || p.Config["issuer"] == "" {
		return nil // not an OpenID provider
	}
	if len(k.issuers) >= maxKeycloakProviders {
		return fmt.Errorf("there are more than %d identity providers", maxKeycloakProviders)
	}
	k.issuers[p.Alias] = p.Config["issuer"]
	return nil
}

// keycloakRoles returns the roles of the realm in realmRoles and the roles of clients in clientRoles as one list. The
// keys of clientRoles are client_ids.
func keycloakRoles(realmRoles []string, clientRoles map[string][]string) (list []keycloakRole) {
	for _, name := range realmRoles {
		list = append(list, keycloakRole{"", name})
	}
	for client, names := range clientRoles {
		for _, name := range names {
			list = append(list, keycloakRole{client, name})
		}
	}
	return list
}

// rolesOf returns the names of roles and of all roles that they include, without built-in roles. The name of a client's
// role begins with the id of the client and a colon. The result incomplete is set if there are roles but the composite
// roles of the realm have not been read yet.
func (k *keycloakRealm) rolesOf(
	realmRoles []string, clientRoles map[string][]string,
) (roles []string, incomplete bool) {
	pending := keycloakRoles(realmRoles, clientRoles)
	seen := make(map[keycloakRole]bool, len(pending))
	for len(pending) > 0 && len(seen) < maxKeycloakRoles {
		role := pending[len(pending)-1]
		pending = pending[:len(pending)-1]
		if seen[role] { // roles may also include each other
			continue
		}
		seen[role] = true
		pending = append(pending, k.composites[role]...)
		switch {
		case role.isBuiltIn():
		case role.client == "":
			roles = append(roles, role.name)
		default:
			roles = append(roles, role.client+":"+role.name)
		}
	}
	slices.Sort(roles)
	return slices.Compact(roles), len(roles) > 0 && !k.rolesRead
}
