package moving

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/authserver/claims"
	"github.com/tollgate-gateway/tollgate/backends/authserver/users"
)

// keycloakGroup is Keycloak's GroupRepresentation.
type keycloakGroup struct {
	Path        string              `json:"path"`
	Name        string              `json:"name"`
	Roles       []string            `json:"realmRoles"`
	ClientRoles map[string][]string `json:"clientRoles"`
	Groups      []keycloakGroup     `json:"subGroups"`
}

// keycloakDepth is the maximum depth of nested groups.
const keycloakDepth = 20

// readGroup reads a group of a realm and its subgroups. It calls fn with the records of the groups that have roles.
func (k *keycloakRealm) readGroup(raw json.RawMessage, fn func(Record) error) error {
	var g keycloakGroup
	if err := json.Unmarshal(raw, &g); err != nil {
		return fn(Record{Where: "groups", Refused: err.Error()})
	}
	return g.records(k, keycloakDepth, fn)
}

// records calls fn with the records of the group and its subgroups. It leaves out groups that have no roles. The
// depth is the number of levels that this group may span; records reports a group below these levels as refused.
func (g *keycloakGroup) records(realm *keycloakRealm, depth int, fn func(Record) error) error {
	group := "group " + g.Path
	if depth == 0 {
		return fn(Record{
			Where: group, Refused: fmt.Sprintf("groups are nested more than %d levels deep", keycloakDepth),
		})
	}
	if roles, incomplete := realm.rolesOf(g.Roles, g.ClientRoles); len(roles) > 0 {
		r := Record{
			Where: group,
			Group: &users.GroupRoles{Group: strings.TrimPrefix(g.Path, "/"), Roles: roles},
		}
		if incomplete {
			r.Notes = []string{noteIncompleteRoles}
		}
		if err := fn(r); err != nil {
			return err
		}
	}
	for i := range g.Groups {
		if err := g.Groups[i].records(realm, depth-1, fn); err != nil {
			return err
		}
	}
	return nil
}

// keycloakMapper is Keycloak's ProtocolMapperRepresentation.
type keycloakMapper struct {
	Name   string            `json:"name"`
	Kind   string            `json:"protocolMapper"`
	Config map[string]string `json:"config"`
}

// claims returns the claim rules of a client, and notes about mappers that have no equivalent here.
func (c *keycloakClient) claims() (rules []claims.Rule, notes []string) {
	add := func(mapper string, rule claims.Rule) {
		if err := claims.Check(append(slices.Clone(rules), rule), false); err != nil {
			notes = append(notes, "left out "+mapper+": "+err.Error())
			return
		}
		rules = append(rules, rule)
	}
	if slices.Contains(c.Scopes, "roles") { // Keycloak's scope roles adds these claims
		token := []string{claims.AccessToken}
		add("the claim realm_access.roles", claims.Rule{Claim: "realm_access.roles", From: claims.Roles, In: token})
		add("the claim resource_access", claims.Rule{
			Claim: "resource_access." + c.ID + ".roles", From: claims.Roles,
			Prefix: c.ID + ":", Strip: true, In: token,
		})
	}
	for _, m := range c.Mappers {
		rule := m.rule()
		if rule == nil {
			notes = append(notes, "left out the mapper "+m.Name+": the kind "+m.Kind+" is not supported")
			continue
		}
		add("the mapper "+m.Name, *rule)
	}
	return rules, notes
}

// rule returns the claim rule for a mapper, or nil for a mapper without an equivalent here.
func (m *keycloakMapper) rule() *claims.Rule {
	r := &claims.Rule{Claim: m.Config["claim.name"]}
	if strings.Contains(r.Claim, "://") { // the dots of a URL do not separate the names of nested objects
		r.Claim = strings.ReplaceAll(r.Claim, `\.`, ".")
	}
	switch m.Kind {
	case "oidc-usermodel-attribute-mapper":
		r.From = claims.Attribute + m.Config["user.attribute"]
		switch {
		case m.Config["multivalued"] == "true":
			r.Type = claims.List
		case m.Config["jsonType.label"] == "boolean":
			r.Type = claims.Boolean
		case m.Config["jsonType.label"] == "int" || m.Config["jsonType.label"] == "long":
			r.Type = claims.Number
		}
	case "oidc-usermodel-realm-role-mapper":
		r.From = claims.Roles
	case "oidc-usermodel-client-role-mapper":
		r.From = claims.Roles
		if client := m.Config["usermodel.clientRoleMapping.clientId"]; client != "" {
			r.Prefix, r.Strip = client+":", true
		}
	case "oidc-group-membership-mapper":
		r.From = claims.Groups
	default:
		return nil
	}
	for _, target := range []struct{ key, name string }{
		{"access.token.claim", claims.AccessToken},
		{"id.token.claim", claims.IDToken},
		{"userinfo.token.claim", claims.UserInfo},
	} {
		if m.Config[target.key] == "true" {
			r.In = append(r.In, target.name)
		}
	}
	if len(r.In) == 0 {
		return nil
	}
	return r
}
