package spending

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// MicroUSD is an amount of money in millionths of a US dollar. In JSON it is a decimal number of dollars.
type MicroUSD int64

// MicrosPerUSD is the number of MicroUSD in a US dollar. MaxUSD is the largest amount in dollars.
const (
	MicrosPerUSD = 1_000_000
	MaxUSD       = 1_000_000_000
)

// String returns the amount as a decimal number of dollars.
func (m MicroUSD) String() string {
	dollars, part, sign := int64(m)/MicrosPerUSD, int64(m)%MicrosPerUSD, ""
	if m < 0 {
		dollars, part, sign = -dollars, -part, "-"
	}
	text := sign + strconv.FormatInt(dollars, 10)
	if part > 0 {
		text += "." + strings.TrimRight(fmt.Sprintf("%06d", part), "0")
	}
	return text
}

// ParseUSD parses a decimal number of dollars and rounds it to a millionth.
func ParseUSD(text string) (MicroUSD, error) {
	usd, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(usd) || math.Abs(usd) > MaxUSD {
		return 0, fmt.Errorf("%.40q is not an amount of US dollars of at most %d", text, MaxUSD)
	}
	return MicroUSD(math.Round(usd * MicrosPerUSD)), nil // exact: below 2^53
}

// MarshalJSON implements json.Marshaler.
func (m MicroUSD) MarshalJSON() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalJSON implements json.Unmarshaler.
func (m *MicroUSD) UnmarshalJSON(text []byte) error {
	if bytes.Equal(text, []byte("null")) {
		return nil
	}
	var number json.Number
	if text[0] == '"' || json.Unmarshal(text, &number) != nil {
		return fmt.Errorf("%.40q is not a number of US dollars", text)
	}
	parsed, err := ParseUSD(number.String())
	if err == nil {
		*m = parsed
	}
	return err
}
