package account

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/authserver/consent"
	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/backends/authserver/resources"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Application is a client that has access on behalf of a user.
type Application struct {
	Client string // the client_id
	Name   string // the name of the client, or else its client_id
	// Access is the client's access, by resource.
	Access []Access
	// Since is when the user last gave consent. It is zero for a client of the operator, which has tokens without the
	// user's consent.
	Since time.Time
}

// Access is an application's access to one resource.
type Access struct {
	Resource string // the name of the resource; empty for this server
	Scopes   []resources.Scope
}

// Applications returns the clients that have access on behalf of a user: first those with a consent, the latest consent
// first, and then those that only have tokens.
func (a *Accounts) Applications(ctx context.Context, user string) ([]Application, error) {
	grants, err := a.Consents.Of(ctx, user)
	if err != nil {
		return nil, err
	}
	all, err := a.Catalog.All(ctx)
	if err != nil {
		return nil, err
	}
	withTokens, err := a.Tokens.ClientsOf(ctx, user)
	if err != nil {
		return nil, err
	}
	var list []Application
	index := make(map[string]int) // in list, by client_id
	entry := func(client string) *Application {
		i, ok := index[client]
		if !ok {
			i = len(list)
			index[client] = i
			list = append(list, Application{Client: client})
		}
		return &list[i]
	}
	for i := range grants {
		app := entry(grants[i].Client)
		if app.Since.IsZero() {
			app.Since = time.UnixMicro(grants[i].UpdatedAt)
		}
		app.Access = append(app.Access, accessOf(&grants[i], all))
	}
	for _, client := range withTokens {
		entry(client)
	}
	return list, a.setNames(ctx, list)
}

// setNames sets the field Name of each application. If the client no longer exists, the name is its client_id.
func (a *Accounts) setNames(ctx context.Context, list []Application) error {
	ids := make([]string, len(list))
	for i := range list {
		ids[i] = list[i].Client
	}
	slices.Sort(ids)
	names, err := kernel.Read(ctx, a.Server, func(c store.Conn) (map[string]string, error) {
		return kernel.Names(c, "authserver_clients", "name", ids)
	})
	for i := range list {
		list[i].Name = cmp.Or(names[list[i].Client], list[i].Client)
	}
	return err
}

// accessOf returns the access that a consent grants. If the resource of the consent is in list, the result contains its
// name, and the scopes have their current descriptions.
func accessOf(g *consent.Grant, list []*resources.Resource) (access Access) {
	var described []resources.Scope
	for _, r := range list {
		if r.ID == g.Resource {
			access.Resource, described = cmp.Or(r.DisplayName, r.Slug), r.Scopes
		}
	}
	for _, name := range g.Scope {
		scope := resources.Scope{Name: name}
		if index := slices.IndexFunc(described, func(s resources.Scope) bool { return s.Name == name }); index >= 0 {
			scope = described[index]
		}
		access.Scopes = append(access.Scopes, scope)
	}
	return access
}

// Withdraw revokes all consents of a user to a client and all tokens that the client has for the user. If there are
// none, Withdraw does nothing.
func (a *Accounts) Withdraw(ctx context.Context, user, client string) error {
	if err := a.Tokens.Flush(ctx); err != nil {
		return err
	}
	grants, err := a.Consents.Of(ctx, user)
	if err != nil {
		return err
	}
	for i := range grants {
		if grants[i].Client != client {
			continue
		}
		if err := a.revoke(ctx, &grants[i]); err != nil {
			return err
		}
	}
	return a.Tokens.RevokeUserClient(ctx, user, client)
}

// revoke revokes a consent and the tokens that depend on it. A consent that was revoked meanwhile is not an error.
func (a *Accounts) revoke(ctx context.Context, g *consent.Grant) error {
	_, err := a.EndConsent(ctx, g.ID)
	if e, ok := apierror.From(err); ok && e.Status == http.StatusNotFound {
		return nil
	}
	if err != nil {
		return err
	}
	a.Audit(ctx, kernel.Event{
		Action: "consent_grant.revoked", Actor: g.User, Client: g.Client,
		Detail: []string{"resource", g.Resource, "scope", strings.Join(g.Scope, " ")},
	})
	return nil
}

// EndConsent deletes a consent, revokes the tokens that depend on it, and returns the consent. The caller records that
// in the audit feed. If the consent does not exist, the error has status 404.
func (a *Accounts) EndConsent(ctx context.Context, id string) (consent.Grant, error) {
	if err := a.Tokens.Flush(ctx); err != nil { // see tokens.Tokens.EndConsent
		return consent.Grant{}, err
	}
	var endedFamilies []string
	g, err := a.Consents.Revoke(ctx, id, func(c store.Conn, g consent.Grant) (err error) {
		endedFamilies, err = a.Tokens.EndConsent(c, g.User, g.Client, g.Resource, g.ID)
		return err
	})
	a.Tokens.Ended(id, endedFamilies) // also after an error: the outcome of a commit may be unknown
	return g, err
}
