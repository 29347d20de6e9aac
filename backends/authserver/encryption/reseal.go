package encryption

import (
	"context"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/internal/sealed"
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
	list := make(sealed.Columns, len(columns))
	for i, c := range columns {
		list[i] = sealed.Column{
			Table: c.Table, ID: c.ID, Text: c.Column, Where: c.Column + " <> ''", Row: c.Row,
			Place: func(row string) string { return string(Place(c.Table, row, c.Column)) },
		}
	}
	result, err := list.Reseal(ctx, k, e, zap.NewNop(), func(r sealed.Result) {
		if progress != nil {
			progress(resealedOf(r))
		}
	})
	return resealedOf(result), err
}

func resealedOf(r sealed.Result) Resealed {
	return Resealed{Scanned: r.Checked, Rewritten: r.Resealed, Failed: r.Unreadable}
}
