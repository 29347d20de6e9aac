package admin

import (
	"net/http"

	"github.com/tollgate-gateway/tollgate/backends/authserver/clients"
	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
)

// Routes returns all routes of the API.
func (a *API) Routes() []kernel.Route {
	const get, post, patch, del = http.MethodGet, http.MethodPost, http.MethodPatch, http.MethodDelete
	routes := []kernel.Route{
		a.route(post, "/auth/verify", a.verify),

		a.route(get, "/clients", a.clients),
		a.route(post, "/clients", a.createClient),
		a.route(get, "/clients/{id}", a.client),
		a.route(patch, "/clients/{id}", a.patchClient),
		a.route(del, "/clients/{id}", a.deleteClient),
		a.route(patch, "/clients/{id}/suspend", a.setStatus(clients.Suspended, "client.suspended")),
		a.route(patch, "/clients/{id}/reactivate", a.setStatus(clients.Active, "client.reactivated")),
		a.route(patch, "/clients/{id}/revoke", a.setStatus(clients.Revoked, "client.revoked")),
		a.route(post, "/clients/{id}/rotate-secret", a.rotateSecret),
		a.route(post, "/clients/{id}/refresh", a.refreshClient),

		a.route(get, "/users", a.users),
		a.route(post, "/users", a.createUser),
		a.route(post, "/users/invite", a.inviteUser),
		a.route(get, "/users/{id}", a.user),
		a.route(patch, "/users/{id}", a.patchUser),
		a.route(del, "/users/{id}", a.deleteUser),
		a.route(patch, "/users/{id}/disable", a.setUser(a.Users.Disable)),
		a.route(patch, "/users/{id}/enable", a.setUser(a.Users.Enable)),
		a.route(get, "/users/{id}/tokens", a.userTokens),
		a.route(del, "/users/{id}/tokens", a.signOut),
		a.route(get, "/users/{id}/factors", a.userFactors),
		a.route(del, "/users/{id}/factors", a.resetFactors),
		a.route(get, "/users/{id}/identities", a.userIdentities),
		a.route(del, "/users/{id}/identities/{identity}", a.removeIdentity),
		a.route(get, "/users/{id}/grants", a.userGrants),
		a.route(del, "/grants/consent/{id}", a.revokeConsent),

		a.route(get, "/resources", a.resources),
		a.route(post, "/resources", a.createResource),
		a.route(get, "/resources/{id}", a.resource),
		a.route(patch, "/resources/{id}", a.patchResource),
		a.route(del, "/resources/{id}", a.deleteResource),

		a.route(get, "/tokens", a.tokens),
		a.route(del, "/tokens/{jti}", a.revokeToken),
		a.route(get, "/issuances", a.issuances),
		a.route(get, "/issuances/{id}", a.issuance),
		a.route(del, "/issuances/{id}", a.revokeIssuance),

		a.route(get, "/upstreams", a.upstreams),
		a.route(get, "/mail", a.mail),
		a.route(post, "/mail/test", a.testMail),
		a.route(get, "/keys", a.keys),
		a.route(post, "/keys/rotate", a.rotateKey),
		a.route(post, "/encryption/re-encrypt", a.reseal),
		a.route(get, "/settings/dcr", a.mode),
		a.route(patch, "/settings/dcr", a.setMode),

		a.route(get, "/audit", a.audit),
		a.route(get, "/stats", a.stats),
		a.route(get, "/system/status", a.status),
		a.route(get, "/system/config", a.config),
		a.route(get, "/notices", a.notices),
	}
	routes = append(routes, a.factRoutes()...)
	routes = append(routes, a.ui()...)
	routes = append(routes, a.brokerRoutes()...)
	if a.XAA != nil {
		routes = append(routes, a.enterprise()...)
	}
	for _, p := range policies {
		path := "/resources/{id}/policy/" + p.path
		routes = append(routes, a.route(get, path, a.policy(p)), a.route(post, path, a.addPolicy(p)))
		if p.member == "url" {
			routes = append(routes, a.route(del, path, a.removePolicy(p)))
		} else {
			routes = append(routes, a.route(del, path+"/{value}", a.removePolicy(p)))
		}
	}
	return routes
}
