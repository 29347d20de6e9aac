package runevents

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"

	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// Vary returns a copy of a report that looks as if another node had sent it. It replaces every occurrence of the
// report's certname by the given one, adds shift to all times, and sets a new transaction ID. The same input yields
// the same output.
func Vary(payload []byte, certname string, shift time.Duration) ([]byte, error) {
	if !gjson.ValidBytes(payload) {
		return nil, errors.New("the report is not JSON")
	}
	members := gjson.GetManyBytes(payload, "certname", "transaction_uuid")
	oldCertname, oldID := members[0].String(), members[1].String()
	if oldCertname == "" || certname == "" {
		return nil, errors.New("the report has no certname")
	}
	// The name is inserted into JSON strings, so it is escaped, but has no quotes.
	quoted := jsontext.AppendQuoted(nil, certname)
	out := bytes.ReplaceAll(payload, []byte(oldCertname), quoted[1:len(quoted)-1])
	out = shiftTimes(out, shift.Milliseconds())
	if oldID != "" {
		sum := sha256.Sum256(fmt.Append(nil, certname, "\x00", oldID, "\x00", shift))
		sum[6], sum[8] = sum[6]&0x0f|0x40, sum[8]&0x3f|0x80 // version 4 and variant of RFC 9562
		return sjson.SetBytes(out, "transaction_uuid", fmt.Sprintf("%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10],
			sum[10:16]))
	}
	return out, nil
}

// shiftTimes adds ms milliseconds to all times in the payload. A time is any string in the format that agents use for
// times.
func shiftTimes(payload []byte, ms int64) []byte {
	const longest = len("2026-03-02T10:27:54.123456789+00:00")
	out := make([]byte, 0, len(payload))
	for {
		i := bytes.IndexByte(payload, '"')
		if i < 0 {
			return append(out, payload...)
		}
		out = append(out, payload[:i+1]...)
		payload = payload[i+1:]
		// The quote may also be the end of a string. What follows it up to the next quote is not a time.
		end := bytes.IndexByte(payload[:min(len(payload), longest+1)], '"')
		if end < 0 { // the string is too long for a time
			continue
		}
		if parsed, ok := parseInstant(payload[:end]); ok {
			out = time.UnixMilli(parsed+ms).UTC().AppendFormat(out, "2006-01-02T15:04:05.000-07:00")
			payload = payload[end:]
		}
	}
}
