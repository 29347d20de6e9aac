package chat

import (
	"bytes"
	"slices"

	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// details collects the entries of reasoning_details, OpenRouter's form of reasoning state. A stream sends an entry in
// fragments: consecutive entries with the same type and index are fragments of one entry.
type details struct {
	list     []detail
	size     int  // bytes of list as JSON text
	overflow bool // some entries were too large, so all are discarded: upstreams refuse an incomplete list
}

// detail is an entry of reasoning_details, joined from its fragments.
type detail struct {
	kind, index string   // values of type and index as JSON text
	members     []member // all fields except the text
	textName    string   // name of the field with the text (text or summary); empty if there is none
	text        []byte   // the text, which grows with each fragment; still escaped
}

// member is a field of an entry. value is JSON text.
type member struct{ name, value string }

// maxDetail limits the number of fields of an entry. Known entries have six fields.
const maxDetail = 32

// add adds the entries of array, which is the value of reasoning_details in one chunk and must be valid JSON. If the
// entries become too large, all entries are discarded and later ones are ignored.
func (d *details) add(array []byte) {
	s := jsontext.NewScanner(array)
	err := s.Array(func(int) error {
		if d.overflow || s.Kind() != jsontext.Object {
			return s.Skip()
		}
		var entry detail
		err := s.Object(func(key []byte) error {
			kind, start := s.Kind(), s.Offset()
			err := s.Skip()
			value := array[start:s.Offset()]
			name := string(key)
			switch {
			case err != nil: // ends the scan
			case len(entry.members) == maxDetail:
				d.overflow = true
			case kind == jsontext.String && (name == "text" || name == "summary") && entry.textName == "":
				entry.textName, entry.text = name, bytes.Clone(value[1:len(value)-1]) // without the quotes
			default:
				entry.members = append(entry.members, member{name, string(value)})
			}
			return err
		})
		entry.kind, entry.index = entry.member("type"), entry.member("index")
		d.join(&entry)
		return err
	})
	if d.size > maxState || err != nil {
		d.overflow = true
	}
	if d.overflow {
		d.list = nil
	}
}

// join adds an entry to the list, or merges it into the last entry of the list if it is a fragment of that entry.
func (d *details) join(entry *detail) {
	d.size += len(entry.text)
	if n := len(d.list); n > 0 && d.list[n-1].fits(entry) {
		d.size += d.list[n-1].merge(entry)
		return
	}
	for _, m := range entry.members {
		d.size += len(m.name) + len(m.value) + len(`"":,`)
	}
	d.size += len(`{"summary":""},`)
	d.list = append(d.list, *entry)
}

// member returns the JSON text of the value of the field with the given name, or an empty string if there is no such
// field. It does not find the field with the readable text (text or summary), which is stored elsewhere.
func (d *detail) member(name string) string {
	for _, m := range d.members {
		if m.name == name {
			return m.value
		}
	}
	return ""
}

// fits reports whether entry continues d. Both must have the same type and index. In addition, entry must either have
// more text, or have no text while d has no signature yet. The signature comes in a last fragment without text.
func (d *detail) fits(entry *detail) bool {
	if d.kind != entry.kind || d.index != entry.index || d.textName == "" {
		return false
	}
	if entry.textName == "" {
		signature := d.member("signature")
		return signature == "" || signature == "null"
	}
	return d.textName == entry.textName
}

// merge appends the text of entry, a later fragment of d, to the text of d. It also adds the fields that d lacks,
// such as the signature, which comes last. grown is the number of bytes by which the fields other than the text grew.
func (d *detail) merge(entry *detail) (grown int) {
	d.text = append(d.text, entry.text...)
	for _, m := range entry.members {
		i := slices.IndexFunc(d.members, func(known member) bool { return known.name == m.name })
		switch {
		case i < 0:
			grown += len(m.name) + len(m.value) + len(`"":,`)
			d.members = append(d.members, m)
		case d.members[i].value == "null":
			grown += len(m.value)
			d.members[i].value = m.value
		}
	}
	return grown
}

// take returns the collected entries as the text of a JSON array, and removes them from d. Without entries it returns
// an empty string.
func (d *details) take() string {
	if len(d.list) == 0 {
		return ""
	}
	out := make([]byte, 0, d.size+2)
	out = append(out, '[')
	for i := range d.list {
		if i > 0 {
			out = append(out, ',')
		}
		out = d.list[i].append(out)
	}
	d.list, d.size = nil, 0
	return string(append(out, ']'))
}

// append appends the entry as a JSON object.
func (d *detail) append(dst []byte) []byte {
	dst = append(dst, '{')
	for i, m := range d.members {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(jsontext.AppendQuoted(dst, m.name), ':')
		dst = append(dst, m.value...)
	}
	if d.textName != "" {
		if len(d.members) > 0 {
			dst = append(dst, ',')
		}
		dst = append(jsontext.AppendQuoted(dst, d.textName), ':', '"')
		dst = append(append(dst, d.text...), '"')
	}
	return append(dst, '}')
}

// eachDetail calls fn for each entry in array that has a readable text. array is a reasoning_details array and must
// be valid JSON. The argument of fn is the value of the field text or summary, still escaped.
func eachDetail(array []byte, fn func([]byte)) {
	s := jsontext.NewScanner(array)
	_ = s.Array(func(int) error {
		if s.Kind() != jsontext.Object {
			return s.Skip()
		}
		return s.Object(func(key []byte) error {
			if s.Kind() != jsontext.String || (string(key) != "text" && string(key) != "summary") {
				return s.Skip()
			}
			raw, _, err := s.Text()
			fn(raw)
			return err
		})
	})
}
