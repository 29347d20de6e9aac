package catalog

import "fmt"

// Tier is the importance of a request. The cascade starts at the requested tier and goes down. The JSON and text form
// is "low", "medium" or "high".
type Tier uint8

// The three tiers. The zero value is not a tier.
const (
	Low Tier = iota + 1
	Medium
	High
)

// Tiers returns all tiers, the highest first, in the order in which a cascade goes down.
func Tiers() []Tier { return []Tier{High, Medium, Low} }

// ParseTier parses "low", "medium" or "high".
func ParseTier(s string) (Tier, error) {
	switch s {
	case "low":
		return Low, nil
	case "medium":
		return Medium, nil
	case "high":
		return High, nil
	}
	return 0, fmt.Errorf("unknown tier %q, known are low, medium, high", clip(s))
}

// String returns the text form, or "" for a value that is not a tier.
func (t Tier) String() string {
	switch t {
	case Low:
		return "low"
	case Medium:
		return "medium"
	case High:
		return "high"
	}
	return ""
}

// MarshalText implements encoding.TextMarshaler.
func (t Tier) MarshalText() ([]byte, error) {
	if s := t.String(); s != "" {
		return []byte(s), nil
	}
	return nil, fmt.Errorf("tier %d has no text", uint8(t))
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (t *Tier) UnmarshalText(text []byte) error {
	parsed, err := ParseTier(string(text))
	if err != nil {
		return err
	}
	*t = parsed
	return nil
}
