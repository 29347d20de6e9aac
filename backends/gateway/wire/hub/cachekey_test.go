package hub

import "testing"

func TestCacheKey(t *testing.T) {
	t.Parallel()
	ask := func(change func(*Request, *Target)) string {
		r := &Request{
			Format:   Messages,
			Messages: []Message{{Role: System, Parts: []Part{{Kind: PartText, Text: "Be brief."}}}, {Role: User, Parts: []Part{{Kind: PartText, Text: "Hi"}}}},
			Tools:    []Tool{{Name: "Read"}, {Name: "Write"}},
		}
		target := &Target{KeyID: "gk_1"}
		if change != nil {
			change(r, target)
		}
		return CacheKey(r, target)
	}
	key := ask(nil)
	if len(key) != 34 || key != ask(nil) {
		t.Fatalf("key %s", key)
	}
	for name, test := range map[string]struct {
		change func(*Request, *Target)
		same   bool
	}{
		"a later turn":       {func(r *Request, _ *Target) { r.Messages = append(r.Messages, Message{Role: Assistant}) }, true},
		"another question":   {func(r *Request, _ *Target) { r.Messages[1].Parts[0].Text = "Bye" }, true},
		"other instructions": {func(r *Request, _ *Target) { r.Messages[0].Parts[0].Text = "Be long." }, false},
		"other tools":        {func(r *Request, _ *Target) { r.Tools = r.Tools[:1] }, false},
		"names run together": {func(r *Request, _ *Target) { r.Tools = []Tool{{Name: "ReadWrite"}} }, false},
		"another key":        {func(_ *Request, t *Target) { t.KeyID = "gk_2" }, false},
	} {
		got := ask(test.change)
		if (got == key) != test.same || got == "" {
			t.Errorf("%s: key %s, was %s", name, got, key)
		}
	}
	for name, change := range map[string]func(*Request, *Target){
		"chat client":    func(r *Request, _ *Target) { r.Format = Chat },
		"no key":         func(_ *Request, t *Target) { t.KeyID = "" },
		"not taken":      func(_ *Request, t *Target) { t.Drop = []string{"prompt_cache_key"} },
		"client has one": func(r *Request, _ *Target) { r.Params = []Param{{"prompt_cache_key", `"mine"`}} },
	} {
		if got := ask(change); got != "" {
			t.Errorf("%s: key %s", name, got)
		}
	}
}
