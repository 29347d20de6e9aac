package tollgate

import (
	"net/netip"
)

// Started reports whether the app has opened what its modules share.
func (a *App) Started() bool { return a.started.Load() }

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
