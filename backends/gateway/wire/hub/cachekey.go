package hub

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
)

// CacheKey returns the prompt_cache_key, as JSON text, for a request of a messages client, whose format has no such
// parameter. It is a hash of the gateway key, the system text and the tool names. Providers send requests with the same
// key to the same cache. CacheKey returns an empty string for requests of other formats, and if the parameter must not
// be sent.
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
	add("") // separates the system text from the tools
	for i := range r.Tools {
		add(r.Tools[i].Name)
	}
	return `"` + hex.EncodeToString(sum.Sum(nil)[:16]) + `"`
}
