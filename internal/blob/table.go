package blob

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

// table stores content in rows of a table, in parts.
type table struct {
	db *store.DB
	Options
}

const (
	// partSize is the size of a part in bytes; the last part of a content may be smaller.
	partSize = 256 << 10
	// sweepBatch is how many contents are deleted in one transaction. Other writers wait for its end.
	sweepBatch = 20
)

func (table) temporary() (*os.File, error) {
	file, err := os.CreateTemp("", "tollgate-"+temporaryPrefix+"*")
	if err == nil {
		_ = os.Remove(file.Name()) // if the system allows it, nothing is left after a crash
	}
	return file, err
}

func (t table) keep(ctx context.Context, received *os.File, hash string) error {
	if _, err := received.Seek(0, io.SeekStart); err != nil {
		return err
	}
	data := make([]byte, partSize)
	for part := 0; ; part++ {
		n, err := io.ReadFull(received, data)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			return err
		}
		err = t.db.Write(ctx, func(c store.Conn) error {
			_, err := c.Exec("INSERT INTO "+t.Table+" (sha256, part, data, stored_at) VALUES (?, ?, ?, ?)"+
				" ON CONFLICT (sha256, part) DO UPDATE SET data = excluded.data, stored_at = excluded.stored_at",
				hash, part, data[:n], t.Now().UnixMicro())
			return err
		})
		if err != nil {
			return err
		}
	}
}

func (t table) open(ctx context.Context, hash string, size int64) (io.ReadSeekCloser, error) {
	return &partsReader{ctx: ctx, table: t, hash: hash, size: size, part: -1}, nil
}

func (t table) sweep(ctx context.Context, cutoff time.Time) (n int, err error) {
	deleted, err := t.db.Purge(ctx, sweepBatch, "DELETE FROM "+t.Table+" WHERE sha256 IN (SELECT sha256 FROM "+
		t.Table+" c WHERE c.part = 0 AND c.stored_at <= ?"+
		" AND NOT "+t.used("c.sha256")+" LIMIT ?)", cutoff.UnixMicro())
	return int(deleted), err
}

// isUsed reports whether any row refers to the content with the given hash.
func (t table) isUsed(ctx context.Context, hash string) (used bool, err error) {
	err = t.db.Read(ctx, func(c store.Conn) error {
		return c.Row("SELECT "+t.used("?"), slices.Repeat([]any{hash}, len(t.Uses))...).Scan(&used)
	})
	return used, err
}

// used returns an SQL condition that holds if any row refers to the content with the given hash. hash is an SQL
// expression.
func (t table) used(hash string) string {
	conditions := append(make([]string, 0, 1+len(t.Uses)), "1 = 0")
	for _, use := range t.Uses {
		conditions = append(conditions, "EXISTS (SELECT 1 FROM "+use.Table+" WHERE "+use.Table+"."+use.Column+" = "+hash+
			" AND ("+cmp.Or(use.Where, "1 = 1")+"))")
	}
	return "(" + strings.Join(conditions, " OR ") + ")"
}

// partsReader reads content part by part.
type partsReader struct {
	ctx    context.Context // the methods of io.Reader take none
	hash   string
	size   int64 // in bytes
	offset int64 // of the next byte to read
	part   int64 // number of the part in data; -1 if there is none
	data   []byte
	table
}

// Read implements io.Reader.
func (r *partsReader) Read(p []byte) (int, error) {
	if r.offset >= r.size {
		return 0, io.EOF
	}
	if part := r.offset / partSize; part != r.part {
		err := r.db.Read(r.ctx, func(c store.Conn) error {
			return c.Row("SELECT data FROM "+r.Table+" WHERE sha256 = ? AND part = ?", r.hash, part).Scan(&r.data)
		})
		if err != nil {
			return 0, errors.Join(ErrGone, err)
		}
		r.part = part
	}
	start := r.offset % partSize
	if start >= int64(len(r.data)) {
		return 0, ErrGone
	}
	n := copy(p, r.data[start:])
	r.offset += int64(n)
	return n, nil
}

// Seek implements io.Seeker.
func (r *partsReader) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += r.offset
	case io.SeekEnd:
		offset += r.size
	}
	if offset < 0 {
		return 0, errors.New("seek before the beginning")
	}
	r.offset = offset
	return offset, nil
}

func (*partsReader) Close() error { return nil }
