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
	typeJSON  = "application/json"
	typeSSE   = "text/event-stream; charset=utf-8"
	typeHTML  = "text/html; charset=utf-8"
	htmlPage  = "<!doctype html>\n<html><head><title>%</title></head>\n<body><h1>%</h1><p>A scripted page where an answer should be.</p></body></html>\n"
	drainSize = 32 << 10 // bytes of a stream that are collected before a write if nothing flushes
)

// call is the state of one request.
type call struct {
	srv *Server
	w   http.ResponseWriter
	r   *http.Request
	rec *Recorded // nil if it is not recorded

	req   *request
	model string // without the script
	scr   *script
	ans   *answer

	deadline time.Time // of the whole answer, set by the first pause
	gone     bool      // the client has left
	complete bool      // everything has been sent
}

// buffers is a pool of buffers in which answers are encoded.
var buffers = sync.Pool{New: func() any { b := make([]byte, 0, 4<<10); return &b }}

func putBuffer(p *[]byte, b []byte) {
	if cap(b) <= keepBuf {
		*p = b[:0]
		buffers.Put(p)
	}
}

// chat answers POST /v1/chat/completions.
func (c *call) chat() { c.answer(parseRequest) }

// answer parses a request and follows its script.
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
	c.play()
}

// play follows the script up to the answer itself.
func (c *call) play() {
	if s := c.scr; s.failTimes > 0 {
		if c.srv.failures.take(s.failKey, s.failTimes) {
			c.scr = s.failing()
		} else {
			c.scr = s.succeeding()
		}
	}
	s := c.scr
	slow := s.faults.has(faultSlowHeaders)
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
		c.html()
	case s.hasBody:
		c.raw()
	case s.status != 0 && !s.faults.has(faultErrorObject|faultErrorMid):
		if s.retryAfter != "" {
			c.w.Header().Set("Retry-After", s.retryAfter)
		}
		c.json(s.status, appendError(nil, s.scriptedError(s.status)))
	case c.req.texts != nil:
		c.vectors()
	case c.req.stream:
		c.stream()
	default:
		c.whole()
	}
}

// html answers with an HTML page, as a failing proxy does.
func (c *call) html() {
	status := c.scr.status
	if status == 0 {
		status = http.StatusOK
	}
	title := strconv.Itoa(status) + " " + http.StatusText(status)
	page := strings.ReplaceAll(htmlPage, "%", title)
	c.begin(status, typeHTML, int64(len(page)))
	c.send([]byte(page))
	c.complete = !c.gone
}

// raw answers with the body in the script.
func (c *call) raw() {
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
	c.begin(status, typ, int64(len(c.scr.body)))
	c.send([]byte(c.scr.body))
	c.complete = !c.gone
}

// begin sends the status and the headers. A negative length is omitted.
func (c *call) begin(status int, contentType string, length int64) {
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
		// An answer that the client chooses must not run as a page of this server's origin.
		h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
	}
	c.w.WriteHeader(status)
}

// send writes b unless the client has left.
func (c *call) send(b []byte) {
	if c.gone {
		return
	}
	_, err := c.w.Write(b) //nolint:gosec // JSON, text or events; where a script sets the type, begin puts it in a sandbox
	// A HEAD request or a 304 takes no body.
	if err != nil && !errors.Is(err, http.ErrBodyNotAllowed) {
		c.gone = true
	}
}

// flush sends what has been written so far.
func (c *call) flush() {
	if c.gone {
		return
	}
	if err := http.NewResponseController(c.w).Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
		c.gone = true
	}
}

// pause waits and reports whether to continue, which is false if the client has left. It aborts an answer that has
// taken MaxDuration.
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

// hold waits for the client to leave, and closes the connection after maxHold.
func (c *call) hold() {
	if c.pause(maxHold) {
		panic(http.ErrAbortHandler)
	}
}
