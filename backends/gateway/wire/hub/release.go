package hub

import "strings"

// maxRetained limits the bytes of text that a request may copy when it releases its body.
const maxRetained = 64 << 10

// ReleaseBody removes all references to the client's body from the request once its answer has begun, since the answer
// may take long. It copies the values that writers of answers need, and counts the prompt tokens first. If the copies
// would exceed maxRetained bytes, it returns false and changes nothing.
func (r *Request) ReleaseBody() bool {
	retained := Request{
		Format: r.Format, Model: r.Model, Stream: r.Stream, IncludeUsage: r.IncludeUsage, Answer: r.Answer,
		Tools: make([]Tool, len(r.Tools)), Stop: make([]string, len(r.Stop)),
	}
	// texts points to the retained strings that are parts of the body. The strings are copied at the end, once their size
	// is known.
	texts := append(make([]*string, 0, 1+3*len(r.Tools)+len(r.Stop)+len(r.Answer.Echo)), &retained.Model)
	for i := range r.Tools {
		t := &retained.Tools[i]
		src := &r.Tools[i]
		*t = Tool{Name: src.Name, Kind: src.Kind, Namespace: src.Namespace, ClientName: src.ClientName}
		texts = append(texts, &t.Name, &t.Namespace, &t.ClientName)
	}
	for i := range r.Stop {
		retained.Stop[i] = r.Stop[i]
		texts = append(texts, &retained.Stop[i])
	}
	retained.Answer.Echo = append([]Param(nil), r.Answer.Echo...)
	for i := range retained.Answer.Echo {
		texts = append(texts, &retained.Answer.Echo[i].Value)
	}
	size := 0
	for _, text := range texts {
		size += len(*text)
	}
	if size > maxRetained {
		return false
	}
	for _, text := range texts {
		*text = strings.Clone(*text)
	}
	retained.counted = CountTokens(r)
	*r = retained
	return true
}
