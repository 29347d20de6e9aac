package native

import (
	"slices"
)

// Shape is the set of changes that a candidate needs in a request.
type Shape struct {
	// Model is the name of the model at the upstream.
	Model string
	// Drop names fields that are left out.
	Drop []string
	// Rename maps field names to the names that the upstream uses.
	Rename map[string]string
	// MaxTokensField is the name under which the token limit is sent. If it is empty the client's name is kept.
	MaxTokensField string
	// ToolChoiceRequired replaces the tool_choice "required". Empty means unchanged.
	ToolChoiceRequired string
	// Developer is set if the role "developer" is kept. Otherwise "system" replaces it.
	Developer bool
	// StreamUsage is set if the usage of a stream is requested even if the client did not request it.
	StreamUsage bool
}

// Shape returns the body for a candidate: the client's bytes in the client's order, with the changes of shape.
func (r *Request) Shape(shape *Shape) *Shaped {
	out := newShaped(r.Body, r.Lease)
	if len(r.fields) == 0 {
		return out.end(0)
	}
	limitSent, usageSent, previous, first := false, false, true, true
	out.keep(0, r.fields[0].key)
	for i := range r.fields {
		f := &r.fields[i]
		name := string(f.name)
		rename := shape.Rename[name]
		drop := f.foreign || slices.Contains(shape.Drop, name)
		switch name {
		case "max_tokens", "max_completion_tokens":
			// With MaxTokensField the two limits would be a duplicate member. The limit that MaxTokens holds is kept
			// or, if both are null, the first one.
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
			// The client may have used the provider's name as well.
			drop = drop || (rename != "" && rename != name && r.has(rename))
		}
		if drop {
			out.Dropped = append(out.Dropped, name)
			previous = false
			continue
		}
		switch {
		case i > 0 && previous:
			out.keep(r.fields[i-1].end, f.key)
		case !first:
			out.insert(",")
		}
		previous, first = true, false
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

// usageOptions is the value of stream_options for a client that sent none.
const usageOptions = `{"include_usage":true}`

// Gives reports whether the client's request has one of these fields, even with the value null. It must not be called
// after Release.
func (r *Request) Gives(names ...string) bool {
	return slices.ContainsFunc(r.fields, func(f field) bool { return slices.Contains(names, string(f.name)) })
}

func (r *Request) has(name string) bool {
	return slices.ContainsFunc(r.fields, func(f field) bool { return string(f.name) == name })
}

func (r *Request) shapeValue(out *Shaped, f *field, name string, shape *Shape) {
	switch {
	case name == "model" && shape.Model != r.Model:
		out.insertQuoted(shape.Model)
	case name == "tool_choice" && r.ToolChoiceRequired && shape.ToolChoiceRequired != "":
		out.insertQuoted(shape.ToolChoiceRequired)
	case name == "messages" && !shape.Developer:
		from := f.value
		for _, role := range r.developers {
			out.keep(from, role.from)
			out.insert(`"system"`)
			from = role.to
		}
		out.keep(from, f.end)
	case name == "stream_options" && r.Stream && shape.StreamUsage && !r.IncludeUsage:
		r.askUsage(out, f)
	default:
		out.keep(f.value, f.end)
	}
}

// askUsage writes the client's stream_options with include_usage changed to true.
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

// Sends reports whether the body that Shape returns has a field of that name.
func (r *Request) Sends(shape *Shape, name string) bool {
	if name == "stream_options" && r.Stream && shape.StreamUsage {
		return true
	}
	for i := range r.fields {
		clientName := string(r.fields[i].name)
		if r.fields[i].foreign || slices.Contains(shape.Drop, clientName) {
			continue
		}
		sent := clientName
		if to := shape.Rename[clientName]; to != "" {
			sent = to
		}
		if shape.MaxTokensField != "" && (clientName == "max_tokens" || clientName == "max_completion_tokens") {
			sent = shape.MaxTokensField
		}
		if sent == name {
			return true
		}
	}
	return false
}

// span is a range of offsets in a body.
type span struct{ from, to int }

func (s span) empty() bool { return s.from == s.to }
