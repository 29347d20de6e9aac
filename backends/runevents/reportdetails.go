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
		var name []byte
		for r.object(); r.member(&name); {
			var bit memberSet
			switch string(name) {
			case "category":
				bit = seenCategory
				r.bytes()
			case "name":
				bit = seenName
				r.bytes()
			case "value":
				bit = seenValue
				if r.expect(jsontext.Number, "a number") {
					r.record(r.text.Skip())
				}
			default:
				r.fail("a metric has no member %q", rest.Quote(string(name)))
			}
			r.once(&seen, bit, name)
		}
		if seen != seenCategory|seenName|seenValue {
			r.fail("a metric lacks its category, name or value")
		}
	}
}

// once adds the member with the given bit and name to seenMembers, and fails if seenMembers contains it already.
// Queries return metrics and logs unchanged, so a member must not occur twice. The bit of an unknown member is 0, which
// has no effect.
func (r *reader) once(seenMembers *memberSet, bit memberSet, name []byte) {
	if *seenMembers&bit != 0 {
		r.fail("%s is given twice", name)
	}
	*seenMembers |= bit
}

// logs validates the logs of a report, and appends them to out with all times in UTC.
func (r *reader) logs(out []byte) []byte {
	start := len(out)
	out = append(out, '[')
	for r.list(); r.element(); {
		if len(out) > start+1 {
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
	var name []byte
	for r.object(); r.member(&name); {
		if seen != 0 {
			out = append(out, ',')
		}
		out = append(append(append(out, '"'), name...), `":`...) // these names need no escaping
		var bit memberSet
		switch string(name) {
		case "file":
			if bit = seenFile; r.null() {
				out = append(out, "null"...)
			} else {
				out = r.quoted(out)
			}
		case "line":
			bit = seenLine
			if line := r.line(); line.Valid {
				out = strconv.AppendInt(out, line.Int64, 10)
			} else {
				out = append(out, "null"...)
			}
		case "level":
			bit, out = seenLevel, r.quoted(out)
		case "message":
			bit, out = seenMessage, r.quoted(out)
		case "source":
			bit, out = seenSource, r.quoted(out)
		case "tags":
			bit, out = seenTags, r.tags(out)
		case "time":
			bit, out = seenTime, append(syntax.AppendTime(append(out, '"'), r.instant()), '"')
		default:
			r.fail("a log line has no member %q", rest.Quote(string(name)))
		}
		r.once(&seen, bit, name)
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
