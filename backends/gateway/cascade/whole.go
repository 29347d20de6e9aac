package cascade

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/inbound"
	"github.com/tollgate-gateway/tollgate/internal/memory"
)

// whole reads the complete answer in resp and passes it on to the client. If the client asked for a stream, the client
// gets the answer as a stream. whole returns nil if it has begun to write the answer, even if the client left
// meanwhile, and otherwise the failure of the attempt.
func (r *run) whole(ctx context.Context, c *keychain.Candidate, resp *http.Response, x *exchange) *failure {
	pass := x.answerPass()
	var streamErr error // why the answer cannot be sent as a stream
	if r.stream {
		if streamed, err := r.streamed(c, x); err == nil {
			pass = streamed
		} else {
			streamErr = err // the answer is refused below; pass still reads its usage
		}
	}
	bodyBuffer, answerBuffer := buffers.Get().(*[]byte), buffers.Get().(*[]byte)
	share := r.Budget.Share(r.req.User)
	defer share.Free()
	body, err := readAll(ctx, &share, *bodyBuffer, resp)
	var answer []byte
	if err == nil {
		answer, err = pass.Whole((*answerBuffer)[:0], wire.ValidUTF8(body))
	}
	if err != nil {
		if e, ok := errors.AsType[*wire.UpstreamError](err); ok {
			return classify(resp.StatusCode, resp.Header, e, x.sends, r.Now())
		}
		f := r.brokenFailure(ctx, err)
		f.status = resp.StatusCode
		r.addLost(c, pass, errors.Is(err, hub.ErrArguments) || errors.Is(err, hub.ErrSchema))
		return f
	}
	if streamErr != nil {
		r.addLost(c, pass, true)
		return &failure{
			class: transient, status: resp.StatusCode, code: "not_a_stream", reason: ReasonErrors,
			message: "the upstream answered a streaming request without a stream, and the answer cannot be streamed: " +
				streamErr.Error(),
		}
	}
	r.result.Usage, r.result.textBytes = pass.Usage(), pass.TextBytes()
	r.commit(c)
	if header := r.w.Header(); r.stream {
		r.clientFormat.Facts().SetStreamHeader(header)
	} else {
		// Responses cannot share these values, because handlers may change them. The capacity of the first slice is 1,
		// so that appending to it does not overwrite the second value.
		values := [...]string{"application/json", strconv.Itoa(len(answer))}
		header["Content-Type"], header["Content-Length"] = values[:1:1], values[1:]
	}
	r.w.WriteHeader(http.StatusOK)
	if r.write(answer) != nil {
		r.result.Code = codeClientLeft
	}
	// The buffers are recycled only now, and not after an error: an error may quote a part of the answer.
	recycle(bodyBuffer, body)
	recycle(answerBuffer, answer)
	return nil
}

// write writes the bytes of an answer to the client and returns the error of writing. An answer of more than
// maxRecycled bytes occupies memory of the budget. For such an answer the write fails if the client reads more slowly
// than inbound.Default allows.
func (r *run) write(text []byte) error {
	if len(text) > maxRecycled {
		return inbound.Default.Write(r.ctx, r.w, text)
	}
	_, err := r.w.Write(text)
	return err
}

// buffers pools the buffers in which answers are read and written.
var buffers = sync.Pool{New: func() any { return new(make([]byte, 0, 2<<10)) }}

// maxRecycled is the capacity above which a buffer is left to the garbage collector.
const maxRecycled = 64 << 10

// recycle returns a buffer to the pool. data is the slice that began as *buffer and may have grown since.
func recycle(buffer *[]byte, data []byte) {
	if cap(data) <= maxRecycled {
		*buffer = data[:0]
		buffers.Put(buffer)
	}
}

var errTooLarge = fmt.Errorf("%w: larger than 32 MiB", wire.ErrBroken)

// readAll reads the body of resp into buffer, or into a larger slice if the body does not fit, and returns the slice
// with the body. The memory of a larger slice is taken from share. A body of more than maxReply bytes is the error
// errTooLarge. Other errors are those of reading and of share.
func readAll(ctx context.Context, share *memory.Share, buffer []byte, resp *http.Response) ([]byte, error) {
	body, err := share.ReadAll(ctx, resp.Body, buffer, resp.ContentLength, maxReply)
	switch {
	case errors.Is(err, memory.ErrTooLarge):
		err = errTooLarge
	case err == nil && cap(body) > maxRecycled:
		err = reserve(ctx, share, body)
	}
	return body, err
}

// reserve grows share to the memory for converting body: the buffer of body, the answer that is written from it and
// is about as large, and, if body is not valid UTF-8, a valid copy. The error is errTooLarge if body has more than
// maxReply bytes in valid UTF-8, or the error of share.Grow.
func reserve(ctx context.Context, share *memory.Share, body []byte) error {
	size := wire.ValidUTF8Len(body)
	if size > maxReply {
		return errTooLarge
	}
	required := cap(body) + size
	if size != len(body) {
		required += size
	}
	return share.Grow(ctx, int64(required))
}

// commit marks the commit point: from here on the client gets the answer of candidate c. commit stores c, its key and
// the time to the first content in the result, releases the client's body and sets the gateway's header fields.
func (r *run) commit(c *keychain.Candidate) {
	r.result.Candidate, r.result.Key = c, r.key.PublicID()
	r.result.Status = http.StatusOK
	r.result.FirstToken = r.Now().Sub(r.start)
	r.releaseBody()
	r.gatewayHeaders()
	r.deprecation(c.Model)
	if len(r.dropped) > 0 {
		names := strings.Join(r.dropped[:min(len(r.dropped), maxDropped)], ", ")
		// A single name may be a part of the body, hence the copy.
		r.w.Header()["X-Gateway-Dropped-Params"] = []string{headerText(strings.Clone(names))}
		r.dropped = nil
	}
}

// deprecation sets the Deprecation and Sunset headers for a model that its provider will retire (RFC 9745, RFC 8594).
func (r *run) deprecation(m *catalog.Model) {
	if m.Retires.IsZero() && m.Deprecated.IsZero() || !m.DeprecatedBy(r.start) {
		return
	}
	header := r.w.Header()
	if !m.Deprecated.IsZero() {
		header.Set("Deprecation", "@"+strconv.FormatInt(m.Deprecated.Unix(), 10))
	}
	if !m.Retires.IsZero() {
		header.Set("Sunset", m.Retires.UTC().Format(http.TimeFormat))
	}
}

// releaseBody returns the memory of the client's body to the budget, because no other candidate will need the body and
// the answer may take long. Small bodies are kept: releasing them is not worth the work.
func (r *run) releaseBody() {
	if r.req.Chat != nil {
		r.req.Chat.Release()
	}
	if h := r.req.Hub; h == nil || len(h.Body) < minReleased || !h.ReleaseBody() {
		return
	}
	if !r.aliased {
		r.model = r.req.Hub.Model // it was a part of the body
	}
	r.chatLease.Give()
	r.chatLease = nil
	r.req.Release()
}

// minReleased is the smallest size of a body that is released early, in bytes.
const minReleased = 64 << 10

// maxDropped limits the number of names in the header that lists dropped parameters.
const maxDropped = 20

// gatewayHeaders sets the header fields that name the provider and model of the answer.
func (r *run) gatewayHeaders() {
	header := r.w.Header()
	values := make([]string, 0, 4) // backs all values
	set := func(name, value string) {
		values = append(values, value)
		header[name] = values[len(values)-1 : len(values) : len(values)]
	}
	set("X-Gateway-Attempts", strconv.Itoa(r.result.Attempts))
	tier := r.result.Tier
	if c := r.result.Candidate; c != nil {
		set("X-Gateway-Provider", c.Provider.Code)
		set("X-Gateway-Model", headerText(c.Model.ID))
		tier = c.Tier
	}
	if tier != 0 {
		set("X-Gateway-Tier", tier.String())
	}
}

// headerText replaces the characters of a user's model name that are not allowed in a header value.
func headerText(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, text)
}
