package encryption

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"fmt"

	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Missing counts sealed texts that cannot be opened because their key is not configured.
type Missing struct {
	Table string
	// Key is the id of the master key in hex, or KeyManagement. It is empty if the texts contain no valid id.
	Key  string
	Rows int
}

// KeyManagement stands for the keys of a key management server.
const KeyManagement = "transit"

// headSize is how many characters of a sealed text identify its key: they include the version and the id of a master
// key in base64, or the tag of a key management server.
const headSize = 7

// keyOf returns the name of the key of a sealed text that begins with head, in the form of Missing.Key.
func keyOf(head string) string {
	if head+":" == transitTag {
		return KeyManagement
	}
	// The last character also encodes bits of the nonce.
	raw, err := base64.RawURLEncoding.DecodeString(head)
	if err != nil || len(raw) != 1+idSize || raw[0] != version {
		return ""
	}
	return hex.EncodeToString(raw[1:])
}

// holder is an Encryptor that knows which keys it has. Any other one is assumed to have all keys.
type holder interface{ holds(key string) bool }

func holds(e Encryptor, key string) bool {
	if e == nil {
		return false
	}
	h, ok := e.(holder)
	return !ok || h.holds(key)
}

func (m *Master) holds(key string) bool {
	return key == hex.EncodeToString(m.current.id[:]) || m.old != nil && key == hex.EncodeToString(m.old.id[:])
}

func (t *Transit) holds(key string) bool { return key == KeyManagement }

func (c chain) holds(key string) bool {
	for _, e := range c {
		if holds(e, key) {
			return true
		}
	}
	return false
}

// FindMissing counts the texts whose key e does not have. It reads only the key ids and opens no text. A nil e has no
// key.
func FindMissing(ctx context.Context, k *kernel.Server, e Encryptor, columns []Column) (list []Missing, err error) {
	for _, c := range columns {
		rows := make(map[string]int)
		query := fmt.Sprintf("SELECT substr(%s, 1, %d) AS head, count(*) FROM %s WHERE %s <> '' GROUP BY head ORDER BY head",
			c.Column, headSize, c.Table, c.Column)
		var keys []string // in the order of the rows
		err := k.Read(ctx, func(conn store.Conn) error {
			clear(rows)
			keys = nil
			return conn.All(query, nil, func(r store.Row) error {
				var head string
				var n int
				if err := r.Scan(&head, &n); err != nil {
					return err
				}
				key := keyOf(head)
				if _, known := rows[key]; !known {
					keys = append(keys, key)
				}
				rows[key] += n
				return nil
			})
		})
		if err != nil {
			return nil, err
		}
		for _, key := range keys {
			if !holds(e, key) {
				list = append(list, Missing{c.Table, key, rows[key]})
			}
		}
	}
	return list, nil
}

// Interface guards
var (
	_ holder = (*Master)(nil)
	_ holder = (*Transit)(nil)
	_ holder = chain(nil)
)
