package keys

import (
	"context"
	"fmt"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/authserver/encryption"
	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Table stores keys in the database, encrypted, for all nodes that share it.
type Table struct {
	*kernel.Server
	// Encryptor encrypts the keys. If it is nil, no keys can be stored or used.
	Encryptor encryption.Encryptor
}

// Sealed is the column of the encrypted keys.
var Sealed = encryption.Column{Table: "authserver_keys", ID: "kid", Column: "private"}

func place(kid string) []byte { return encryption.Place(Sealed.Table, kid, Sealed.Column) }

// Load implements Store.
func (t Table) Load(ctx context.Context) (list []Stored, err error) {
	if t.Encryptor == nil {
		return nil, encryption.ErrNone
	}
	err = t.Read(ctx, func(c store.Conn) (err error) {
		list, err = store.List(c, t.stored,
			"SELECT kid, algorithm, private, created_at FROM authserver_keys ORDER BY created_at DESC LIMIT 1000")
		return err
	})
	return list, err
}

// stored returns the key of a row. The key is decrypted later, by Open.
func (t Table) stored(r store.Row) (s Stored, err error) {
	var kid, private string
	var created int64
	err = r.Scan(&kid, &s.Algorithm, &private, &created)
	s.Name, s.CreatedAt = private, time.UnixMicro(created)
	s.Open = func(ctx context.Context) ([]byte, error) {
		pkcs8, err := t.Encryptor.Open(ctx, private, place(kid))
		if err != nil {
			err = fmt.Errorf("key %s: %w", kid, err)
		}
		return pkcs8, err
	}
	return s, err
}

// Make implements Store.
func (t Table) Make(ctx context.Context, algorithm string, created time.Time, first bool) error {
	if t.Encryptor == nil {
		return encryption.ErrNone
	}
	pkcs8, kid, err := generate(algorithm)
	if err != nil {
		return err
	}
	sealed, err := t.Encryptor.Seal(ctx, pkcs8, place(kid))
	if err != nil {
		return err
	}
	return t.Write(ctx, func(c store.Conn) error {
		if first {
			var count int64
			err := c.Row("SELECT count(*) FROM authserver_keys WHERE algorithm = ?", algorithm).Scan(&count)
			if err != nil || count > 0 {
				return err
			}
		}
		if _, err := c.Exec("INSERT INTO authserver_keys (kid, algorithm, private, created_at) VALUES (?, ?, ?, ?)",
			kid, algorithm, sealed, created.UnixMicro()); err != nil {
			return err
		}
		return c.Notify("authserver_"+topic, kid)
	})
}

// Remove implements Store.
func (t Table) Remove(ctx context.Context, kid string) error {
	return t.Write(ctx, func(c store.Conn) error {
		_, err := c.Exec("DELETE FROM authserver_keys WHERE kid = ?", kid)
		return err
	})
}

// Interface guards
var (
	_ Store = Files{}
	_ Store = Table{}
	_ Store = (*Transit)(nil)
)
