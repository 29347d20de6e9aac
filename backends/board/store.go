package board

import (
	"context"
	"embed"
	"io/fs"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Schema is the tables of the board.
func Schema() store.Schema {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		panic(err) // the folder is embedded
	}
	return store.Schema{Name: "board", Migrations: files}
}

func (s *Service) read(ctx context.Context, fn func(c store.Conn) error) error {
	return unavailable(s.db.Read(ctx, fn))
}

func (s *Service) write(ctx context.Context, fn func(c store.Conn) error) error {
	return unavailable(s.db.Write(ctx, fn))
}
