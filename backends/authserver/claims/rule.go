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

// The sources of claims: all roles or all groups of a user, or an attribute. The name of the attribute follows the
// prefix Attribute.
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
	maxRules  = 30  // rules of a client or a resource
	maxClaim  = 100 // bytes of the name of a claim
	maxPrefix = 100 // bytes
	maxLevels = 3   // nested names of a claim
)

// reserved are the claims that the server itself sets, or that decide whether a token is valid. A rule cannot make a
// claim with one of these names, whatever the letter case, since encoding/json ignores the case of names.
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

// Check returns an error with status 400 if a rule is invalid. If ofResource is set, the rules belong to a resource and
// must be for access tokens only. Otherwise they belong to a client.
func Check(rules []Rule, ofResource bool) error {
	if len(rules) > maxRules {
		return refuse("claim_rules", fmt.Sprintf("must be at most %d", maxRules))
	}
	for i := range rules {
		r := &rules[i]
		for member, fault := range map[string]string{
			"claim": r.claimFault(rules[:i]), "from": r.fromFault(), "prefix": r.prefixFault(), "type": r.typeFault(),
			"scope": r.scopeFault(), "in": r.inFault(ofResource),
		} {
			if fault != "" {
				return refuse(fmt.Sprintf("claim_rules[%d].%s", i, member), fault)
			}
		}
	}
	return nil
}

// refuse returns the error for an invalid member. The message follows the name of the member.
func refuse(param, message string) error {
	return apierror.New(http.StatusBadRequest, "invalid_value", "%s %s", param, message).With(param)
}

// claimFault returns the fault of the claim's name, or "". The name must not conflict with those of precedingRules, the
// rules before this one.
func (r *Rule) claimFault(precedingRules []Rule) string {
	path := steps(r.Claim)
	switch {
	case len(r.Claim) > maxClaim || !claimName.MatchString(r.Claim) || slices.Contains(path, "") ||
		len(path) > maxLevels:
		return fmt.Sprintf("must be a name of at most %d letters, digits and characters of URLs, with at most %d names"+
			" separated by dots", maxClaim, maxLevels)
	case slices.ContainsFunc(reserved, func(name string) bool { return strings.EqualFold(name, path[0]) }):
		return "is a claim that only the server itself may set"
	}
	for i := range precedingRules {
		other := &precedingRules[i]
		otherPath := steps(other.Claim)
		n := min(len(path), len(otherPath))
		if !slices.Equal(path[:n], otherPath[:n]) {
			continue
		}
		// Rules with different sources may make the same claim; see Make.
		if len(path) != len(otherPath) || r.From == other.From && r.Prefix == other.Prefix {
			return "conflicts with another rule: both make the same claim from the same source, or one claim is nested in the other"
		}
	}
	return ""
}

// fromFault returns the fault of the source, or "" if it is valid.
func (r *Rule) fromFault() string {
	name, isAttribute := strings.CutPrefix(r.From, Attribute)
	if r.From == Roles || r.From == Groups || isAttribute && attributeName.MatchString(name) {
		return ""
	}
	return "must be roles, groups, or attributes.NAME with the name of an attribute"
}

// prefixFault returns the fault of the prefix, or "" if it is valid.
func (r *Rule) prefixFault() string {
	switch {
	case r.Prefix == "" && r.Strip:
		return "is required with strip_prefix"
	case r.Prefix != "" && r.From != Roles && r.From != Groups:
		return "is allowed only if from is roles or groups"
	case len(r.Prefix) > maxPrefix:
		return fmt.Sprintf("must have at most %d bytes", maxPrefix)
	}
	return ""
}

// typeFault returns the fault of the type, or "" if it is valid.
func (r *Rule) typeFault() string {
	switch {
	case (r.From == Roles || r.From == Groups) && r.Type != "" && r.Type != List:
		return "must be list, since roles and groups are lists"
	case !slices.Contains([]string{"", Text, List, Number, Boolean}, r.Type):
		return "must be string, list, number or boolean"
	}
	return ""
}

// scopeFault returns the fault of the scope, or "" if it is valid.
func (r *Rule) scopeFault() string {
	if r.Scope != "" && !scopeWord.MatchString(r.Scope) {
		return "must be one scope"
	}
	return ""
}

// inFault returns the fault of the places, or "" if they are valid. If ofResource is set, the rule belongs to a
// resource.
func (r *Rule) inFault(ofResource bool) string {
	for i, place := range r.In {
		switch {
		case !slices.Contains([]string{AccessToken, IDToken, UserInfo}, place):
			return "must contain only access_token, id_token and userinfo"
		case ofResource && place != AccessToken:
			return "must be access_token, since a resource reads no other token"
		case slices.Contains(r.In[:i], place):
			return "contains a value twice"
		}
	}
	return ""
}

// Outside returns the name of the outermost member of the claim, such as realm_access for realm_access.roles.
func (r *Rule) Outside() string { return steps(r.Claim)[0] }

// applies reports whether the rule applies to a place and to the scope of a token.
func (r *Rule) applies(place string, scope []string) bool {
	return (len(r.In) == 0 || slices.Contains(r.In, place)) && (r.Scope == "" || slices.Contains(scope, r.Scope))
}
