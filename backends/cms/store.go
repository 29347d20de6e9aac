package cms

import (
	"context"
	"strconv"

	"github.com/tollgate-gateway/tollgate/backends/cms/accounts"
	"github.com/tollgate-gateway/tollgate/backends/cms/kernel"
	"github.com/tollgate-gateway/tollgate/backends/cms/script"
)

// users is what scripts know of the accounts: names and roles, never an address.
type users struct{ *accounts.Accounts }

// Find implements script.Users. The guest is not one, nor who is disabled.
func (u users) Find(ctx context.Context, after int64, limit int) ([]script.Object, error) {
	list := []script.Object{}
	for {
		found, err := u.List(ctx, after, limit)
		if err != nil {
			return nil, err
		}
		for _, account := range found {
			if after = account.ID; known(account) && len(list) < limit {
				list = append(list, object(account))
			}
		}
		if len(list) == limit || len(found) < limit {
			return list, nil
		}
	}
}

// Get implements script.Users.
func (u users) Get(ctx context.Context, idOrName string) (script.Object, error) {
	var account *accounts.Account
	id, err := strconv.ParseInt(idOrName, 10, 64)
	if err == nil {
		account, err = u.Account(ctx, id)
	} else {
		account, err = u.Named(ctx, idOrName)
	}
	if kernel.IsNotFound(err) || err == nil && !known(account) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return object(account), nil
}

func known(a *accounts.Account) bool {
	return a.Name != kernel.RoleGuest && a.Status == accounts.StatusActive
}

func object(a *accounts.Account) script.Object {
	return script.Object{"id": a.ID, "name": a.Name, "roles": append([]string{kernel.RoleGuest}, a.Roles...)}
}

// known is what scripts know of the settings.
func (s *Server) known() map[string]any {
	now := s.settings.Current()
	return map[string]any{"endpoint": now.Mount(), "auth": now.Mode(), "debug": now.Debug}
}
