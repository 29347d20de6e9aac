package runevents

import (
	"strconv"

	"github.com/tollgate-gateway/tollgate/backends/runevents/query/syntax"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
	"github.com/tollgate-gateway/tollgate/internal/rest"
)

// metrics reads the metrics of a report, and validates them.
func (r *reader) metrics() {
	for r.list(); r.element(); {
		var seen memberSet
		for r.object(); ; {
			name, ok := r.member()
			if !ok {
				break
			}
			switch string(name) {
			case "category":
				r.bytes()
				r.once(&seen, seenCategory, name)
			case "name":
				r.bytes()
				r.once(&seen, seenName, name)
			case "value":
				if r.expect(jsontext.Number, "a number") {
					r.record(r.text.Skip())
				}
				r.once(&seen, seenValue, name)
			default:
				r.fail("a metric has no member %q", rest.Quote(string(name)))
			}
		}
		if seen != seenCategory|seenName|seenValue {
			r.fail("a metric lacks its category, name or value")
		}
	}
}

// once adds the member with the given bit and name to seen, and fails if seen contains it already. Queries return
// metrics and logs unchanged, so a member must not occur twice.
func (r *reader) once(seen *memberSet, bit memberSet, name []byte) {
	if *seen&bit != 0 {
		r.fail("%s is given twice", name)
	}
	*seen |= bit
}

// logs validates the logs of a report, and appends them to out with all times in UTC.
func (r *reader) logs(out []byte) []byte {
	begin := len(out)
	out = append(out, '[')
	for r.list(); r.element(); {
		if len(out) > begin+1 {
			out = append(out, ',')
		}
		out = r.logLine(append(out, '{'))
		out = append(out, '}')
	}
	return append(out, ']')
}

// logLine reads one entry of the logs, and appends its members to out, without braces. Missing members file and line
// are appended as null.
func (r *reader) logLine(out []byte) []byte {
	var seen memberSet
	for r.object(); ; {
		name, ok := r.member()
		if !ok {
			break
		}
		if seen != 0 {
			out = append(out, ',')
		}
		out = append(append(append(out, '"'), name...), `":`...) // these names need no escaping
		switch string(name) {
		case "file":
			if r.null() {
				out = append(out, "null"...)
			} else {
				out = r.quoted(out)
			}
			r.once(&seen, seenFile, name)
		case "line":
			if line := r.line(); line.Valid {
				out = strconv.AppendInt(out, line.Int64, 10)
			} else {
				out = append(out, "null"...)
			}
			r.once(&seen, seenLine, name)
		case "level":
			out = r.quoted(out)
			r.once(&seen, seenLevel, name)
		case "message":
			out = r.quoted(out)
			r.once(&seen, seenMessage, name)
		case "source":
			out = r.quoted(out)
			r.once(&seen, seenSource, name)
		case "tags":
			out = r.tags(out)
			r.once(&seen, seenTags, name)
		case "time":
			out = append(syntax.AppendTime(append(out, '"'), r.instant()), '"')
			r.once(&seen, seenTime, name)
		default:
			r.fail("a log line has no member %q", rest.Quote(string(name)))
		}
	}
	const requiredMembers = seenLevel | seenMessage | seenSource | seenTags | seenTime
	if seen&requiredMembers != requiredMembers {
		r.fail("a log line lacks its level, message, source, tags or time")
	}
	if seen&seenFile == 0 {
		out = append(out, `,"file":null`...)
	}
	if seen&seenLine == 0 {
		out = append(out, `,"line":null`...)
	}
	return out
}

// tags reads a list of strings, and appends it to out.
func (r *reader) tags(out []byte) []byte {
	out = append(out, '[')
	first := true
	for r.list(); r.element(); {
		if !first {
			out = append(out, ',')
		}
		first = false
		out = r.quoted(out)
	}
	return append(out, ']')
}
