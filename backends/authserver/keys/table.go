package keys

import (
	"context"
	"fmt"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/authserver/encryption"
	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Table keeps keys in the database, sealed, for all nodes that share it.
type Table struct {
	*kernel.Server
	// Encryptor seals the keys; nil: none can be kept or used.
	Encryptor encryption.Encryptor
}

func place(kid string) []byte { return encryption.Place("authserver_keys", kid, "private") }

// Load implements Store.
func (t Table) Load(ctx context.Context) ([]Stored, error) {
	if t.Encryptor == nil {
		return nil, encryption.ErrNone
	}
	type row struct {
		Stored
		kid, private string
	}
	var rows []row
	err := t.Read(ctx, func(c store.Conn) (err error) {
		rows, err = store.List(c, func(r store.Row) (k row, err error) {
			var created int64
			err = r.Scan(&k.kid, &k.Algorithm, &k.private, &created)
			k.CreatedAt = time.UnixMicro(created)
			return k, err
		}, "SELECT kid, algorithm, private, created_at FROM authserver_keys ORDER BY created_at DESC LIMIT 1000")
		return err
	})
	if err != nil {
		return nil, err
	}
	list := make([]Stored, len(rows))
	for i, k := range rows {
		if k.PKCS8, err = t.Encryptor.Open(ctx, k.private, place(k.kid)); err != nil {
			return nil, fmt.Errorf("key %s: %w", k.kid, err)
		}
		list[i] = k.Stored
	}
	return list, nil
}

// Add implements Store.
func (t Table) Add(ctx context.Context, kid string, k Stored, first bool) error {
	if t.Encryptor == nil {
		return encryption.ErrNone
	}
	sealed, err := t.Encryptor.Seal(ctx, k.PKCS8, place(kid))
	if err != nil {
		return err
	}
	return t.Write(ctx, func(c store.Conn) error {
		if first {
			var there int64
			if err := c.Row("SELECT count(*) FROM authserver_keys WHERE algorithm = ?", k.Algorithm).Scan(&there); err != nil || there > 0 {
				return err
			}
		}
		if _, err := c.Exec("INSERT INTO authserver_keys (kid, algorithm, private, created_at) VALUES (?, ?, ?, ?)", kid, k.Algorithm, sealed, k.CreatedAt.UnixMicro()); err != nil {
			return err
		}
		return c.Notify("authserver_"+topic, kid)
	})
}

// Reseal seals anew what was not sealed with the present key, while others may do so, too.
// failed is how many could not be opened.
func (t Table) Reseal(ctx context.Context) (scanned, rewritten, failed int, err error) {
	type row struct{ kid, private string }
	var rows []row
	err = t.Read(ctx, func(c store.Conn) (err error) {
		rows, err = store.List(c, func(r store.Row) (one row, err error) { return one, r.Scan(&one.kid, &one.private) }, "SELECT kid, private FROM authserver_keys LIMIT 1000")
		return err
	})
	if err != nil {
		return 0, 0, 0, err
	}
	for _, one := range rows {
		if scanned++; t.Encryptor.Current(one.private) {
			continue
		}
		plain, err := t.Encryptor.Open(ctx, one.private, place(one.kid))
		if err != nil {
			failed++
			continue
		}
		sealed, err := t.Encryptor.Seal(ctx, plain, place(one.kid))
		if err != nil {
			return scanned, rewritten, failed, err
		}
		err = t.Write(ctx, func(c store.Conn) error {
			_, err := c.Exec("UPDATE authserver_keys SET private = ? WHERE kid = ? AND private = ?", sealed, one.kid, one.private)
			return err
		})
		if err != nil {
			return scanned, rewritten, failed, err
		}
		rewritten++
	}
	return scanned, rewritten, failed, nil
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
)
