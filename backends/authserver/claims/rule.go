// Package claims makes token claims from the roles, groups and attributes of users. Claim rules of a client or a
// resource define the claims, their names, and the tokens that contain them.
package claims

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

// The places of claims: kinds of tokens and responses.
const (
	AccessToken = "access_token"
	IDToken     = "id_token"
	UserInfo    = "userinfo"
)

// The sources of claims: all roles or groups of a user, or an attribute, whose name follows the prefix.
const (
	Roles     = "roles"
	Groups    = "groups"
	Attribute = "attributes."
)

// The types of a claim made from an attribute. A list has all values of the attribute; the other types have only the
// first value. A claim from roles or groups is always a list.
const (
	Text    = "string"
	List    = "list"
	Number  = "number"
	Boolean = "boolean"
)

// Rule makes one claim.
type Rule struct {
	// Claim is the name of the claim. Dots separate the names of nested objects, such as realm_access.roles, except in
	// a URL.
	Claim string `json:"claim"`
	// From is the source: Roles, Groups, or Attribute followed by the name of an attribute.
	From string `json:"from"`
	// Prefix selects the roles or groups whose names begin with it. Strip removes the prefix from the names.
	Prefix string `json:"prefix,omitempty"`
	Strip  bool   `json:"strip_prefix,omitempty"`
	// Type is the type of a claim made from an attribute. Default: Text.
	Type string `json:"type,omitempty"`
	// Scope is a scope that the token must have to contain the claim. Default: every token contains the claim.
	Scope string `json:"scope,omitempty"`
	// In are the places of the claim. Default: all places for a client's rule, and access tokens for a resource's rule.
	In []string `json:"in,omitempty"`
}

const (
	maxRules  = 30
	maxClaim  = 100 // bytes of a name
	maxPrefix = 100 // bytes
	maxLevels = 3
)

// reserved are the claims that the server itself sets, or that decide whether a token is valid. A rule cannot make such
// a claim, in upper or lower case, since encoding/json ignores the case of names.
var reserved = []string{
	"iss", "sub", "aud", "exp", "nbf", "iat", "jti", "typ", "alg", "kid", "cnf", "act", "may_act", "nonce", "azp", "acr",
	"amr", "auth_time", "at_hash", "c_hash", "s_hash", "sid", "sub_id",
	"events", "toe", "txn", "client_id", "scope", "scp", "authorization_details", "active", "username", "token_type",
	"error", "error_description",
	"rests_on", "consent_client_id", "sub_client", "agent_id", "agent_chain",
	"name", "preferred_username", "updated_at", "email", "email_verified", "_claim_names", "_claim_sources", "_sd",
	"_sd_alg", "vct",
}

var (
	claimName     = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.:/?&=%~#+-]*$`)
	attributeName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.:-]{0,63}$`)
	scopeWord     = regexp.MustCompile(`^[\x21\x23-\x5B\x5D-\x7E]{1,255}$`)
)

// steps returns the names of the nested objects in the name of a claim, outermost first.
func steps(claim string) []string {
	if strings.Contains(claim, "://") {
		return []string{claim}
	}
	return strings.Split(claim, ".")
}

// Check returns an error with status 400 if a rule is invalid. If resource is set, the rules belong to a resource and
// must be for access tokens only.
func Check(rules []Rule, resource bool) error {
	if len(rules) > maxRules {
		return refuse("claim_rules", fmt.Sprintf("must be at most %d", maxRules))
	}
	for i := range rules {
		r := &rules[i]
		for member, fault := range map[string]string{
			"claim": r.claimFault(rules[:i]), "from": r.fromFault(), "prefix": r.prefixFault(), "type": r.typeFault(),
			"scope": r.scopeFault(), "in": r.inFault(resource),
		} {
			if fault != "" {
				return refuse(fmt.Sprintf("claim_rules[%d].%s", i, member), fault)
			}
		}
	}
	return nil
}

func refuse(param, message string) error {
	return apierror.New(http.StatusBadRequest, "invalid_value", "%s %s", param, message).With(param)
}

// claimFault returns the fault of the claim's name, or "". The rules in before precede this rule; the name must not
// conflict with theirs.
func (r *Rule) claimFault(before []Rule) string {
	path := steps(r.Claim)
	switch {
	case len(r.Claim) > maxClaim || !claimName.MatchString(r.Claim) || slices.Contains(path, "") ||
		len(path) > maxLevels:
		return fmt.Sprintf("must be a name of at most %d letters, digits and characters of URLs, with at most %d names"+
			" between points", maxClaim, maxLevels)
	case slices.ContainsFunc(reserved, func(name string) bool { return strings.EqualFold(name, path[0]) }):
		return "is a claim of the server's own, which no rule makes"
	}
	for i := range before {
		earlier := steps(before[i].Claim)
		if n := min(len(path), len(earlier)); slices.Equal(path[:n], earlier[:n]) && (len(path) != len(earlier) ||
			r.From == before[i].From && r.Prefix == before[i].Prefix) {
			return "is made by another rule, or lies within what another one makes"
		}
	}
	return ""
}

func (r *Rule) fromFault() string {
	name, attribute := strings.CutPrefix(r.From, Attribute)
	if r.From == Roles || r.From == Groups || attribute && attributeName.MatchString(name) {
		return ""
	}
	return "must be roles, groups, or attributes. with the name of one"
}

// prefixFault returns the fault of the prefix, or "" if it is valid.
func (r *Rule) prefixFault() string {
	switch {
	case r.Prefix == "" && r.Strip:
		return "is required with strip_prefix"
	case r.Prefix != "" && r.From != Roles && r.From != Groups:
		return "is for roles and groups alone"
	case len(r.Prefix) > maxPrefix:
		return fmt.Sprintf("must have at most %d bytes", maxPrefix)
	}
	return ""
}

func (r *Rule) typeFault() string {
	switch {
	case (r.From == Roles || r.From == Groups) && r.Type != "" && r.Type != List:
		return "must be list, as roles and groups are"
	case !slices.Contains([]string{"", Text, List, Number, Boolean}, r.Type):
		return "must be string, list, number or boolean"
	}
	return ""
}

func (r *Rule) scopeFault() string {
	if r.Scope != "" && !scopeWord.MatchString(r.Scope) {
		return "must be one scope"
	}
	return ""
}

// inFault returns the fault of the places, or "" if they are valid. If resource is set, the rule belongs to a resource.
func (r *Rule) inFault(resource bool) string {
	for i, place := range r.In {
		switch {
		case !slices.Contains([]string{AccessToken, IDToken, UserInfo}, place):
			return "must name access_token, id_token and userinfo alone"
		case resource && place != AccessToken:
			return "must be access_token: a resource reads nothing else"
		case slices.Contains(r.In[:i], place):
			return "names a place twice"
		}
	}
	return ""
}

// Outside returns the name of the outermost member of the claim.
func (r *Rule) Outside() string { return steps(r.Claim)[0] }

// acts reports whether the rule applies to a place and to the scope of a token.
func (r *Rule) acts(place string, scope []string) bool {
	return (len(r.In) == 0 || slices.Contains(r.In, place)) && (r.Scope == "" || slices.Contains(scope, r.Scope))
}
