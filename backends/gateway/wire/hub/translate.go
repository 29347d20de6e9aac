package hub

import (
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
)

// Translate returns a Pass that converts answers from one format to another.
func Translate(reader Reader, writer Writer) Pass { return &translation{from: reader, to: writer} }

// Streamed returns a Pass that converts a whole answer for a client that asked for a stream: its Whole appends the
// client's events. check is a second writer for the same client. If check refuses the whole answer, Whole returns its
// error before the client has received anything.
func Streamed(reader Reader, writer, check Writer) Pass {
	return &streamed{translation{from: reader, to: writer}, check}
}

// streamed is the Pass that the function Streamed returns.
type streamed struct {
	translation
	check Writer
}

// Whole implements Pass. It appends the events of a stream.
func (s *streamed) Whole(dst, body []byte) ([]byte, error) {
	deltas, err := s.from.Whole(body)
	if err != nil {
		return nil, err
	}
	s.count(deltas)
	if _, err := s.check.Whole(deltas); err != nil {
		return nil, err
	}
	return s.to.Stream(dst, deltas), nil
}

// translation is the Pass that the function Translate returns.
type translation struct {
	from  Reader
	to    Writer
	bytes int64
}

// Event implements Pass.
func (t *translation) Event(dst, name, data []byte) ([]byte, wire.Progress, error) {
	step, err := t.from.Event(name, data)
	return t.write(dst, step, err)
}

// End implements Pass.
func (t *translation) End(dst []byte) ([]byte, error) {
	step, err := t.from.End()
	dst, _, err = t.write(dst, step, err)
	return dst, err
}

// write appends the client's events for a step to dst. If err is not nil it returns dst unchanged and err.
func (t *translation) write(dst []byte, step Step, err error) ([]byte, wire.Progress, error) {
	if err != nil {
		return dst, wire.Progress{}, err
	}
	t.count(step.Deltas)
	if len(step.Deltas) > 0 {
		dst = t.to.Stream(dst, step.Deltas)
	}
	return dst, wire.Progress{Proof: step.Proof, Thinks: step.Thinks, Done: step.Done}, nil
}

// Whole implements Pass.
func (t *translation) Whole(dst, body []byte) ([]byte, error) {
	deltas, err := t.from.Whole(body)
	if err != nil {
		return nil, err
	}
	t.count(deltas)
	answer, err := t.to.Whole(deltas)
	if len(dst) == 0 || err != nil {
		return answer, err
	}
	return append(dst, answer...), nil
}

// count adds the bytes of text, reasoning and arguments in deltas to t.bytes.
func (t *translation) count(deltas []Delta) {
	for i := range deltas {
		t.bytes += int64(len(deltas[i].Text))
	}
}

func (t *translation) Fail(dst []byte, f Failure) []byte { return t.to.Fail(dst, f) }
func (t *translation) KeepAlive(dst []byte) []byte       { return t.to.KeepAlive(dst) }
func (t *translation) Usage() wire.Usage                 { return t.from.Usage() }
func (t *translation) TextBytes() int64                  { return t.bytes }
