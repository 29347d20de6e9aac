package keychain

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

// NoTools, as the only name in a list of allowed tools, forbids all tools.
const NoTools = "none"

// maxAllowedTools is the largest number of names in a list of allowed tools.
const maxAllowedTools = 50

// checkAllowedTools returns an error unless the list is nil, consists of names such as web_search, or is NoTools alone.
func checkAllowedTools(tools []string) error {
	if tools != nil && len(tools) == 0 {
		return invalid("allowed_tools",
			"allowed_tools must have at least one name: %q for none, or leave it out to allow all", NoTools)
	}
	if len(tools) > maxAllowedTools {
		return invalid("allowed_tools", "allowed_tools must have at most %d names", maxAllowedTools)
	}
	for i, tool := range tools {
		param := fmt.Sprintf("allowed_tools[%d]", i)
		if err := checkText(param, tool, 1, 100); err != nil {
			return err
		}
		if tool == NoTools && len(tools) > 1 {
			return invalid(param, "%q must be the only name in allowed_tools", NoTools)
		}
	}
	return nil
}

// RestrictsTools reports whether a limit of the key forbids some of the tools that providers run.
func (id *Identity) RestrictsTools() bool {
	restricts := func(i Imposed) bool { return i.AllowedTools != nil }
	return id.AllowedTools != nil || slices.ContainsFunc(id.Imposed, restricts)
}

// AdmitTools returns an error with 403 if a limit of the key forbids one of the tools that a request wants its provider
// to run. The tools have the names that wire.ServerTools returns.
func (id *Identity) AdmitTools(tools []string) error {
	for _, tool := range tools {
		list := "" // the list that forbids the tool, in words for the error
		if id.AllowedTools != nil && !slices.Contains(id.AllowedTools, tool) {
			list = "the key's allowed_tools"
		}
		for i := range id.Imposed {
			if l := &id.Imposed[i]; l.AllowedTools != nil && !slices.Contains(l.AllowedTools, tool) {
				list = "the tools that " + l.allowPhrase() + " " + beneficiaryPhrases[l.On]
			}
		}
		if list != "" {
			return apierror.New(http.StatusForbidden, "permission_denied",
				"the request asks the provider to run the tool %.100q, which is not among %s: leave the tool out", tool, list)
		}
	}
	return nil
}
