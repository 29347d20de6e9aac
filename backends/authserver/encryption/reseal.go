package encryption

import (
	"context"
	"errors"
	"fmt"

	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/internal/keyring"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Column is a column with sealed texts; an empty value is not a sealed text. Its names must come from the schema, never
// from a request.
type Column struct {
	// Table is the table, and ID a text column that is unique in it.
	Table, ID string
	Column    string
	// Row is the SQL expression for the row part of a place. Default: ID.
	Row string
}

// Resealed is the result of Reseal.
type Resealed struct {
	// Scanned is the number of texts that were read.
	Scanned int `json:"scanned"`
	// Rewritten is the number of texts that were sealed again.
	Rewritten int `json:"rewritten"`
	// Failed is the number of texts that could not be opened. They are left as they are.
	Failed int `json:"failed"`
}

// resealBatch is how many texts are read at a time and changed in one transaction.
const resealBatch = 100

// sealedText is the sealed text of a row.
type sealedText struct{ id, row, sealed, fresh string }

// Reseal seals again the texts that are not sealed with the newest key, while others may write to the same columns. If
// it ends early, its work is kept, and another call skips the texts that are sealed with the newest key already. It
// calls progress after each batch, unless that is nil.
func Reseal(
	ctx context.Context, k *kernel.Server, e Encryptor, columns []Column, progress func(Resealed),
) (done Resealed, err error) {
	if e == nil {
		return done, ErrNone
	}
	if err := refresh(ctx, e); err != nil {
		return done, err
	}
	for _, c := range columns {
		for after := ""; ; {
			texts, err := c.read(ctx, k, after)
			if err != nil {
				return done, err
			}
			if len(texts) == 0 {
				break
			}
			after = texts[len(texts)-1].id
			if err := c.reseal(ctx, k, e, texts, &done); err != nil {
				return done, err
			}
			if progress != nil {
				progress(done)
			}
		}
	}
	return done, nil
}

func (c Column) read(ctx context.Context, k *kernel.Server, after string) (texts []sealedText, err error) {
	row := c.Row
	if row == "" {
		row = c.ID
	}
	query := fmt.Sprintf("SELECT %s, %s, %s FROM %s WHERE %s > ? AND %s <> '' ORDER BY %s LIMIT %d",
		c.ID, row, c.Column, c.Table, c.ID, c.Column, c.ID, resealBatch)
	err = k.Read(ctx, func(conn store.Conn) (err error) {
		texts, err = store.List(conn, func(r store.Row) (t sealedText,
			err error,
		) {
			return t, r.Scan(&t.id, &t.row, &t.sealed)
		}, query, after)
		return err
	})
	return texts, err
}

func (c Column) reseal(ctx context.Context, k *kernel.Server, e Encryptor, texts []sealedText, done *Resealed) error {
	var old []sealedText
	for _, t := range texts {
		if done.Scanned++; e.Current(t.sealed) {
			continue
		}
		place := Place(c.Table, t.row, c.Column)
		plain, err := e.Open(ctx, t.sealed, place)
		if errors.Is(err, keyring.ErrOpen) {
			done.Failed++
			continue
		}
		if err != nil {
			return err
		}
		if t.fresh, err = e.Seal(ctx, plain, place); err != nil {
			return err
		}
		old = append(old, t)
	}
	if len(old) == 0 {
		return nil
	}
	update := fmt.Sprintf("UPDATE %s SET %s = ? WHERE %s = ? AND %s = ?", c.Table, c.Column, c.ID, c.Column)
	var changed int64
	err := k.Write(ctx, func(conn store.Conn) error {
		changed = 0
		for _, t := range old {
			n, err := conn.Exec(update, t.fresh, t.id, t.sealed) // changes nothing if the text has been changed in the meantime
			if err != nil {
				return err
			}
			changed += n
		}
		return nil
	})
	if err == nil {
		done.Rewritten += int(changed)
	}
	return err
}
