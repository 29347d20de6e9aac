// Package ownprices stores the operator's prices, which replace list prices. An operator sets prices in a declared file
// or individually, and all nodes that share the database use them.
package ownprices

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Limits of the prices.
const (
	MaxPrices = 1000
	MaxName   = 300 // bytes
)

// Entry is the price of a model, or of all models whose names begin with a prefix; see catalog.Prices.
type Entry struct {
	Name string // a name as in catalog.Prices
	Text string // the JSON of an entry in a file of prices
}

// List returns all prices, ordered by name. Inside keychain.Service.Together it sees the changes made so far.
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

// IsName reports whether name has the form of a model's name, or of a prefix of such names with a star at its end.
func IsName(name string) bool { return len(name) <= MaxName && strings.Contains(name, "/") }

// Fits reports whether a name can match a model of a catalog: it is the name of a model, or a prefix with a star at its
// end. Every prefix can match a model, since models may be added later.
func Fits(cat *catalog.Catalog, name string) bool {
	if strings.HasSuffix(name, "*") {
		return true
	}
	provider, model, _ := strings.Cut(name, "/")
	_, ok := cat.Model(provider, model)
	return ok
}

// Put checks a price in the form of a price file and stores it under a name. The price replaces any price that the
// name already has. Put returns the stored price. The error has status 400 if the name or the price is invalid, 404
// if the catalog does not have the model, and 409 if there are MaxPrices other prices.
func Put(
	ctx context.Context, s *keychain.Service, cat *catalog.Catalog, name string, price json.RawMessage,
) (Entry, error) {
	if !IsName(name) {
		return Entry{}, apierror.New(http.StatusBadRequest, "invalid_value",
			"%.100q is not a name such as openai/gpt-5.4-nano or openai/*", name).With("name")
	}
	file, err := json.Marshal(map[string]json.RawMessage{name: price})
	if err == nil {
		_, err = catalog.ParsePrices(file)
	}
	if err != nil {
		return Entry{}, apierror.New(http.StatusBadRequest, "invalid_value", "the price of %s", err)
	}
	if !Fits(cat, name) {
		return Entry{}, apierror.New(http.StatusNotFound, "not_found", "there is no model %q", name).With("name")
	}
	entry := Entry{Name: name}
	if entry.Text, err = sorted(price); err != nil {
		return Entry{}, err
	}
	return entry, s.Change(ctx, "price.set", name, json.RawMessage(entry.Text), func(c store.Conn) error {
		return write(c, entry)
	})
}

// sorted returns a JSON object with its members sorted, so that equal prices have equal texts.
func sorted(object json.RawMessage) (string, error) {
	var value any
	decoder := json.NewDecoder(bytes.NewReader(object))
	decoder.UseNumber()
	if err := decoder.Decode(&value); err != nil {
		return "", err
	}
	text, err := json.Marshal(value)
	return string(text), err
}

// Set stores a price and records the change in the audit log. The price replaces any price that the name already has.
// The caller has checked the price. The error has status 409 if there are MaxPrices other prices.
func Set(ctx context.Context, s *keychain.Service, e Entry) error {
	return s.Change(ctx, "price.set", e.Name, json.RawMessage(e.Text), func(c store.Conn) error { return write(c, e) })
}

// write stores a price in a transaction. The price replaces any price that the name already has. The error has status
// 409 if there are MaxPrices other prices.
func write(c store.Conn, e Entry) error {
	var others int
	if err := c.Row(`SELECT COUNT(*) FROM gateway_prices WHERE name <> ?`, e.Name).Scan(&others); err != nil {
		return err
	}
	if others >= MaxPrices {
		return apierror.New(http.StatusConflict, "too_many",
			"there are already %d prices, which is the maximum: remove one first", MaxPrices)
	}
	_, err := c.Exec(
		`INSERT INTO gateway_prices (name, price) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET price = excluded.price`,
		e.Name, e.Text)
	return err
}

// Remove deletes the price with a name, and records the change in the audit log. The error has status 404 if the name
// has no price.
func Remove(ctx context.Context, s *keychain.Service, name string) error {
	return s.Change(ctx, "price.removed", name, nil, func(c store.Conn) error {
		n, err := c.Exec(`DELETE FROM gateway_prices WHERE name = ?`, name)
		if err == nil && n == 0 {
			err = apierror.New(http.StatusNotFound, "not_found", "there is no own price %.100q", name)
		}
		return err
	})
}

// Read returns the prices in the form of the catalog, and a version that changes whenever a price changes.
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
