package wire

import (
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// API names one of the model APIs by a bit.
type API uint8

// The model APIs.
const (
	APIChat API = 1 << iota
	APIResponses
	APIMessages
	APIEmbeddings

	anyAPI = APIChat | APIResponses | APIMessages | APIEmbeddings
)

// maxSpelled is how many letters and digits a guarded member has at most.
const maxSpelled = 24

// Foreign reports whether a member of a request's top level (its name unescaped)
// must not reach an upstream of that API, since it could stand there for one by
// which the request was routed, limited or priced:
//
//   - another spelling of such a member. Decoders that ignore case take "Model" for
//     "model" (Go's encoding/json, with the long s and the Kelvin sign besides), and
//     others "maxTokens" for "max_tokens" (JSON of protocol buffers); of two that
//     they take for one, the last counts.
//   - the same limit or prompt under the name of another API;
//   - what tells an aggregator or a proxy behind the gateway which model, provider,
//     address or key to use instead.
//
// Members that nothing here depends on are none of its business, however they are
// spelled.
func Foreign(api API, name []byte) bool {
	var room [maxSpelled]byte
	letters, ok := spelled(room[:0], name)
	if !ok {
		return false
	}
	own, known := guarded(letters)
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

// guardedMember is how a member is spelled, and by which APIs.
type guardedMember struct {
	name string
	of   API
}

// guarded finds a member by its letters and digits alone.
func guarded(letters []byte) (guardedMember, bool) {
	switch string(letters) {
	case "model":
		return guardedMember{"model", anyAPI}, true
	case "messages":
		return guardedMember{"messages", APIChat | APIMessages}, true
	case "input":
		return guardedMember{"input", APIResponses | APIEmbeddings}, true
	case "instructions":
		return guardedMember{"instructions", APIResponses}, true
	case "system":
		return guardedMember{"system", APIMessages}, true
	case "prompt": // which the Responses API has too, and the gateway refuses
		return guardedMember{"prompt", APIResponses}, true
	case "stream":
		return guardedMember{"stream", anyAPI}, true
	case "streamoptions":
		return guardedMember{"stream_options", APIChat | APIResponses}, true
	case "maxtokens":
		return guardedMember{"max_tokens", APIChat | APIMessages}, true
	case "maxcompletiontokens":
		return guardedMember{"max_completion_tokens", APIChat}, true
	case "maxoutputtokens":
		return guardedMember{"max_output_tokens", APIResponses}, true
	case "n":
		return guardedMember{"n", APIChat}, true
	case "tools":
		return guardedMember{"tools", anyAPI}, true
	case "toolchoice":
		return guardedMember{"tool_choice", anyAPI}, true
	case "functions":
		return guardedMember{"functions", APIChat}, true
	case "functioncall":
		return guardedMember{"function_call", APIChat}, true
	case "responseformat":
		return guardedMember{"response_format", APIChat}, true
	case "reasoningeffort":
		return guardedMember{"reasoning_effort", APIChat}, true
	case "reasoning": // chat has it at some providers
		return guardedMember{"reasoning", APIChat | APIResponses}, true
	case "thinking":
		return guardedMember{"thinking", APIChat | APIMessages}, true
	case "outputconfig":
		return guardedMember{"output_config", APIMessages}, true
	case "servicetier":
		return guardedMember{"service_tier", anyAPI}, true
	case "speed":
		return guardedMember{"speed", APIMessages}, true
	case "inferencegeo":
		return guardedMember{"inference_geo", APIMessages}, true
	case "websearchoptions":
		return guardedMember{"web_search_options", APIChat}, true
	case "store":
		return guardedMember{"store", APIChat | APIResponses}, true
	// Limits and counts that none of the three has.
	case "maxtokenstosample", "maxnewtokens", "bestof",
		// Other models and providers: OpenRouter, LiteLLM, gateways of hosters.
		"models", "modelid", "modellist", "modelgroup", "engine", "deployment", "deploymentid", "preset", "route", "router",
		"provider", "providers", "provideroptions", "customllmprovider", "plugins", "transforms",
		"fallback", "fallbacks", "contextwindowfallbacks", "contentpolicyfallbacks",
		// Other addresses and keys.
		"apibase", "baseurl", "apikey", "apiversion", "userconfig", "extraheaders":
		return guardedMember{}, true
	case "extrabody": // see ForeignExtra
		return guardedMember{"extra_body", APIChat}, true
	}
	return guardedMember{}, false
}

// ForeignExtra passes the value of a chat client's extra_body and reports whether no
// upstream may get it: there are proxies that take its members for more of the request.
// Those of Gemini alone, which its chat API has there, may pass.
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

// spelled appends the letters and digits of a name in lower case, those that some
// decoders take for ASCII letters included; ok is false for a name that can be taken for
// no member at all.
func spelled(dst, name []byte) (letters []byte, ok bool) {
	for i := 0; i < len(name); i++ {
		c := name[i]
		switch {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9':
		case 'A' <= c && c <= 'Z':
			c += 'a' - 'A'
		case c < 0x80: // "_" and "-", and the bytes at which some decoders end a name
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

// folded is the letter that a decoder may take the first character for; size 0: none.
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
