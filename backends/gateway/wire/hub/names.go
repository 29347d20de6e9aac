package hub

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
)

// maxName is the length of the longest name that all chat APIs accept.
const maxName = 64

// LegalName returns the name of a tool for upstreams. A name that matches ^[A-Za-z0-9_-]{1,64}$ is returned unchanged.
// Any other name becomes its first 55 legal characters, "_" and 8 hexadecimal digits of its SHA-256. The result depends
// only on the name, so it is the same in the history, tool_choice and tools.
func LegalName(name string) string {
	if wire.LegalID(name) {
		return name
	}
	short := make([]byte, 0, maxName)
	for i := 0; i < len(name) && len(short) < 55; i++ {
		if wire.LegalID(name[i : i+1]) { // a single legal character
			short = append(short, name[i])
		}
	}
	sum := sha256.Sum256([]byte(name))
	return string(hex.AppendEncode(append(short, '_'), sum[:4]))
}
