package messages

import (
	"strconv"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// The versions of the format. The later one refuses sampling parameters.
const (
	upstreamVersion         = "2026-10-21"
	upstreamSamplingVersion = "2023-06-01"
)

// stop writes the sequences that stop the model. Sequences of white space only are left out, since the format refuses
// them.
func (w *upstreamWriter) stop() {
	n := 0
	for _, text := range w.r.Stop {
		if upstreamBlank(text) {
			continue
		}
		if n++; n == 1 {
			w.dst = append(w.dst, `,"stop_sequences":[`...)
		} else {
			w.dst = append(w.dst, ',')
		}
		w.dst = jsontext.AppendQuoted(w.dst, text)
	}
	if n > 0 {
		w.dst = append(w.dst, ']')
	}
	if n < len(w.r.Stop) {
		w.dropped = append(w.dropped, "stop")
	}
}

// params writes the other parameters and returns the version of the format that accepts them.
func (w *upstreamWriter) params() (version string) {
	version = upstreamVersion
	for _, p := range w.r.Params {
		switch {
		case p.Value == "null" || p.Value == "false" && (p.Name == "logprobs" || p.Name == "store"):
			continue
		case upstreamDrops(w.t, p.Name):
			w.dropped = append(w.dropped, p.Name)
			continue
		}
		switch p.Name {
		case "n", "parallel_tool_calls":
			// Written elsewhere.
		case "temperature", "top_p", "top_k":
			value, sent := w.sampling(p)
			if sent && value != "" {
				version = upstreamSamplingVersion
				w.dst = jsontext.AppendAll(w.dst, `,"`, p.Name, `":`, value)
			} else if !sent {
				w.dropped = append(w.dropped, p.Name)
			}
		case "user":
			if !strings.HasPrefix(p.Value, `"`) {
				w.dropped = append(w.dropped, p.Name)
				continue
			}
			w.dst = jsontext.AppendAll(w.dst, `,"metadata":{"user_id":`, p.Value, `}`)
		case "service_tier":
			w.tier(p)
		default:
			w.dropped = append(w.dropped, p.Name)
		}
	}
	return version
}

// sampling returns the value of a sampling parameter, which is empty for the default. A model that thinks accepts none,
// and newer models accept only one of temperature and top_p.
func (w *upstreamWriter) sampling(p hub.Param) (value string, ok bool) {
	n, err := strconv.ParseFloat(p.Value, 64)
	if err != nil || n < 0 {
		return "", false
	}
	if p.Name != "top_k" {
		if n >= 1 {
			return "", n == 1
		}
		if p.Name == "top_p" && w.r.Param("temperature") != "" && w.r.Param("temperature") != "1" {
			return "", false
		}
	}
	if w.thinking == upstreamAdaptive || w.thinking == upstreamBudget {
		return "", false
	}
	return p.Value, true
}

func (w *upstreamWriter) tier(p hub.Param) {
	switch p.Value {
	case `"auto"`:
		w.dst = append(w.dst, `,"service_tier":"auto"`...)
	case `"default"`:
		w.dst = append(w.dst, `,"service_tier":"standard_only"`...)
	default:
		w.dropped = append(w.dropped, p.Name)
	}
}
