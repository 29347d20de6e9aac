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
	// Key is the id of the master key in hex, or KeyManagement. It is empty if the texts contain no valid key id.
	Key  string
	Rows int
}

// KeyManagement is the value of Missing.Key for all keys of key management servers.
const KeyManagement = "transit"

// headSize is the number of leading characters of a sealed text that identify its key. They contain the version and the
// id of a master key in base64, or the tag of a key management server.
const headSize = 7

// keyOf returns the key of the sealed texts that begin with head, in the form of Missing.Key.
func keyOf(head string) string {
	if head+":" == transitTag { // the tag is one character longer than head
		return KeyManagement
	}
	// The last character also encodes bits of the nonce.
	raw, err := base64.RawURLEncoding.DecodeString(head)
	if err != nil || len(raw) != 1+idSize || raw[0] != version {
		return ""
	}
	return hex.EncodeToString(raw[1:])
}

// holder is an Encryptor that knows its keys. Any other Encryptor is assumed to have all keys.
type holder interface{ holds(key string) bool }

// holds reports whether an encryptor has a key, as in Missing.Key.
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

// FindMissing counts, in the given columns, the sealed texts whose key the encryptor e does not have. It reads only the
// key ids and does not open the texts. If e is nil, all keys are missing.
func FindMissing(ctx context.Context, k *kernel.Server, e Encryptor, columns []Column) (list []Missing, err error) {
	for _, c := range columns {
		counts := make(map[string]int)
		query := fmt.Sprintf("SELECT substr(%s, 1, %d) AS head, count(*) FROM %s WHERE %s <> '' GROUP BY head ORDER BY head",
			c.Column, headSize, c.Table, c.Column)
		var keys []string // in the order of the rows
		err := k.Read(ctx, func(conn store.Conn) error {
			clear(counts)
			keys = nil
			return conn.All(query, nil, func(row store.Row) error {
				var head string
				var n int
				if err := row.Scan(&head, &n); err != nil {
					return err
				}
				key := keyOf(head)
				if _, known := counts[key]; !known {
					keys = append(keys, key)
				}
				counts[key] += n
				return nil
			})
		})
		if err != nil {
			return nil, err
		}
		for _, key := range keys {
			if !holds(e, key) {
				list = append(list, Missing{c.Table, key, counts[key]})
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
