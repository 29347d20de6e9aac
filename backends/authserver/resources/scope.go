package resources

import (
	"context"
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
)

// OfflineAccess is a scope that is accepted and removed, since refresh tokens do not depend on it.
const OfflineAccess = "offline_access"

const (
	maxScope      = 8192 // bytes
	maxScopeWords = 200
)

// Word reports whether a text is a scope token (RFC 6749 section 3.3).
func Word(text string) bool {
	if text == "" || len(text) > 255 {
		return false
	}
	for i := range len(text) {
		if b := text[i]; b <= ' ' || b >= 0x7f || b == '"' || b == '\\' {
			return false
		}
	}
	return true
}

// ParseScope returns the scope tokens in a text, without duplicates and without offline_access. The error is
// invalid_scope.
func ParseScope(text string) ([]string, error) {
	if text == "" {
		return nil, nil
	}
	if len(text) > maxScope {
		return nil, kernel.Refuse(kernel.InvalidScope, "the scope is longer than %d characters", maxScope)
	}
	words := make([]string, 0, 8)
	for word := range strings.SplitSeq(text, " ") {
		switch {
		case word == "" || word == OfflineAccess || slices.Contains(words, word):
		case !Word(word):
			return nil, kernel.Refuse(kernel.InvalidScope, "the scope has characters that a scope must not have")
		case len(words) == maxScopeWords:
			return nil, kernel.Refuse(kernel.InvalidScope, "the scope has more than %d words", maxScopeWords)
		default:
			words = append(words, word)
		}
	}
	return words, nil
}

// Scope returns the scope of an authorization request. The parameter requested is the scope in the request. The target
// resources must declare each scope in it; without targets, any resource may. The ceiling is the maximum scope of the
// client; an empty ceiling means no limit. The error is invalid_scope.
func (cat *Catalog) Scope(
	ctx context.Context,
	ceiling []string,
	targets []*Resource,
	requested string,
) ([]string, error) {
	words, err := ParseScope(requested)
	if err != nil {
		return nil, err
	}
	declared, err := cat.declaredBy(ctx, targets)
	if err != nil {
		return nil, err
	}
	if len(words) == 0 {
		if cat.options.RequireScope {
			return nil, kernel.Refuse(kernel.InvalidScope, "scope is required")
		}
		return Cut(declared, ceiling), nil
	}
	if err := cat.checkDeclared(words, declared); err != nil {
		return nil, err
	}
	return words, Within(words, ceiling)
}

// Declared returns invalid_scope if a scope is not declared by any of the target resources. Without targets, any
// resource may declare it.
func (cat *Catalog) Declared(ctx context.Context, targets []*Resource, words []string) error {
	declared, err := cat.declaredBy(ctx, targets)
	if err != nil {
		return err
	}
	return cat.checkDeclared(words, declared)
}

// checkDeclared returns invalid_scope if a scope is neither declared nor one of this server's own scopes.
func (cat *Catalog) checkDeclared(scopes, declared []string) error {
	for _, scope := range scopes {
		if !slices.Contains(declared, scope) && !slices.Contains(cat.options.Own, scope) {
			return kernel.Refuse(kernel.InvalidScope, "none of the requested resources declares the scope %s", scope)
		}
	}
	return nil
}

// declaredBy returns the scopes that the target resources declare. Without targets, it returns those of all mint
// resources.
func (cat *Catalog) declaredBy(ctx context.Context, targets []*Resource) ([]string, error) {
	if len(targets) == 0 {
		return cat.Scopes(ctx)
	}
	if len(targets) == 1 {
		return targets[0].Names(), nil
	}
	var names []string
	for _, r := range targets {
		for _, s := range r.Scopes {
			if !slices.Contains(names, s.Name) {
				names = append(names, s.Name)
			}
		}
	}
	return names, nil
}

// Within returns invalid_scope if a scope is not in the ceiling, the maximum scope of a client. An empty ceiling means
// no limit.
func Within(words, ceiling []string) error {
	if len(ceiling) == 0 {
		return nil
	}
	for _, word := range words {
		if !slices.Contains(ceiling, word) {
			return kernel.Refuse(kernel.InvalidScope, "the client is not registered for the scope %s", word)
		}
	}
	return nil
}

// Cut returns the scopes that are in the ceiling, the maximum scope of a client. An empty ceiling means no limit.
func Cut(words, ceiling []string) []string {
	if len(ceiling) == 0 {
		return words
	}
	var cut []string
	for _, word := range words {
		if slices.Contains(ceiling, word) {
			cut = append(cut, word)
		}
	}
	return cut
}
