package native

import (
	"bytes"
	"io"
	"sync"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// Shaped is a request body made of pieces of the client's body with changes between them. A small body is copied. For a
// large body only the changes take new memory.
type Shaped struct {
	body     []byte
	lease    *wire.Lease
	from, to int      // body[from:to] is the piece being kept
	small    []byte   // the whole of a small body
	pieces   [][]byte // of a large body
	size     int64
	// Dropped names the client's fields that were left out.
	Dropped []string
}

const (
	// smallBody is the size up to which a body is copied. net/http sends header and body in one write if it knows the
	// type of the in-memory reader, otherwise in two.
	smallBody = 16 << 10
	// changesRoom is the number of bytes by which most bodies grow at most.
	changesRoom = 128
)

func newShaped(body []byte, lease *wire.Lease) *Shaped {
	b := &Shaped{body: body, lease: lease}
	if len(body) <= smallBody {
		b.small = make([]byte, 0, len(body)+changesRoom)
	}
	return b
}

// Len returns the length of the body in bytes.
func (b *Shaped) Len() int64 { return b.size }

// Reader returns a new reader at the start of the body. The caller must close it.
func (b *Shaped) Reader() io.ReadCloser {
	if b.small != nil {
		return io.NopCloser(bytes.NewReader(b.small))
	}
	b.lease.Take()
	return &pieceReader{pieces: b.pieces, lease: b.lease}
}

// keep appends body[from:to], without a copy if it directly follows the previous piece.
func (b *Shaped) keep(from, to int) {
	if from != b.to {
		b.flush()
		b.from = from
	}
	b.to = to
}

func (b *Shaped) insert(text string) {
	b.flush()
	if b.small != nil {
		b.small = append(b.small, text...)
	} else {
		b.pieces = append(b.pieces, []byte(text))
	}
	b.size += int64(len(text))
}

func (b *Shaped) insertQuoted(text string) { b.insert(string(jsontext.AppendQuoted(nil, text))) }

func (b *Shaped) flush() {
	if piece := b.body[b.from:max(b.from, b.to)]; len(piece) > 0 {
		if b.small != nil {
			b.small = append(b.small, piece...)
		} else {
			b.pieces = append(b.pieces, piece)
		}
		b.size += int64(len(piece))
	}
	b.from = b.to
}

// end appends the rest of the client's body from an offset on, and completes b.
func (b *Shaped) end(from int) *Shaped {
	b.keep(from, len(b.body))
	b.flush()
	return b
}

// pieceReader reads the pieces one after the other. It never changes the pieces, since another reader may start again
// with them. An HTTP transport may close the reader during a read, and may read on after its RoundTrip has returned.
// Close returns the memory, so later reads fail.
type pieceReader struct {
	mu     sync.Mutex
	pieces [][]byte
	at     int // offset in pieces[0]
	lease  *wire.Lease
	closed bool
}

func (p *pieceReader) Read(b []byte) (n int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return 0, io.ErrClosedPipe
	}
	for n < len(b) && len(p.pieces) > 0 {
		c := copy(b[n:], p.pieces[0][p.at:])
		n += c
		p.at += c
		if p.at == len(p.pieces[0]) {
			p.pieces, p.at = p.pieces[1:], 0
		}
	}
	if n == 0 && len(p.pieces) == 0 && len(b) > 0 {
		return 0, io.EOF
	}
	return n, nil
}

func (p *pieceReader) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.closed, p.pieces = true, nil
		p.lease.Give()
	}
	return nil
}
