package tollgate

import (
	"net/netip"

	"github.com/tollgate-gateway/tollgate/internal/keyring"
)

// Keyring encrypts secrets in the databases; before the app has started it is a
// 503.
func (a *App) Keyring() (keyring.Keyring, error) {
	g, err := a.Gateway()
	if err != nil {
		return nil, err
	}
	return g.Keyring, nil
}

// AllowedNetworks are those that connections to addresses of users may lead to
// beside public ones.
func (a *App) AllowedNetworks() []netip.Prefix { return a.allow }

// ServiceFolder is where a service keeps files: beside its database. It is empty
// where the database is not a file, so that several nodes may share it.
func (a *App) ServiceFolder(service string) string {
	if local, ok := a.storage(service).(interface{ Dir() string }); ok {
		return local.Dir()
	}
	return ""
}
