package script

import (
	"time"

	"github.com/tollgate-gateway/tollgate/backends/cms/script/js"
	"github.com/tollgate-gateway/tollgate/backends/cms/script/wire"
)

// local is a runner that runs calls in this process. It can interrupt a call that takes too long only between two steps
// of the script.
type local struct {
	// Buffers that are reused for the next call.
	payload, result []byte
}

// run runs a call in a new runtime, and interrupts it at the deadline of h.ctx.
func (l *local) run(h *host, kind byte, appendPayload func([]byte) []byte) ([]byte, error) {
	rt := js.New(h.program.code)
	deadline, _ := h.ctx.Deadline()
	timer := time.AfterFunc(time.Until(deadline), func() { rt.Interrupt(js.ErrTime) })
	defer timer.Stop()
	l.payload = appendPayload(l.payload[:0])
	switch kind {
	case wire.Load:
		l.result = rt.Load(h, l.payload, l.result[:0])
	case wire.Table:
		l.result = rt.Table(h, l.result[:0])
	default:
		l.result = rt.Run(h, l.payload, l.result[:0])
	}
	return l.result, nil
}

func (*local) close() {}
