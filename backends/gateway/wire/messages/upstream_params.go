package messages

import (
	"strconv"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/blocks"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// The header fields with the two versions of the format. The maps must not be changed. The later version refuses
// sampling parameters.
var (
	upstreamVersion         = map[string]string{"anthropic-version": noSampling}
	upstreamSamplingVersion = map[string]string{"anthropic-version": "2023-06-01"}
)

// stop writes the stop sequences. The format refuses sequences of only white space, so these are left out.
func (w *upstreamWriter) stop() {
	n := 0
	for _, text := range w.Request.Stop {
		if blocks.Blank(text) {
			continue
		}
		if n++; n == 1 {
			w.Dst = append(w.Dst, `,"stop_sequences":[`...)
		} else {
			w.Dst = append(w.Dst, ',')
		}
		w.Dst = jsontext.AppendQuoted(w.Dst, text)
	}
	if n > 0 {
		w.Dst = append(w.Dst, ']')
	}
	if n < len(w.Request.Stop) {
		w.dropped = append(w.dropped, "stop")
	}
}

// params writes the remaining parameters and returns the header with the format version that accepts them.
func (w *upstreamWriter) params() (version map[string]string) {
	version = upstreamVersion
	for _, p := range w.Request.Params {
		switch {
		case p.IsDefault():
			continue
		case w.Target.Refuses(p.Name):
			w.dropped = append(w.dropped, p.Name)
			continue
		}
		switch p.Name {
		case "n", "parallel_tool_calls":
			// The method Write has checked n, and the method tools has written parallel_tool_calls.
		case "temperature", "top_p", "top_k":
			switch value, ok := w.sampling(p); {
			case !ok:
				w.dropped = append(w.dropped, p.Name)
			case value != "": // the default is left out
				version = upstreamSamplingVersion
				w.Dst = jsontext.AppendAll(w.Dst, `,"`, p.Name, `":`, value)
			}
		case "user":
			if !strings.HasPrefix(p.Value, `"`) {
				w.dropped = append(w.dropped, p.Name)
				continue
			}
			w.Dst = jsontext.AppendAll(w.Dst, `,"metadata":{"user_id":`, p.Value, `}`)
		case "service_tier":
			w.tier(p)
		default:
			w.dropped = append(w.dropped, p.Name)
		}
	}
	return version
}

// sampling returns the value of the sampling parameter p for the upstream. The value is empty if it is the default,
// which need not be sent. ok is false if the model does not accept the parameter: a model that thinks accepts none, and
// newer models accept only one of temperature and top_p.
func (w *upstreamWriter) sampling(p hub.Param) (value string, ok bool) {
	n, err := strconv.ParseFloat(p.Value, 64)
	if err != nil || n < 0 {
		return "", false
	}
	if p.Name != "top_k" {
		if n >= 1 { // 1 is the default and the maximum of temperature and top_p
			return "", n == 1
		}
		if p.Name == "top_p" && w.Request.Param("temperature") != "" && w.Request.Param("temperature") != "1" {
			return "", false
		}
	}
	if w.thinking == upstreamAdaptive || w.thinking == upstreamBudget {
		return "", false
	}
	return p.Value, true
}

// tier writes service_tier. Values that the format does not have are dropped.
func (w *upstreamWriter) tier(p hub.Param) {
	switch p.Value {
	case `"auto"`:
		w.Dst = append(w.Dst, `,"service_tier":"auto"`...)
	case `"default"`:
		w.Dst = append(w.Dst, `,"service_tier":"standard_only"`...)
	default:
		w.dropped = append(w.dropped, p.Name)
	}
}
