package keychain

import (
	"context"
	"errors"
	"fmt"

	"github.com/tollgate-gateway/tollgate/internal/keyring"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// checkedTexts is how many sealed texts of a table CheckSealed tries at most.
const checkedTexts = 20

// HasSealed reports whether a database has sealed texts.
func HasSealed(ctx context.Context, db *store.DB) (bool, error) {
	s := &Service{db: db}
	for _, column := range sealedColumns {
		counts, err := read(ctx, s, func(row scanner) (n int, err error) { return n, row.Scan(&n) }, column.count)
		if err != nil {
			return false, err
		}
		if counts[0] > 0 {
			return true, nil
		}
	}
	return false, nil
}

// CheckSealed tries some of the sealed texts. The error says that the keyring
// opens none of them: it is not the one that they were sealed with. One that
// opens is enough, since a single one may be damaged.
func (s *Service) CheckSealed(ctx context.Context) error {
	tried := 0
	for _, column := range sealedColumns {
		texts, err := read(ctx, s, func(row scanner) (t sealedText, err error) { return t, row.Scan(&t.id, &t.sealed) }, column.page, "", checkedTexts)
		if err != nil {
			return err
		}
		for _, t := range texts {
			_, err := s.ring.Open(ctx, t.sealed, []byte(column.table+"/"+t.id))
			if !errors.Is(err, keyring.ErrOpen) {
				return err
			}
			tried++
		}
	}
	if tried > 0 {
		return fmt.Errorf("%w: %d of the stored secrets were tried", keyring.ErrOpen, tried)
	}
	return nil
}
