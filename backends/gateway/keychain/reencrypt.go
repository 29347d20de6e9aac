package keychain

import (
	"context"
	"errors"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/internal/keyring"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Reencryption is the result of Reencrypt.
type Reencryption struct {
	// Total is the number of sealed texts in the database.
	Total int `json:"total"`
	// Resealed is the number of texts that were sealed with an older key and are now sealed with the current one.
	Resealed int `json:"resealed"`
	// Changed is the number of texts that somebody else replaced or removed meanwhile, which seals them with the
	// current key of that node. Run Reencrypt again to be sure.
	Changed int `json:"changed"`
	// Unreadable is the number of texts that none of the configured keys can open. They stay as they are.
	Unreadable int `json:"unreadable"`
}

// reencryptBatch and reencryptLarge are the numbers of texts that are read together and changed in one transaction.
// reencryptLarge is for columns whose texts may be large.
const (
	reencryptBatch = 100
	reencryptLarge = 5
)

// sealedText is a sealed column of a row.
type sealedText struct {
	id, sealed string
	resealed   string // empty if the text is not changed
}

// sealedColumn is a column that stores sealed texts. The associated data of each text is the name of the table, a slash
// and the id.
type sealedColumn struct {
	table, count, page, swap string
	batch                    int
}

// columnOf returns the column sealed of a table.
func columnOf(table string, batch int) sealedColumn {
	return sealedColumn{
		table, `SELECT count(*) FROM ` + table, `SELECT id, sealed FROM ` + table + ` WHERE id > ? ORDER BY id LIMIT ?`,
		`UPDATE ` + table + ` SET sealed = ? WHERE id = ? AND sealed = ?`, batch,
	}
}

// sealedColumns lists the sealed columns of the gateway's tables.
var sealedColumns = []sealedColumn{
	columnOf("gateway_provider_keys", reencryptBatch),
	{
		"gateway_models",
		`SELECT count(*) FROM gateway_models WHERE sealed IS NOT NULL`,
		`SELECT id, sealed FROM gateway_models WHERE sealed IS NOT NULL AND id > ? ORDER BY id LIMIT ?`,
		`UPDATE gateway_models SET sealed = ? WHERE id = ? AND sealed = ?`, reencryptBatch,
	},
	columnOf("gateway_answer_items", reencryptBatch),
	columnOf("gateway_responses", reencryptLarge),
	columnOf("gateway_response_events", reencryptLarge),
	columnOf("gateway_conversations", reencryptBatch),
	columnOf("gateway_conversation_items", reencryptLarge),
}

// Reencrypt makes the first key of the keyring the one with which all nodes seal, and seals every text anew that is not
// sealed with the current key. All nodes must have that key. It works in batches that do not keep others from working.
// A text that is changed meanwhile is left alone. It may be interrupted at any point and run again. progress may be
// nil.
func (s *Service) Reencrypt(ctx context.Context, progress func(done, total int)) (Reencryption, error) {
	var result Reencryption
	if err := keyring.Advance(ctx, s.ring); err != nil {
		return result, err
	}
	for _, column := range sealedColumns {
		counts, err := read(ctx, s, func(row store.Row) (n int, err error) { return n, row.Scan(&n) }, column.count)
		if err != nil {
			return result, err
		}
		result.Total += counts[0]
	}
	done := 0
	for _, column := range sealedColumns {
		for after, more := "", true; more; {
			page, err := read(ctx, s, func(row store.Row) (t sealedText, err error) { return t, row.Scan(&t.id, &t.sealed) },
				column.page, after, column.batch)
			if err != nil {
				return result, err
			}
			if more = len(page) == column.batch; more {
				after = page[len(page)-1].id
			}
			if err := s.reseal(ctx, column.table, page, &result); err != nil {
				return result, err
			}
			if err := s.swap(ctx, column.swap, page, &result); err != nil {
				return result, err
			}
			if done += len(page); progress != nil && len(page) > 0 {
				progress(done, max(done, result.Total)) // rows may have been added meanwhile
			}
		}
	}
	result.Total = max(done, result.Total)
	return result, nil
}

func (s *Service) reseal(ctx context.Context, table string, page []sealedText, result *Reencryption) error {
	for i := range page {
		t := &page[i]
		if s.ring.Current(t.sealed) {
			continue
		}
		associated := []byte(table + "/" + t.id)
		plain, err := s.ring.Open(ctx, t.sealed, associated)
		if errors.Is(err, keyring.ErrOpen) { // one bad text must not keep the others under the old key
			s.logger.Error("sealed text cannot be opened, it stays as it is; check the keyring",
				zap.String("table", table), zap.String("id", t.id))
			result.Unreadable++
			continue
		}
		if err == nil {
			t.resealed, err = s.ring.Seal(ctx, plain, associated)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// swap stores the newly sealed texts in rows that still have the old text.
func (s *Service) swap(ctx context.Context, statement string, page []sealedText, result *Reencryption) error {
	var resealed, changed int
	err := s.db.Write(ctx, func(c store.Conn) error {
		resealed, changed = 0, 0
		for i := range page {
			t := &page[i]
			if t.resealed == "" {
				continue
			}
			n, err := c.Exec(statement, t.resealed, t.id, t.sealed)
			if err != nil {
				return err
			}
			resealed, changed = resealed+int(n), changed+1-int(n)
		}
		return nil
	})
	if err == nil {
		result.Resealed, result.Changed = result.Resealed+resealed, result.Changed+changed
	}
	return err
}
