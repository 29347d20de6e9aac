package inbound

import (
	"context"
	"net/http"
	"time"
)

// piece is how much of a response is written under one deadline.
const piece = 64 << 10

// Write writes answer, the body of a response, to a client that must receive it at pace p, and then removes the write
// deadline. ctx is the context of the request. After an error the deadline stays, as the connection cannot be used any
// more. If the server has a WriteTimeout, Write sets no deadlines.
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
		_ = control.SetWriteDeadline(p.deadline(began, int64(written))) // SetWriteDeadline has worked before
	}
	return control.SetWriteDeadline(time.Time{})
}

// deadline returns the time by which the next bytes must have been transferred. start is the time at which the
// transfer began, and transferred is the number of bytes that were transferred since then.
func (p Pace) deadline(start time.Time, transferred int64) time.Time {
	byRate := start.Add(p.Stall + time.Duration(transferred*int64(time.Second)/p.Rate))
	if stall := time.Now().Add(p.Stall); stall.Before(byRate) {
		return stall
	}
	return byRate
}
