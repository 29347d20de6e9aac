package scriptedmodel

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	typeJSON = "application/json"
	typeSSE  = "text/event-stream; charset=utf-8"
	typeHTML = "text/html; charset=utf-8"
	// htmlPage is a page in which % stands for the title.
	htmlPage  = "<!doctype html>\n<html><head><title>%</title></head>\n<body><h1>%</h1><p>A scripted page where an answer should be.</p></body></html>\n"
	writeSize = 32 << 10 // bytes of a stream that are collected before a write if nothing flushes
)

// call is the state of one request.
type call struct {
	srv *Server
	w   http.ResponseWriter
	r   *http.Request
	rec *Recorded // nil if it is not recorded

	// These are set by answer, before anything is sent.
	req   *request // nil for routes without a body
	model string   // model name without the script
	scr   *script  // nil if the request is invalid
	ans   *answer  // may be shared with other requests, and is then not changed

	deadline time.Time // of the whole answer, set by the first pause
	gone     bool      // the client has left
	complete bool      // everything has been sent
}

// buffers is a pool of buffers in which answers are encoded.
var buffers = sync.Pool{New: func() any { b := make([]byte, 0, 4<<10); return &b }}

// putBuffer returns the buffer p to the pool. b is the slice to which it has grown.
func putBuffer(p *[]byte, b []byte) {
	if cap(b) <= maxKeptBuffer {
		*p = b[:0]
		buffers.Put(p)
	}
}

// chat answers POST /v1/chat/completions.
func (c *call) chat() { c.answer(parseRequest) }

// answer parses a request with the function parse and answers it according to its script.
func (c *call) answer(parse func(body string) (*request, error)) {
	body, sum, err := c.readBody()
	if err == nil {
		c.req, err = parse(body)
	}
	if err == nil {
		c.req.sum = sum
		err = c.plan()
	}
	if err != nil {
		c.scr = nil
		c.fail(err)
		return
	}
	c.followScript()
}

// followScript performs the pauses and faults of the script before the answer, and then sends the answer.
func (c *call) followScript() {
	if s := c.scr; s.failTimes > 0 {
		if c.srv.failures.take(s.failKey, s.failTimes) {
			c.scr = s.withFailure()
		} else {
			c.scr = s.withoutFailure()
		}
	}
	s := c.scr
	slow := s.faults.has(faultSlowHeaders) // trickle spreads the headers over the delay
	if !slow && !c.pause(s.delay) {
		return
	}
	switch {
	case s.faults.has(faultDrop):
		panic(http.ErrAbortHandler)
	case s.faults.has(faultHang):
		c.hold()
		return
	case slow:
		stop, ok := c.trickle()
		defer stop()
		if !ok {
			return
		}
	}
	switch {
	case s.faults.has(faultHTML):
		c.sendHTML()
	case s.hasBody:
		c.sendBody()
	// With these faults, the status belongs to the error within an answer of status 200.
	case s.status != 0 && !s.faults.has(faultErrorObject|faultErrorMid):
		if s.retryAfter != "" {
			c.w.Header().Set("Retry-After", s.retryAfter)
		}
		c.json(s.status, appendError(nil, s.scriptedError(s.status)))
	case c.req.texts != nil: // a request for embeddings
		c.sendVectors()
	case c.req.stream:
		c.sendStream()
	default:
		c.sendWhole()
	}
}

// sendHTML answers with an HTML page, as a failing proxy does.
func (c *call) sendHTML() {
	status := c.scr.status
	if status == 0 {
		status = http.StatusOK
	}
	title := strconv.Itoa(status) + " " + http.StatusText(status)
	page := strings.ReplaceAll(htmlPage, "%", title)
	c.sendHeader(status, typeHTML, int64(len(page)))
	c.send([]byte(page))
	c.complete = !c.gone
}

// sendBody answers with the body in the script.
func (c *call) sendBody() {
	status, typ := c.scr.status, typeJSON
	if status == 0 {
		status = http.StatusOK
		if c.req.stream {
			typ = typeSSE
		}
	}
	if c.scr.retryAfter != "" && c.scr.status != 0 {
		c.w.Header().Set("Retry-After", c.scr.retryAfter)
	}
	c.sendHeader(status, typ, int64(len(c.scr.body)))
	c.send([]byte(c.scr.body))
	c.complete = !c.gone
}

// sendHeader sends the status and the headers, with those of the script. A negative length means that there is no
// Content-Length.
func (c *call) sendHeader(status int, contentType string, length int64) {
	h := c.w.Header()
	h.Set("Content-Type", contentType)
	if length >= 0 {
		h.Set("Content-Length", strconv.FormatInt(length, 10))
	}
	if c.req != nil {
		h.Set("X-Request-Id", string(appendID([]byte("req_"), &c.req.sum)))
	}
	if s := c.scr; s != nil && (s.headers != nil || s.hasBody) {
		for name, values := range s.headers {
			h[name] = append([]string(nil), values...)
		}
		// The client has written the script, so its answer must not run as a page of this server's origin.
		h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
	}
	c.w.WriteHeader(status)
}

// send writes b, unless the client has left. If writing fails, it sets c.gone.
func (c *call) send(b []byte) {
	if c.gone {
		return
	}
	_, err := c.w.Write(b) //nolint:gosec // JSON, text or events; where a script sets the type, sendHeader puts it in a sandbox
	// A HEAD request or a 304 takes no body.
	if err != nil && !errors.Is(err, http.ErrBodyNotAllowed) {
		c.gone = true
	}
}

// flush flushes the written bytes to the client. If that fails, it sets c.gone.
func (c *call) flush() {
	if c.gone {
		return
	}
	if err := http.NewResponseController(c.w).Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
		c.gone = true
	}
}

// pause waits for the duration d. It returns false if the client has left. If the answer would take longer than
// MaxDuration, it aborts the answer by a panic with http.ErrAbortHandler.
func (c *call) pause(d time.Duration) bool {
	if d <= 0 || c.gone {
		return !c.gone
	}
	now := time.Now()
	if c.deadline.IsZero() {
		c.deadline = now.Add(MaxDuration)
	}
	if now.Add(d).After(c.deadline) {
		panic(http.ErrAbortHandler)
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-c.r.Context().Done():
		c.gone = true
		return false
	case <-timer.C:
		return true
	}
}

// hold waits until the client leaves. After maxHold, it aborts the answer by a panic with http.ErrAbortHandler.
func (c *call) hold() {
	if c.pause(maxHold) {
		panic(http.ErrAbortHandler)
	}
}
