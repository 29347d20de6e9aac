package encryption

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"fmt"

	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Missing are sealed texts that nobody can open, because what sealed them is not
// configured.
type Missing struct {
	Table string
	// Key is the id of the master key, in hex digits, KeyManagement, or empty where the
	// texts name none.
	Key  string
	Rows int
}

// KeyManagement stands for the keys of a key management server.
const KeyManagement = "transit"

// headSize is how much of a sealed text tells its key: more than the version and the id of
// a master key in base64, and the tag of a key management server.
const headSize = 7

// keyOf is the Key of Missing of what begins with a head.
func keyOf(head string) string {
	if head+":" == transitTag {
		return KeyManagement
	}
	// The last letter is of the nonce, too.
	raw, err := base64.RawURLEncoding.DecodeString(head)
	if err != nil || len(raw) != 1+idSize || raw[0] != version {
		return ""
	}
	return hex.EncodeToString(raw[1:])
}

// holder is an Encryptor that knows which keys it has. One that does not has all.
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

// FindMissing finds the texts whose key e does not have, by what they say of it: none is
// opened. A nil e has no key.
func FindMissing(ctx context.Context, k *kernel.Server, e Encryptor, columns []Column) (list []Missing, err error) {
	for _, c := range columns {
		rows := make(map[string]int)
		query := fmt.Sprintf("SELECT substr(%s, 1, %d) AS head, count(*) FROM %s WHERE %s <> '' GROUP BY head ORDER BY head", c.Column, headSize, c.Table, c.Column)
		var keys []string // in order
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
