package claims

import (
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/tollgate-gateway/tollgate/internal/text"
)

const (
	maxRoles      = 100 // roles of a user or a group
	maxRole       = 100 // characters of a role
	maxAttributes = 50  // attributes of a user
	maxValues     = 20  // values of one attribute
	maxValue      = 500 // characters of a value
)

// RolesFault returns the fault of the roles of a user or a group, or "" if they are valid.
func RolesFault(roles []string) string {
	if len(roles) > maxRoles {
		return fmt.Sprintf("there are more than %d roles", maxRoles)
	}
	for i, role := range roles {
		switch {
		case role == "" || utf8.RuneCountInString(role) > maxRole || !isLine(role):
			return fmt.Sprintf("a role must be one line of 1 to %d characters", maxRole)
		case slices.Contains(roles[:i], role):
			return fmt.Sprintf("the role %q occurs twice", role)
		}
	}
	return ""
}

// AttributesFault returns the fault of the attributes of a user, or "" if they are valid.
func AttributesFault(attributes map[string][]string) string {
	if len(attributes) > maxAttributes {
		return fmt.Sprintf("there are more than %d attributes", maxAttributes)
	}
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		if fault := AttributeFault(name, attributes[name]); fault != "" {
			return fault
		}
	}
	return ""
}

// AttributeFault returns the fault of one attribute, or "" if it is valid.
func AttributeFault(name string, values []string) string {
	switch {
	case !attributeName.MatchString(name):
		return fmt.Sprintf("the name of an attribute, %.100q, must be 1 to 64 letters, digits, underscores, points, colons"+
			" and hyphens", name)
	case len(values) == 0 || len(values) > maxValues:
		return fmt.Sprintf("the attribute %s must have 1 to %d values", name, maxValues)
	case slices.ContainsFunc(values, func(value string) bool {
		return value == "" || utf8.RuneCountInString(value) > maxValue || !isLine(value)
	}):
		return fmt.Sprintf("a value of the attribute %s must be one line of 1 to %d characters", name, maxValue)
	}
	return ""
}

// isLine reports whether a value is a single line that both databases can store.
func isLine(value string) bool {
	return utf8.ValidString(value) && text.IsLine(value) && text.Storable(value) == value
}
