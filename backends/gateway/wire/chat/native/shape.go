package native

import (
	"slices"
)

// Shape describes the changes that a request needs for a candidate.
type Shape struct {
	// Model is the model's name at the upstream.
	Model string
	// Drop names the top-level fields that are left out.
	Drop []string
	// Rename maps the client's names of top-level fields to the upstream's names.
	Rename map[string]string
	// MaxTokensField is the name of the field in which the token limit is sent. If it is empty, the field keeps the
	// client's name.
	MaxTokensField string
	// ToolChoiceRequired is sent instead of the tool_choice "required". If it is empty, "required" is sent.
	ToolChoiceRequired string
	// Developer is set if the upstream knows the role "developer". Otherwise the role becomes "system".
	Developer bool
	// StreamUsage is set if the usage of a stream must be requested from the upstream, even if the client did not
	// request it.
	StreamUsage bool
}

// Shape returns the request body for a candidate. It consists of the client's bytes in the client's order, with the
// changes that shape describes. Fields for which wire.Foreign is true are left out.
func (r *Request) Shape(shape *Shape) *Shaped {
	out := newShaped(r.Body, r.Lease)
	if len(r.fields) == 0 {
		return out.end(0)
	}
	limitSent, usageSent := false, false // a token limit was kept, stream_options was kept
	previousKept, first := true, true    // the previous field was kept, no field was kept yet
	out.keep(0, r.fields[0].key)
	for i := range r.fields {
		f := &r.fields[i]
		name := string(f.name)
		rename := shape.Rename[name]
		drop := f.foreign || slices.Contains(shape.Drop, name)
		switch name {
		case "max_tokens", "max_completion_tokens":
			// If MaxTokensField is set, both token limits would be sent under that name, so only one of the two fields is kept.
			// It is the field that MaxTokens comes from or, if both fields are null, the first of them.
			if shape.MaxTokensField != "" {
				drop = drop || limitSent || (r.MaxTokens != 0 && i != r.limit)
				rename = shape.MaxTokensField
			}
			limitSent = limitSent || !drop
		case "stream_options":
			if shape.StreamUsage && r.Stream {
				drop, rename, usageSent = false, "", true
			}
		default:
			// The client may also have sent a field under the provider's name. That field is kept.
			drop = drop || (rename != "" && rename != name && r.Gives(rename))
		}
		if drop {
			out.Dropped = append(out.Dropped, name)
			previousKept = false
			continue
		}
		switch {
		case i > 0 && previousKept: // the client's comma and white space
			out.keep(r.fields[i-1].end, f.key)
		case !first:
			out.insert(",")
		}
		previousKept, first = true, false
		if rename != "" && rename != name {
			out.insertQuoted(rename)
			out.keep(f.keyEnd, f.value)
		} else {
			out.keep(f.key, f.value)
		}
		r.shapeValue(out, f, name, shape)
	}
	if r.Stream && shape.StreamUsage && !usageSent {
		if !first {
			out.insert(",")
		}
		out.insert(`"stream_options":` + usageOptions)
	}
	return out.end(r.fields[len(r.fields)-1].end)
}

// usageOptions is the value of stream_options if the client sent no options.
const usageOptions = `{"include_usage":true}`

// Gives reports whether the client's request has at least one of the fields in names, even with the value null. Gives
// must not be called after Release.
func (r *Request) Gives(names ...string) bool {
	return slices.ContainsFunc(r.fields, func(f field) bool { return slices.Contains(names, string(f.name)) })
}

// shapeValue writes the value of f, with the changes that shape describes. name is the name of the field f.
func (r *Request) shapeValue(out *Shaped, f *field, name string, shape *Shape) {
	switch {
	case name == "model" && shape.Model != r.Model:
		out.insertQuoted(shape.Model)
	case name == "tool_choice" && r.ToolChoiceRequired && shape.ToolChoiceRequired != "":
		out.insertQuoted(shape.ToolChoiceRequired)
	case name == "messages" && !shape.Developer:
		unwritten := f.value // offset of the first byte that is not written yet
		for _, role := range r.developers {
			out.keep(unwritten, role.from)
			out.insert(`"system"`)
			unwritten = role.to
		}
		out.keep(unwritten, f.end)
	case name == "stream_options" && r.Stream && shape.StreamUsage && !r.IncludeUsage:
		r.askUsage(out, f)
	default:
		out.keep(f.value, f.end)
	}
}

// askUsage writes the value of f, the client's stream_options, with include_usage set to true.
func (r *Request) askUsage(out *Shaped, f *field) {
	switch {
	case !r.usage.empty():
		out.keep(f.value, r.usage.from)
		out.insert("true")
		out.keep(r.usage.to, f.end)
	case r.options:
		out.keep(f.value, f.value+1)
		out.insert(`"include_usage":true,`)
		out.keep(f.value+1, f.end)
	default: // null or {}
		out.insert(usageOptions)
	}
}

// Sends reports whether the body that Shape returns for shape has a top-level field with the given name.
func (r *Request) Sends(shape *Shape, name string) bool {
	if name == "stream_options" && r.Stream && shape.StreamUsage {
		return true
	}
	for i := range r.fields {
		clientName := string(r.fields[i].name)
		if r.fields[i].foreign || slices.Contains(shape.Drop, clientName) {
			continue
		}
		sentName := clientName
		if renamed := shape.Rename[clientName]; renamed != "" {
			sentName = renamed
		}
		if shape.MaxTokensField != "" && (clientName == "max_tokens" || clientName == "max_completion_tokens") {
			sentName = shape.MaxTokensField
		}
		if sentName == name {
			return true
		}
	}
	return false
}

// span is the range of offsets from <= i < to in a body.
type span struct{ from, to int }

func (s span) empty() bool { return s.from == s.to }
