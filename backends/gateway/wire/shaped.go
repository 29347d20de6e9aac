package wire

import "io"

// Shaped is a request body as pieces of the client's body and the changes
// between them: nothing large is copied.
type Shaped struct {
	body     []byte
	from, to int // body[from:to] is the piece being kept
	pieces   [][]byte
	size     int64
	// Dropped names the client's fields that were left out.
	Dropped []string
}

func newShaped(body []byte) *Shaped {
	return &Shaped{body: body, pieces: make([][]byte, 0, 8)}
}

// Len is the number of bytes of the body.
func (b *Shaped) Len() int64 { return b.size }

// Reader returns a new reader of the body from its start.
func (b *Shaped) Reader() io.ReadCloser { return &pieceReader{pieces: b.pieces} }

// keep takes over body[from:to], joined to the piece before when it follows it.
func (b *Shaped) keep(from, to int) {
	if from != b.to {
		b.flush()
		b.from = from
	}
	b.to = to
}

func (b *Shaped) insert(text string)       { b.add([]byte(text)) }
func (b *Shaped) insertQuoted(text string) { b.add(AppendQuoted(nil, text)) }

func (b *Shaped) add(piece []byte) {
	b.flush()
	b.pieces = append(b.pieces, piece)
	b.size += int64(len(piece))
}

func (b *Shaped) flush() {
	if b.to > b.from {
		b.pieces = append(b.pieces, b.body[b.from:b.to])
		b.size += int64(b.to - b.from)
	}
	b.from = b.to
}

// end keeps the rest of the body from an offset on.
func (b *Shaped) end(from int) *Shaped {
	b.keep(from, len(b.body))
	b.flush()
	return b
}

// pieceReader reads one piece after the other. pieces is never changed, a
// reader that starts again needs it.
type pieceReader struct {
	pieces [][]byte
	at     int // in pieces[0]
}

func (p *pieceReader) Read(b []byte) (n int, err error) {
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

// WriteTo spares the copy through the caller's buffer.
func (p *pieceReader) WriteTo(w io.Writer) (total int64, err error) {
	for len(p.pieces) > 0 {
		n, err := w.Write(p.pieces[0][p.at:])
		total += int64(n)
		if err != nil {
			return total, err
		}
		p.pieces, p.at = p.pieces[1:], 0
	}
	return total, nil
}

func (p *pieceReader) Close() error { return nil }
