// Package ownprices stores prices that replace list prices. An operator sets them by a declared file, and all nodes
// that share the database use them.
package ownprices

import (
	"context"
	"encoding/json"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Entry is the price of a model, or of all models whose names begin with a prefix.
type Entry struct {
	Name string // a name as in catalog.Prices
	Text string // the JSON of an entry in a file of prices
}

// List returns all prices, ordered by name. Within keychain.Service.Together it sees the changes made there.
func List(ctx context.Context, s *keychain.Service) (list []Entry, err error) {
	err = s.Look(ctx, func(c store.Conn) error {
		list, err = entries(c)
		return err
	})
	return list, err
}

// entries reads all prices in a transaction.
func entries(c store.Conn) ([]Entry, error) {
	return store.List(c, func(r store.Row) (e Entry, err error) { return e, r.Scan(&e.Name, &e.Text) },
		`SELECT name, price FROM gateway_prices ORDER BY name`)
}

// Set adds a price or replaces the one with the same name, and records that in the audit log. The caller has checked
// it.
func Set(ctx context.Context, s *keychain.Service, e Entry) error {
	return s.Change(ctx, "price.set", e.Name, json.RawMessage(e.Text), func(c store.Conn) error {
		_, err := c.Exec(
			`INSERT INTO gateway_prices (name, price) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET price = excluded.price`,
			e.Name,
			e.Text,
		)
		return err
	})
}

// Remove deletes the price with a name, and records that in the audit log.
func Remove(ctx context.Context, s *keychain.Service, name string) error {
	return s.Change(ctx, "price.removed", name, nil, func(c store.Conn) error {
		_, err := c.Exec(`DELETE FROM gateway_prices WHERE name = ?`, name)
		return err
	})
}

// Read returns the prices in the form that a catalog uses, and a version that changes whenever they do.
func Read(ctx context.Context, db *store.DB) (prices catalog.Prices, version string, err error) {
	var list []Entry
	err = db.Read(ctx, func(c store.Conn) error {
		list, err = entries(c)
		return err
	})
	if err != nil {
		return nil, "", err
	}
	all := make(map[string]json.RawMessage, len(list))
	for _, e := range list {
		all[e.Name] = json.RawMessage(e.Text)
	}
	text, err := json.Marshal(all)
	if err != nil {
		return nil, "", err
	}
	prices, err = catalog.ParsePrices(text)
	return prices, string(text), err
}
