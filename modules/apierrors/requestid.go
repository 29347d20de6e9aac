package apierrors

import (
	"crypto/rand"
	"encoding/binary"
	"net/http"
	"sync"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

const (
	requestIDHeader = "X-Request-Id"
	requestIDPrefix = "req_"
	requestIDWords  = 3 // 64 random bits each
	lettersPerWord  = 8 // 62^8 fits 2^64 some 84,000 times, so no letter is favoured noticeably
	base62          = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

// identify returns the id of the request, made now unless an outer handler has
// made one.
func identify(r *http.Request) string {
	ctx := r.Context()
	if id := RequestID(ctx); id != "" {
		return id
	}
	id := newRequestID()
	boxed := any(id) // once for both tables
	caddyhttp.SetVar(ctx, RequestIDVar, boxed)
	if repl, ok := ctx.Value(caddy.ReplacerCtxKey).(*caddy.Replacer); ok {
		repl.Set(requestIDPlaceholder, boxed)
	}
	return id
}

// newRequestID returns "req_" and 24 random letters of base 62.
func newRequestID() string {
	src := randomness.Get().(*randomBlock)
	var id [len(requestIDPrefix) + requestIDWords*lettersPerWord]byte
	copy(id[:], requestIDPrefix)
	for i := len(requestIDPrefix); i < len(id); i += lettersPerWord {
		word := src.next()
		for j := range lettersPerWord {
			id[i+j] = base62[word%62]
			word /= 62
		}
	}
	randomness.Put(src)
	return string(id[:])
}

// randomness spreads the cost of one read from the system over 32 ids, without
// a lock between processors.
var randomness = sync.Pool{New: func() any { return new(randomBlock) }}

type randomBlock struct {
	bytes [32 * requestIDWords * 8]byte
	left  int // bytes not used yet, at the end
}

func (b *randomBlock) next() uint64 {
	if b.left == 0 {
		_, _ = rand.Read(b.bytes[:]) // never fails: it ends the process instead
		b.left = len(b.bytes)
	}
	word := binary.LittleEndian.Uint64(b.bytes[len(b.bytes)-b.left:])
	b.left -= 8
	return word
}
