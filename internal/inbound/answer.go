package inbound

import (
	"context"
	"net/http"
	"time"
)

// piece is how much of a response is written under one deadline.
const piece = 64 << 10

// Write writes a response to a client that must receive it at pace p, and then removes the deadline. ctx is that of the
// request. After an error the deadline stays, as the connection cannot be used any more. The server's WriteTimeout
// takes precedence.
func (p Pace) Write(ctx context.Context, w http.ResponseWriter, answer []byte) error {
	control, began := http.NewResponseController(w), time.Now()
	server, ok := ctx.Value(http.ServerContextKey).(*http.Server)
	if ok && server.WriteTimeout > 0 || control.SetWriteDeadline(p.deadline(began, 0)) != nil {
		_, err := w.Write(answer)
		return err
	}
	for written := 0; written < len(answer); {
		n, err := w.Write(answer[written:min(written+piece, len(answer))])
		if err != nil {
			return err
		}
		written += n
		_ = control.SetWriteDeadline(p.deadline(began, int64(written))) // it could be set, so it can be moved
	}
	return control.SetWriteDeadline(time.Time{})
}

// deadline returns when the next bytes must have been transferred, if moved bytes were transferred since began.
func (p Pace) deadline(began time.Time, moved int64) time.Time {
	whole := began.Add(p.Stall + time.Duration(moved*int64(time.Second)/p.Rate))
	if stall := time.Now().Add(p.Stall); stall.Before(whole) {
		return stall
	}
	return whole
}
