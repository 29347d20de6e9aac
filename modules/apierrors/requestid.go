package apierrors

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/caddyserver/caddy/v2"
)

const (
	requestIDHeader = "X-Request-Id"
	requestIDPrefix = "req_"
	requestIDLength = len(requestIDPrefix) + requestIDWords*lettersPerWord
	requestIDWords  = 3 // 64 random bits each
	lettersPerWord  = 8 // 62^8 fits into 2^64 some 84,000 times, so no letter is noticeably favoured
	base62          = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

// identify returns the id of the request. It creates the id unless an outer api_errors has done so.
func identify(ctx context.Context, vars map[string]any) string {
	if id, _ := vars[RequestIDVar].(string); id != "" {
		return id
	}
	id := newRequestID()
	boxed := any(id) // boxed once for the variable and the placeholder
	if vars != nil {
		vars[RequestIDVar] = boxed
	}
	if repl, ok := ctx.Value(caddy.ReplacerCtxKey).(*caddy.Replacer); ok {
		// Map is used instead of Set, which would allocate a table that most requests do without.
		repl.Map(func(key string) (any, bool) { return boxed, key == requestIDPlaceholder })
	}
	return id
}

// unlistRequestID removes X-Request-Id from the client's Connection header. Proxies do not forward headers that
// Connection names.
func unlistRequestID(header http.Header) {
	values := header["Connection"]
	isRequestID := func(name string) bool { return strings.EqualFold(strings.Trim(name, " \t"), requestIDHeader) }
	if !slices.ContainsFunc(values, func(value string) bool {
		return slices.ContainsFunc(strings.Split(value, ","), isRequestID)
	}) {
		return
	}
	remaining := make([]string, 0, len(values))
	for _, value := range values {
		if names := slices.DeleteFunc(strings.Split(value, ","), isRequestID); len(names) > 0 {
			remaining = append(remaining, strings.Join(names, ","))
		}
	}
	if len(remaining) == 0 {
		header.Del("Connection")
		return
	}
	header["Connection"] = remaining
}

// newRequestID returns "req_" and 24 random base-62 letters.
func newRequestID() string {
	block := requestIDs.Get().(*idBlock)
	id := block.next()
	requestIDs.Put(block)
	return id
}

// requestIDs creates request ids in blocks. A block needs one read from the system's random source and one allocation.
// The pool needs no lock between processors.
var requestIDs = sync.Pool{New: func() any { return new(idBlock) }}

// idsPerBlock is the number of ids in a block. It also limits memory use: as long as one id is referenced, its whole
// block stays in memory.
const idsPerBlock = 32

// idBlock holds unused ids, one after the other.
type idBlock struct{ ids string }

// next removes an id from the block and returns it. It refills an empty block.
func (b *idBlock) next() (id string) {
	if b.ids == "" {
		b.ids = makeIDs()
	}
	id, b.ids = b.ids[:requestIDLength], b.ids[requestIDLength:]
	return id
}

// makeIDs returns idsPerBlock new ids, one after the other.
func makeIDs() string {
	var random [idsPerBlock * requestIDWords * 8]byte
	_, _ = rand.Read(random[:]) // never returns an error; it ends the process instead
	ids := make([]byte, 0, idsPerBlock*requestIDLength)
	for i := 0; i < len(random); i += 8 {
		if i%(requestIDWords*8) == 0 {
			ids = append(ids, requestIDPrefix...)
		}
		word := binary.LittleEndian.Uint64(random[i:])
		for range lettersPerWord {
			ids = append(ids, base62[word%62])
			word /= 62
		}
	}
	return string(ids)
}
