package rest

import (
	"encoding/base64"
	"net/http"
	"strconv"
)

// Cursor encodes a position in a list that is ordered by a number, as an opaque text that clients send back.
func Cursor(position int64) string {
	return base64.RawURLEncoding.EncodeToString(strconv.AppendInt(nil, position, 36))
}

// Cursor decodes a query parameter made by the function Cursor and returns the position, or 0 if the parameter is
// missing.
func (c *Call) Cursor(name string) (int64, error) {
	text := c.query(name)
	if text == "" {
		return 0, nil
	}
	plain, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		if n, err := strconv.ParseInt(string(plain), 36, 64); err == nil && n > 0 {
			return n, nil
		}
	}
	return 0, refuse(http.StatusBadRequest, "invalid_value", name,
		name+" must be a cursor from the answer with an earlier page, unchanged")
}
