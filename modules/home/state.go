package home

import (
	"cmp"
	"context"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/caddyserver/caddy/v2/modules/caddytls"

	"github.com/tollgate-gateway/tollgate/backends/home"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/modules/tollgate"
)

// sizeTimeout is the time limit for a database to report its size.
const sizeTimeout = 2 * time.Second

// state returns the state of the process, for administrators.
func state(ctx context.Context, app *tollgate.App) home.State {
	s := home.State{Version: tollgate.Version()}
	s.Started, s.Loaded = app.StartTimes()
	if last, ok := app.LastBackup(); ok {
		s.Backup = &home.Backup{At: last.At, Folder: last.Folder}
	}
	engines := make(map[string]string) // of databases, by service
	for _, d := range app.ServedDatabases() {
		described := database(ctx, d)
		s.Databases = append(s.Databases, described)
		for _, service := range d.Services {
			engines[service] = described.Engine
		}
	}
	hosts := make(map[string]bool) // with HTTPS
	for _, m := range app.AllServices() {
		entry := home.ServiceState{Title: m.Title, Faults: faults(ctx, app, m.Service), Database: engines[m.Service]}
		for _, a := range m.Addresses {
			if text := a.String(); !slices.Contains(entry.Addresses, text) {
				entry.Addresses = append(entry.Addresses, text)
			}
			if a.Scheme == "https" && a.Host != "" {
				hosts[a.Host] = true
			}
		}
		s.Services = append(s.Services, entry)
	}
	s.Certificates = certificates(slices.Sorted(maps.Keys(hosts)))
	return s
}

// faults returns the parts of a service that do not work, ordered by name.
func faults(ctx context.Context, app *tollgate.App, service string) (list []home.Fault) {
	parts := app.Parts(ctx, service)
	for _, part := range slices.Sorted(maps.Keys(parts)) {
		if err := parts[part]; err != nil {
			list = append(list, home.Fault{Part: part, Reason: err.Error()})
		}
	}
	return list
}

// database describes a database for administrators. It asks the database for its size.
func database(ctx context.Context, d tollgate.ServedDatabase) home.Database {
	described := home.Database{Engine: "PostgreSQL", Place: "on a server", Services: d.Services}
	if d.DB.Dialect() == store.SQLite {
		described.Engine, described.Place = "SQLite", filepath.Base(d.DB.File())
	}
	ctx, cancel := context.WithTimeout(ctx, sizeTimeout)
	defer cancel()
	var err error
	if described.Size, err = d.DB.Size(ctx); err != nil {
		described.Size, described.Reason = -1, err.Error()
	}
	return described
}

// certificates returns the certificates that the process has for the given hosts, ordered by the time of expiry.
func certificates(hosts []string) (list []home.Certificate) {
	seen := make(map[string]bool)
	for _, host := range hosts {
		for _, c := range caddytls.AllMatchingCertificates(host) {
			if c.Leaf == nil || seen[c.Hash()] {
				continue
			}
			seen[c.Hash()] = true
			list = append(list, home.Certificate{
				Names: c.Names, Ends: c.Leaf.NotAfter,
				Issuer: cmp.Or(c.Leaf.Issuer.CommonName, strings.Join(c.Leaf.Issuer.Organization, ", ")),
			})
		}
	}
	slices.SortFunc(list, func(a, b home.Certificate) int { return a.Ends.Compare(b.Ends) })
	return list
}
