package native

import (
	"bytes"
	"io"
	"sync"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// Shaped is a request body that consists of pieces of the client's body and of inserted texts. A small body is a copy.
// For a large body, only the inserted texts take memory, and the pieces remain in the client's body.
type Shaped struct {
	body     []byte      // the client's body
	lease    *wire.Lease // counts the users of body
	from, to int         // body[from:to] is the piece not yet flushed
	small    []byte      // the result, if body is small; otherwise nil
	pieces   [][]byte    // the pieces of the result, if body is large
	size     int64       // bytes of the result
	// Dropped names the fields of the client that were left out.
	Dropped []string
}

const (
	// smallBody is the largest size in bytes of a body that is copied. net/http recognises the reader of a copy as one
	// that is in memory, and sends header and body in one write instead of two.
	smallBody = 16 << 10
	// changesRoom is the spare memory for inserted texts in the copy of a small body, in bytes. Most bodies need no
	// more.
	changesRoom = 128
)

// newShaped returns an empty Shaped for the client's body.
func newShaped(body []byte, lease *wire.Lease) *Shaped {
	b := &Shaped{body: body, lease: lease}
	if len(body) <= smallBody {
		b.small = make([]byte, 0, len(body)+changesRoom)
	}
	return b
}

// Len returns the length of the body in bytes.
func (b *Shaped) Len() int64 { return b.size }

// Reader returns a new reader that begins at the start of the body. The caller must close it, so that the memory of the
// client's body can be reused.
func (b *Shaped) Reader() io.ReadCloser {
	if b.small != nil {
		return io.NopCloser(bytes.NewReader(b.small))
	}
	b.lease.Take()
	return &pieceReader{pieces: b.pieces, lease: b.lease}
}

// keep appends the bytes start <= i < end of the client's body. If they directly follow the bytes of the previous call,
// both become one piece.
func (b *Shaped) keep(start, end int) {
	if start != b.to {
		b.flush()
		b.from = start
	}
	b.to = end
}

// insert appends text.
func (b *Shaped) insert(text string) {
	b.flush()
	if b.small != nil {
		b.small = append(b.small, text...)
	} else {
		b.pieces = append(b.pieces, []byte(text))
	}
	b.size += int64(len(text))
}

// insertQuoted appends text as a JSON string.
func (b *Shaped) insertQuoted(text string) { b.insert(string(jsontext.AppendQuoted(nil, text))) }

// flush appends the piece of the client's body that keep has recorded.
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

// end appends the rest of the client's body, which begins at the offset start, and returns b, which is complete.
func (b *Shaped) end(start int) *Shaped {
	b.keep(start, len(b.body))
	b.flush()
	return b
}

// pieceReader reads the pieces of a body one after the other. It never changes a piece, since another reader may read
// the same pieces again. An HTTP transport may call Close during a Read, and Read after its RoundTrip has returned.
// After Close the memory may be reused, so a later Read fails with io.ErrClosedPipe.
type pieceReader struct {
	mu     sync.Mutex
	pieces [][]byte
	offset int // offset in pieces[0]
	lease  *wire.Lease
	closed bool
}

// Read implements io.Reader.
func (p *pieceReader) Read(b []byte) (n int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return 0, io.ErrClosedPipe
	}
	for n < len(b) && len(p.pieces) > 0 {
		c := copy(b[n:], p.pieces[0][p.offset:])
		n += c
		p.offset += c
		if p.offset == len(p.pieces[0]) {
			p.pieces, p.offset = p.pieces[1:], 0
		}
	}
	if n == 0 && len(p.pieces) == 0 && len(b) > 0 {
		return 0, io.EOF
	}
	return n, nil
}

// Close implements io.Closer. It may be called several times.
func (p *pieceReader) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.closed, p.pieces = true, nil
		p.lease.Give()
	}
	return nil
}
