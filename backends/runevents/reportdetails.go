package runevents

import (
	"strconv"
	"sync"

	"github.com/tollgate-gateway/tollgate/internal/jsontext"
	"github.com/tollgate-gateway/tollgate/internal/rest"
)

// metrics checks the metrics of a report.
func (r *reader) metrics() {
	for r.list(); r.element(); {
		r.object()
		for {
			name, ok := r.member()
			if !ok {
				break
			}
			switch string(name) {
			case "category", "name":
				r.bytes()
			case "value":
				if r.expect(jsontext.Number, "a number") {
					r.sound(r.text.Skip())
				}
			default:
				r.fail("a metric has no member %q", rest.Quote(string(name)))
			}
		}
	}
}

// logBuffers are for logs on their way to being compressed; longer ones than
// logKept are not kept.
var logBuffers = sync.Pool{New: func() any { return new([]byte) }}

const logKept = 256 << 10

// logs checks the log of a report and adds it to out with its times in UTC.
func (r *reader) logs(out []byte) []byte {
	begin := len(out)
	out = append(out, '[')
	for r.list(); r.element(); {
		if len(out) > begin+1 {
			out = append(out, ',')
		}
		out = append(out, '{')
		empty := true
		r.object()
		for {
			name, ok := r.member()
			if !ok {
				break
			}
			if !empty {
				out = append(out, ',')
			}
			empty = false
			out = append(jsontext.AppendQuoted(out, name), ':')
			switch string(name) {
			case "file", "level", "message", "source":
				if r.null() {
					out = append(out, "null"...)
				} else {
					out = jsontext.AppendQuoted(out, r.bytes())
				}
			case "line":
				if line := r.line(); line.Valid {
					out = strconv.AppendInt(out, line.Int64, 10)
				} else {
					out = append(out, "null"...)
				}
			case "tags":
				out = r.tags(out)
			case "time":
				out = append(appendInstant(append(out, '"'), r.instant()), '"')
			default:
				r.fail("a log line has no member %q", rest.Quote(string(name)))
			}
		}
		out = append(out, '}')
	}
	return append(out, ']')
}

func (r *reader) tags(out []byte) []byte {
	if r.null() {
		return append(out, "null"...)
	}
	out = append(out, '[')
	comma := false
	for r.list(); r.element(); {
		if comma {
			out = append(out, ',')
		}
		comma = true
		out = jsontext.AppendQuoted(out, r.bytes())
	}
	return append(out, ']')
}
