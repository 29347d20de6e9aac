package hub

import "strings"

// maxKept is how much text a request may keep for its answer once it lets go of the rest,
// in bytes.
const maxKept = 64 << 10

// LetGo makes a request let go of the client's body once its answer has begun, which may
// take long: what writers of answers ask for is kept as copies, and the tokens of the
// prompt are counted before. A request that would keep much stays as it is; then it is
// false.
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
