package keychain

import (
	"context"

	"github.com/tollgate-gateway/tollgate/internal/sealed"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// sampledTexts is the largest number of texts per table in a sample.
const sampledTexts = 20

// SealedSample returns some of the sealed texts in a database.
func SealedSample(ctx context.Context, db *store.DB) ([]sealed.Text, error) {
	s := &Service{db: db}
	var sample []sealed.Text
	for _, column := range sealedColumns {
		texts, err := read(ctx, s, func(row store.Row) (t sealedText, err error) {
			err = row.Scan(&t.id, &t.sealed)
			return t, err
		}, column.page, "", min(sampledTexts, column.batch))
		if err != nil {
			return nil, err
		}
		for _, t := range texts {
			sample = append(sample, sealed.Text{Sealed: t.sealed, Associated: column.table + "/" + t.id})
		}
	}
	return sample, nil
}
