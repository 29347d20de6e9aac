package wire

import (
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// ServerTools returns the tools that a request asks its provider to run, each once. The names are the vendors' types
// ("web_search", "code_execution", "mcp") without dates and without "preview". Tools of unknown types are included,
// since only those that the client runs are known to be harmless. A model that searches by itself, without a tool in
// the request, is not detected. The body must be a JSON object.
func ServerTools(api API, body []byte) (tools []string, err error) {
	if api == APIConverse {
		return nil, nil // the reader refuses such tools
	}
	s := jsontext.NewScanner(body)
	f := serverTools{api: api}
	err = s.Object(func(key []byte) error {
		switch name, kind := string(key), s.Kind(); {
		case kind == jsontext.Null: // the same as an absent field
		case name == "tools" && kind == jsontext.Array:
			return f.tools(&s)
		case api == APIChat && (name == "web_search_options" || name == "search_parameters"):
			f.add("web_search")
		case api == APIChat && name == "plugins":
			f.add("plugins")
		case api == APIMessages && name == "mcp_servers":
			return f.mcpServers(&s, kind)
		case api == APIResponses && name == "input" && kind == jsontext.Array:
			return s.Array(func(int) error { return f.inputItem(&s) })
		}
		return s.Skip()
	})
	return f.names, err
}

// serverTools collects the names of the tools that a request of an API asks its provider to run.
type serverTools struct {
	api   API
	names []string
}

// add adds a name unless it was added before.
func (f *serverTools) add(name string) {
	if !slices.Contains(f.names, name) {
		f.names = append(f.names, name)
	}
}

// mcpServers scans the value of mcp_servers, which is of the given kind, and records the tool mcp. An empty list
// requests no tool.
func (f *serverTools) mcpServers(s *jsontext.Scanner, kind jsontext.Kind) error {
	if kind != jsontext.Array {
		return s.Skip()
	}
	return s.Array(func(int) error {
		f.add("mcp")
		return s.Skip()
	})
}

// inputItem scans an input item of the Responses API, which may contain tools.
func (f *serverTools) inputItem(s *jsontext.Scanner) error {
	if s.Kind() != jsontext.Object {
		return s.Skip()
	}
	return s.Object(func(key []byte) error {
		if kind := s.Kind(); string(key) == "tools" && kind == jsontext.Array {
			return f.tools(s)
		}
		return s.Skip()
	})
}

// tools scans a list of tools. Elements that are not objects are ignored.
func (f *serverTools) tools(s *jsontext.Scanner) error {
	return s.Array(func(int) error {
		if s.Kind() != jsontext.Object {
			return s.Skip()
		}
		return f.tool(s)
	})
}

// tool scans one tool. If the tool object has the field type several times each occurrence counts, because decoders
// differ in which occurrence they use.
func (f *serverTools) tool(s *jsontext.Scanner) error {
	var kinds []string   // values of type
	var byClient bool    // execution is "client"
	var inContainer bool // environment is a container of the provider
	err := s.Object(func(key []byte) error {
		kind := s.Kind()
		switch name := string(key); {
		case name == "type" && kind == jsontext.String:
			text, err := s.Unquoted()
			kinds = append(kinds, text)
			return err
		case name == "execution" && kind == jsontext.String:
			text, err := s.Unquoted()
			byClient = text == "client"
			return err
		case name == "environment" && kind == jsontext.Object:
			return s.Object(func(key []byte) error {
				if kind := s.Kind(); string(key) != "type" || kind != jsontext.String {
					return s.Skip()
				}
				text, err := s.Unquoted()
				inContainer = inContainer || strings.HasPrefix(text, "container")
				return err
			})
		}
		return s.Skip()
	})
	for _, kind := range kinds {
		switch {
		case f.clientRun(kind): // not a server tool
		case f.api == APIResponses && kind == "shell" && !inContainer: // the client's own shell
		case f.api == APIResponses && kind == "tool_search" && byClient: // a search that the client makes
		default:
			f.add(undated(kind))
		}
	}
	return err
}

// clientRun reports whether the client runs tools of the type kind itself.
func (f *serverTools) clientRun(kind string) bool {
	switch kind {
	case "", "custom":
		return true
	case "function":
		return f.api != APIMessages
	case "namespace", "local_shell", "apply_patch", "computer", "computer_use_preview":
		return f.api == APIResponses
	}
	if f.api != APIMessages {
		return false
	}
	for _, prefix := range [...]string{"bash_", "text_editor_", "memory_", "computer_"} {
		if strings.HasPrefix(kind, prefix) {
			return true
		}
	}
	return false
}

// undated returns a tool's type without the dates and "preview" at its end.
func undated(kind string) string {
	for {
		name, last, ok := cutLast(kind)
		if !ok || strings.Trim(last, "0123456789") != "" && last != "preview" {
			return kind
		}
		kind = name
	}
}

// cutLast splits a name at its last underscore. ok is false if the name has no underscore after its first byte; prefix
// is then the whole name.
func cutLast(name string) (prefix, suffix string, ok bool) {
	index := strings.LastIndexByte(name, '_')
	if index <= 0 {
		return name, "", false
	}
	return name[:index], name[index+1:], true
}
