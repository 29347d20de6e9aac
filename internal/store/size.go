package store

import (
	"context"
	"errors"
	"io/fs"
	"os"
)

// Size returns how many bytes the database takes on disk.
func (db *DB) Size(ctx context.Context) (size int64, err error) {
	file := db.File()
	if file == "" {
		err = db.ReadBriefly(ctx, func(c Conn) error {
			return c.Row("SELECT pg_database_size(current_database())").Scan(&size)
		})
		return size, err
	}
	for _, ending := range []string{"", "-wal"} {
		info, err := os.Stat(file + ending)
		if errors.Is(err, fs.ErrNotExist) && ending != "" {
			continue
		}
		if err != nil {
			return 0, err
		}
		size += info.Size()
	}
	return size, nil
}
