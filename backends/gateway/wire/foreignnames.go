package wire

import (
	"strings"

	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// API is a bit set of model APIs.
type API uint8

// The model APIs.
const (
	APIChat API = 1 << iota
	APIResponses
	APIMessages
	APIEmbeddings
	APIConverse

	anyAPI = APIChat | APIResponses | APIMessages | APIEmbeddings | APIConverse
)

// maxFolded is the largest number of letters and digits in the name of a guarded JSON field (see Foreign).
const maxFolded = 24

// Foreign reports whether a top-level field of a request must not reach an upstream of the given API. The upstream
// might mistake such a field for one by which the request was routed, limited or priced (a guarded field). name is
// the unescaped name. A foreign field is one of these:
//
//   - Another spelling of a guarded field. Decoders that ignore case take "Model" for "model" (Go's encoding/json,
//     also with the long s and the Kelvin sign), and others take "maxTokens" for "max_tokens" (JSON of protocol
//     buffers). If they read two fields as the same one, the last one counts.
//   - The same limit or prompt under the name that it has in another API.
//   - A field that makes an aggregator or a proxy behind the gateway use another model, provider, address or key.
//
// Fields that the gateway does not interpret are never foreign, whatever their spelling.
func Foreign(api API, name []byte) bool {
	var buffer [maxFolded]byte
	letters, ok := foldName(buffer[:0], name)
	if !ok {
		return false
	}
	member, known := guarded[string(letters)]
	return known && (member.apis&api == 0 || string(name) != member.name)
}

// Lookalike reports whether name is another spelling of member, the name of a JSON field. Foreign describes which
// spellings count.
func Lookalike(name []byte, member string) bool {
	var nameBuffer, memberBuffer [maxFolded]byte
	letters, ok := foldName(nameBuffer[:0], name)
	if !ok || string(name) == member {
		return false
	}
	memberLetters, _ := foldName(memberBuffer[:0], []byte(member))
	return string(letters) == string(memberLetters)
}

// guardedMember is the name of a guarded JSON field (see Foreign) with the APIs that have the field.
type guardedMember struct {
	name string
	apis API
}

// guarded holds the guarded fields. Its keys are their names, reduced to lower-case letters and digits.
var guarded = func() map[string]guardedMember {
	members := make(map[string]guardedMember)
	for name, apis := range map[string]API{
		"model": anyAPI, "stream": anyAPI, "tools": anyAPI, "tool_choice": anyAPI, "service_tier": anyAPI,
		"messages": APIChat | APIMessages, "max_tokens": APIChat | APIMessages, "thinking": APIChat | APIMessages,
		"stream_options": APIChat | APIResponses, "store": APIChat | APIResponses,
		"reasoning": APIChat | APIResponses, // some providers accept it in chat
		"input":     APIResponses | APIEmbeddings,
		"prompt":    APIResponses, // the Responses reader rejects it
		"n":         APIChat, "max_completion_tokens": APIChat, "functions": APIChat, "function_call": APIChat,
		"response_format": APIChat, "reasoning_effort": APIChat, "web_search_options": APIChat,
		"extra_body":   APIChat, // see ForeignExtra
		"instructions": APIResponses, "max_output_tokens": APIResponses,
		"system": APIMessages, "output_config": APIMessages, "speed": APIMessages, "inference_geo": APIMessages,
	} {
		members[strings.ReplaceAll(name, "_", "")] = guardedMember{name, apis}
	}
	for _, letters := range [...]string{
		// Limits and counts that belong to none of these APIs.
		"maxtokenstosample", "maxnewtokens", "bestof",
		// Fields that select models and providers at OpenRouter, LiteLLM and gateways of hosting companies.
		"models", "modelid", "modellist", "modelgroup", "engine", "deployment", "deploymentid", "preset", "route", "router",
		"provider", "providers", "provideroptions", "customllmprovider", "plugins", "transforms",
		"fallback", "fallbacks", "contextwindowfallbacks", "contentpolicyfallbacks",
		// Fields with addresses and keys.
		"apibase", "baseurl", "apikey", "apiversion", "userconfig", "extraheaders",
	} {
		members[letters] = guardedMember{}
	}
	return members
}()

// ForeignExtra scans the value of a chat client's extra_body. It reports whether extra_body must not be sent to any
// upstream, since some proxies treat its fields as fields of the request. Only the field google, for Gemini's chat
// API, is harmless.
func ForeignExtra(s *jsontext.Scanner) (foreign bool, err error) {
	if s.Kind() != jsontext.Object {
		return true, s.Skip()
	}
	err = s.Object(func(key []byte) error {
		foreign = foreign || string(key) != "google"
		return s.Skip()
	})
	return foreign, err
}

// foldName appends the letters and digits of name in lower case to dst. Characters that some decoders take for ASCII
// letters are appended as these letters. ok is false if no decoder could confuse name with the name of a guarded
// field.
func foldName(dst, name []byte) (letters []byte, ok bool) {
	for i := 0; i < len(name); i++ {
		c := name[i]
		switch {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9':
		case 'A' <= c && c <= 'Z':
			c += 'a' - 'A'
		case c < 0x80: // "_", "-", and the bytes at which some decoders end a name
			continue
		default:
			letter, size := foldCharacter(name[i:])
			if size == 0 {
				return nil, false
			}
			c = letter
			i += size - 1
		}
		if len(dst) == maxFolded {
			return nil, false
		}
		dst = append(dst, c)
	}
	return dst, true
}

// foldCharacter returns the ASCII letter for which a decoder may take the first character of text, and the character's
// length in bytes. The size is 0 if no decoder takes the character for an ASCII letter.
func foldCharacter(text []byte) (letter byte, size int) {
	for _, fold := range [...]struct {
		character string
		letter    byte
	}{{"\u017f", 's'}, {"\u212a", 'k'}, {"\u0130", 'i'}, {"\u0131", 'i'}} {
		if n := len(fold.character); len(text) >= n && string(text[:n]) == fold.character {
			return fold.letter, n
		}
	}
	return 0, 0
}
