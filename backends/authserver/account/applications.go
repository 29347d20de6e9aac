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

// Application is a client that may act for a user.
type Application struct {
	Client string // its client_id
	Name   string // what it calls itself, or its client_id
	// Access is what it may do, by resource.
	Access []Access
	// Since is when the user allowed it last. Zero means that nobody was asked: the operator
	// trusts the client, and it has tokens.
	Since time.Time
}

// Access is what an application may do at one resource.
type Access struct {
	Resource string // its name; empty: this server
	Scopes   []resources.Scope
}

// Applications lists the clients that may act for a user, those first that were allowed last.
func (a *Accounts) Applications(ctx context.Context, user string) ([]Application, error) {
	grants, err := a.Consents.Of(ctx, user)
	if err != nil {
		return nil, err
	}
	all, err := a.Catalog.All(ctx)
	if err != nil {
		return nil, err
	}
	live, err := a.Tokens.ClientsOf(ctx, user)
	if err != nil {
		return nil, err
	}
	var list []Application
	at := make(map[string]int)
	place := func(client string) *Application {
		i, ok := at[client]
		if !ok {
			i = len(list)
			at[client] = i
			list = append(list, Application{Client: client})
		}
		return &list[i]
	}
	for i := range grants {
		app := place(grants[i].Client)
		if app.Since.IsZero() {
			app.Since = time.UnixMicro(grants[i].UpdatedAt)
		}
		app.Access = append(app.Access, access(&grants[i], all))
	}
	for _, client := range live {
		place(client)
	}
	return list, a.name(ctx, list)
}

// name gives applications their names.
func (a *Accounts) name(ctx context.Context, list []Application) error {
	ids := make([]string, len(list))
	for i := range list {
		ids[i] = list[i].Client
	}
	slices.Sort(ids)
	var names map[string]string
	err := a.Read(ctx, func(c store.Conn) (err error) {
		names, err = kernel.Names(c, "authserver_clients", "name", ids)
		return err
	})
	for i := range list {
		list[i].Name = cmp.Or(names[list[i].Client], list[i].Client)
	}
	return err
}

// access returns what a grant lets a client do. Scopes have the descriptions that the resource
// among all has for them now.
func access(g *consent.Grant, all []*resources.Resource) (access Access) {
	var described []resources.Scope
	for _, r := range all {
		if r.ID == g.Resource {
			access.Resource, described = cmp.Or(r.DisplayName, r.Slug), r.Scopes
		}
	}
	for _, name := range g.Scope {
		scope := resources.Scope{Name: name}
		if at := slices.IndexFunc(described, func(s resources.Scope) bool { return s.Name == name }); at >= 0 {
			scope = described[at]
		}
		access.Scopes = append(access.Scopes, scope)
	}
	return access
}

// Withdraw takes back all that a user allowed a client, and ends what was issued for the user to
// it. A client that has nothing of the user is no error.
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

// revoke takes one grant back, and ends what rests on it.
func (a *Accounts) revoke(ctx context.Context, g *consent.Grant) error {
	var ended []string
	_, err := a.Consents.Revoke(ctx, g.ID, func(c store.Conn, g consent.Grant) (err error) {
		ended, err = a.Tokens.EndConsent(c, g.User, g.Client, g.Resource, g.ID)
		return err
	})
	a.Tokens.Ended(g.ID, ended)
	if e, ok := apierror.From(err); ok && e.Status == http.StatusNotFound { // somebody was faster
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
