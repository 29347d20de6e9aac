package encryption

import (
	"context"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/internal/sealed"
)

// Column is a column with sealed texts. An empty value is not a sealed text. The names must be constants, never text
// from a request.
type Column struct {
	// Table is the table, and ID the name of a unique text column in it.
	Table, ID string
	Column    string
	// Row is the SQL expression for the row in a place; see Place. Default: ID.
	Row string
}

// Resealed is the result of Reseal.
type Resealed struct {
	// Scanned is the number of texts that were read.
	Scanned int `json:"scanned"`
	// Rewritten is the number of texts that were sealed again.
	Rewritten int `json:"rewritten"`
	// Failed is the number of texts that could not be opened. They were not changed.
	Failed int `json:"failed"`
}

// Plus returns the sums of the numbers of two results.
func (r Resealed) Plus(s Resealed) Resealed {
	return Resealed{r.Scanned + s.Scanned, r.Rewritten + s.Rewritten, r.Failed + s.Failed}
}

// Reseal finds the texts in the columns that are not sealed with the newest key, and seals them again with that key.
// It returns the numbers of texts; see Resealed. Other processes may write to the columns at the same time. If Reseal
// ends early, the finished work is kept, and another call continues. Unless progress is nil, Reseal calls it after
// each batch.
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
