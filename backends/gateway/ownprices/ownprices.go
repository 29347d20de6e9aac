// Package ownprices keeps the prices that the operator of the model gateway has in place of list
// prices and sets by a declared file, so that all nodes have them.
package ownprices

import (
	"context"
	"encoding/json"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Entry is the price of a model, or of those whose names have a beginning.
type Entry struct {
	Name string // as those of catalog.Prices
	Text string // JSON, as an entry of a file of prices has it
}

// List returns the prices by name, within keychain.Service.Together also what was changed there.
func List(ctx context.Context, s *keychain.Service) (list []Entry, err error) {
	err = s.Look(ctx, func(c store.Conn) error {
		list, err = entries(c)
		return err
	})
	return list, err
}

func entries(c store.Conn) ([]Entry, error) {
	return store.List(c, func(r store.Row) (e Entry, err error) { return e, r.Scan(&e.Name, &e.Text) },
		`SELECT name, price FROM gateway_prices ORDER BY name`)
}

// Set adds a price, or replaces that of the name. The caller has checked it.
func Set(ctx context.Context, s *keychain.Service, e Entry) error {
	return s.Change(ctx, "price.set", e.Name, json.RawMessage(e.Text), func(c store.Conn) error {
		_, err := c.Exec(`INSERT INTO gateway_prices (name, price) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET price = excluded.price`, e.Name, e.Text)
		return err
	})
}

// Remove takes the price of a name away.
func Remove(ctx context.Context, s *keychain.Service, name string) error {
	return s.Change(ctx, "price.removed", name, nil, func(c store.Conn) error {
		_, err := c.Exec(`DELETE FROM gateway_prices WHERE name = ?`, name)
		return err
	})
}

// Read returns the prices as a catalog takes them, and a text that is another one once they change.
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
