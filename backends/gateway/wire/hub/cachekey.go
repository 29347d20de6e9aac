package hub

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
)

// CacheKey returns the prompt_cache_key, as JSON text, for a candidate that answers a messages client, whose format has
// no such parameter. With it, requests of one gateway key that begin alike are sent to where their beginning is cached
// (specification 4.5). It is empty if no key is to be sent.
func CacheKey(r *Request, t *Target) string {
	const param = "prompt_cache_key"
	if r.Format != Messages || t.KeyID == "" || slices.Contains(t.Drop, param) || r.Param(param) != "" {
		return ""
	}
	sum := sha256.New()
	add := func(text string) {
		_, _ = sum.Write([]byte(text)) // never fails
		_, _ = sum.Write([]byte{0})
	}
	add(t.KeyID)
	for i := range r.Messages {
		if r.Messages[i].Role != System {
			break
		}
		for j := range r.Messages[i].Parts {
			add(r.Messages[i].Parts[j].Text)
		}
	}
	add("")
	for i := range r.Tools {
		add(r.Tools[i].Name)
	}
	return `"` + hex.EncodeToString(sum.Sum(nil)[:16]) + `"`
}
