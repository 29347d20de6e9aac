package wire

import (
	"encoding/binary"
	"hash/crc32"
)

// headerText is the type byte of a frame header with a string value.
const headerText = 7

// BeginFrame appends the beginning of a message in Amazon's event stream encoding. kind is "event" or "exception". name
// is the name of the event or exception, at most 255 bytes long. The caller appends the JSON text of the message and
// then calls EndFrame with the length that dst had before.
func BeginFrame(dst []byte, kind, name string) []byte {
	start := len(dst)
	dst = append(dst, make([]byte, frameHead)...)
	dst = frameHeader(dst, ":"+kind+"-type", name)
	dst = frameHeader(dst, ":content-type", "application/json")
	dst = frameHeader(dst, ":message-type", kind)
	binary.BigEndian.PutUint32(dst[start+4:], uint32(len(dst)-start-frameHead)) //nolint:gosec // G115: a few hundred bytes
	return dst
}

// frameHeader appends a header of a message in Amazon's event stream encoding. The name must be shorter than 256 bytes
// and the value shorter than 64 KiB.
func frameHeader(dst []byte, name, value string) []byte {
	dst = append(append(dst, byte(len(name))), name...) //nolint:gosec // G115: see above
	dst = append(dst, headerText)
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(value))) //nolint:gosec // G115: see above
	return append(dst, value...)
}

// EndFrame completes the message that begins at dst[start] with its length and checksums.
func EndFrame(dst []byte, start int) []byte {
	frame := dst[start:]
	binary.BigEndian.PutUint32(frame, uint32(len(frame)+4)) //nolint:gosec // G115: texts of answers are shorter than 4 GiB
	binary.BigEndian.PutUint32(frame[8:], crc32.ChecksumIEEE(frame[:8]))
	return binary.BigEndian.AppendUint32(dst, crc32.ChecksumIEEE(frame))
}
