package edge

import (
	"io"
	"net/http"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

// HeaderHook changes the header of a response before it is sent.
type HeaderHook interface {
	// BeforeHeader is called before the header of each status is sent, up to the first final status.
	BeforeHeader(status int)
}

// HeaderWriter is a response writer with a HeaderHook. A type that embeds it is usually the hook itself. Only one
// goroutine may use it at a time, as with other response writers.
type HeaderWriter struct {
	caddyhttp.ResponseWriterWrapper

	// Began means that the final status was sent. A hook that takes over the connection sets it too.
	Began bool
	hook  HeaderHook
}

// Init makes the writer pass the response on to w.
func (h *HeaderWriter) Init(w http.ResponseWriter, hook HeaderHook) {
	h.ResponseWriter, h.hook = w, hook
}

// WriteHeader implements http.ResponseWriter.
func (h *HeaderWriter) WriteHeader(status int) {
	if !h.Began {
		h.hook.BeforeHeader(status)
		h.Began = status >= http.StatusOK || status == http.StatusSwitchingProtocols
	}
	h.ResponseWriter.WriteHeader(status)
}

// begin sends status 200, as net/http does for a handler that sets no status.
func (h *HeaderWriter) begin() {
	if !h.Began {
		h.WriteHeader(http.StatusOK)
	}
}

// Write implements http.ResponseWriter.
func (h *HeaderWriter) Write(p []byte) (int, error) {
	h.begin()
	return h.ResponseWriter.Write(p)
}

// ReadFrom implements io.ReaderFrom, which lets the server use sendfile.
func (h *HeaderWriter) ReadFrom(src io.Reader) (int64, error) {
	h.begin()
	return h.ResponseWriterWrapper.ReadFrom(src)
}

// FlushError flushes the response, which sends the header. http.ResponseController calls it.
func (h *HeaderWriter) FlushError() error {
	h.begin()
	return http.NewResponseController(h.ResponseWriter).Flush()
}
