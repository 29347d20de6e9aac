package hub

import "strings"

// maxKept is the number of bytes of text that a request may keep for its answer when it releases the rest.
const maxKept = 64 << 10

// LetGo makes a request release the client's body once its answer has begun, since the answer may take long. What
// writers of answers need is copied, and the tokens of the prompt are counted first. A request that would have to copy
// more than maxKept stays unchanged, and LetGo returns false.
func (r *Request) LetGo() bool {
	kept := Request{
		Format: r.Format, Model: r.Model, Stream: r.Stream, IncludeUsage: r.IncludeUsage, Answer: r.Answer,
		Tools: make([]Tool, len(r.Tools)), Stop: make([]string, len(r.Stop)),
	}
	texts := append(make([]*string, 0, 1+3*len(r.Tools)+len(r.Stop)+len(r.Answer.Echo)), &kept.Model)
	for i := range r.Tools {
		t := &kept.Tools[i]
		*t = Tool{Name: r.Tools[i].Name, Kind: r.Tools[i].Kind, Namespace: r.Tools[i].Namespace, Own: r.Tools[i].Own}
		texts = append(texts, &t.Name, &t.Namespace, &t.Own)
	}
	for i := range r.Stop {
		kept.Stop[i] = r.Stop[i]
		texts = append(texts, &kept.Stop[i])
	}
	kept.Answer.Echo = append([]Param(nil), r.Answer.Echo...)
	for i := range kept.Answer.Echo {
		texts = append(texts, &kept.Answer.Echo[i].Value)
	}
	size := 0
	for _, text := range texts {
		size += len(*text)
	}
	if size > maxKept {
		return false
	}
	for _, text := range texts {
		*text = strings.Clone(*text)
	}
	kept.counted = CountTokens(r)
	*r = kept
	return true
}
