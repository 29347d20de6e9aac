package web

import (
	"io"
	"net/http"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

// This file serves files that are written while their rows are being read.

const (
	// longFilesAtOnce limits the number of long files that are written at the same time. A long file is made of many
	// rows, such as a sitemap with up to 50,000 threads.
	longFilesAtOnce = 2
	// longFileTime limits the time for one file, so that slow readers do not block other readers.
	longFileTime = 5 * time.Minute
)

// longFile runs write, which writes a long file. It returns an error if longFilesAtOnce files are already being
// written.
func (c *call) longFile(write func() error) error {
	select {
	case c.options.long <- struct{}{}:
		defer func() { <-c.options.long }()
		connection := http.NewResponseController(c.W)
		if connection.SetWriteDeadline(time.Now().Add(longFileTime)) == nil {
			defer func() { _ = connection.SetWriteDeadline(time.Time{}) }()
		}
		return write()
	default:
		return &apierror.Error{
			Status: http.StatusServiceUnavailable, Code: "overloaded",
			Message: "Too many large files are being downloaded at the moment. Try again later.", RetryAfter: time.Second,
		}
	}
}

// firstWriteHook calls the function begin before the first write. As long as begin is not nil, nothing has been
// written, and an error can still be reported.
type firstWriteHook struct {
	io.Writer
	begin func() // nil after the first write
}

// Write implements io.Writer.
func (b *firstWriteHook) Write(p []byte) (int, error) {
	if b.begin != nil {
		b.begin()
		b.begin = nil
	}
	return b.Writer.Write(p)
}

// ownData sends a member a file with the member's data. If reading fails halfway, the connection is aborted, so that
// the browser notices that the file is incomplete.
func (c *call) ownData() error {
	return c.longFile(func() error {
		out := &firstWriteHook{Writer: c.W, begin: func() {
			c.W.Header().Set("Content-Type", "application/json")
			c.W.Header().Set("Content-Disposition", `attachment; filename="board-data.json"`)
		}}
		err := c.OwnData.Write(c.Context(), c.actor, out)
		if err != nil && out.begin == nil {
			panic(http.ErrAbortHandler)
		}
		return err
	})
}
