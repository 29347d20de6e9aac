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

// maxSpelled is the largest number of letters and digits in the name of a guarded member.
const maxSpelled = 24

// Foreign reports whether a member of a request's top level, with its name unescaped, must not reach an upstream of the
// given API. Such a member might be taken there for one by which the request was routed, limited or priced. It is one
// of these:
//
//   - Another spelling of such a member. Decoders that ignore case take "Model" for "model" (Go's encoding/json, also
//     with the long s and the Kelvin sign), and others take "maxTokens" for "max_tokens" (JSON of protocol buffers).
//     If they take two members for one, the last one counts.
//   - The same limit or prompt under the name that it has in another API.
//   - A member that tells an aggregator or a proxy behind the gateway to use another model, provider, address or key.
//
// Members on which nothing here depends are not foreign, however they are spelled.
func Foreign(api API, name []byte) bool {
	var room [maxSpelled]byte
	letters, ok := spelled(room[:0], name)
	if !ok {
		return false
	}
	own, known := guarded[string(letters)]
	return known && (own.of&api == 0 || string(name) != own.name)
}

// Lookalike reports whether a name is another spelling of a member, see Foreign.
func Lookalike(name []byte, member string) bool {
	var room, own [maxSpelled]byte
	letters, ok := spelled(room[:0], name)
	if !ok || string(name) == member {
		return false
	}
	want, _ := spelled(own[:0], []byte(member))
	return string(letters) == string(want)
}

// guardedMember is the spelling of a member and the APIs that have it.
type guardedMember struct {
	name string
	of   API
}

// guarded holds the guarded members by their letters and digits.
var guarded = func() map[string]guardedMember {
	members := make(map[string]guardedMember)
	for name, of := range map[string]API{
		"model": anyAPI, "stream": anyAPI, "tools": anyAPI, "tool_choice": anyAPI, "service_tier": anyAPI,
		"messages": APIChat | APIMessages, "max_tokens": APIChat | APIMessages, "thinking": APIChat | APIMessages,
		"stream_options": APIChat | APIResponses, "store": APIChat | APIResponses,
		"reasoning": APIChat | APIResponses, // some providers have it in chat
		"input":     APIResponses | APIEmbeddings,
		"prompt":    APIResponses, // the gateway refuses it there
		"n":         APIChat, "max_completion_tokens": APIChat, "functions": APIChat, "function_call": APIChat,
		"response_format": APIChat, "reasoning_effort": APIChat, "web_search_options": APIChat,
		"extra_body":   APIChat, // see ForeignExtra
		"instructions": APIResponses, "max_output_tokens": APIResponses,
		"system": APIMessages, "output_config": APIMessages, "speed": APIMessages, "inference_geo": APIMessages,
	} {
		members[strings.ReplaceAll(name, "_", "")] = guardedMember{name, of}
	}
	for _, letters := range [...]string{
		// Limits and counts that none of the APIs has.
		"maxtokenstosample", "maxnewtokens", "bestof",
		// Other models and providers: OpenRouter, LiteLLM, gateways of hosters.
		"models", "modelid", "modellist", "modelgroup", "engine", "deployment", "deploymentid", "preset", "route", "router",
		"provider", "providers", "provideroptions", "customllmprovider", "plugins", "transforms",
		"fallback", "fallbacks", "contextwindowfallbacks", "contentpolicyfallbacks",
		// Other addresses and keys.
		"apibase", "baseurl", "apikey", "apiversion", "userconfig", "extraheaders",
	} {
		members[letters] = guardedMember{}
	}
	return members
}()

// ForeignExtra scans the value of a chat client's extra_body and reports whether no upstream may get it, since some
// proxies treat its members as members of the request. Only the member of Gemini, whose chat API uses extra_body, is
// harmless.
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

// spelled appends the letters and digits of a name in lower case, including characters that some decoders take for
// ASCII letters. ok is false for a name that cannot be taken for any guarded member.
func spelled(dst, name []byte) (letters []byte, ok bool) {
	for i := 0; i < len(name); i++ {
		c := name[i]
		switch {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9':
		case 'A' <= c && c <= 'Z':
			c += 'a' - 'A'
		case c < 0x80: // "_", "-", and the bytes at which some decoders end a name
			continue
		default:
			letter, size := folded(name[i:])
			if size == 0 {
				return nil, false
			}
			c = letter
			i += size - 1
		}
		if len(dst) == maxSpelled {
			return nil, false
		}
		dst = append(dst, c)
	}
	return dst, true
}

// folded returns the letter that a decoder may take the first character for. The size is 0 if there is none.
func folded(text []byte) (letter byte, size int) {
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
