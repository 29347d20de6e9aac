package wire

import (
	"encoding/binary"
	"hash/crc32"
)

// headerText is the type of a header of a frame whose value is text.
const headerText = 7

// BeginFrame appends the beginning of a message in Amazon's event stream encoding. kind is "event" or "exception", name
// is that of the event or exception, in at most 255 bytes. The JSON text of the message follows, and then EndFrame with
// the length that dst had before.
func BeginFrame(dst []byte, kind, name string) []byte {
	from := len(dst)
	dst = append(dst, make([]byte, frameHead)...)
	dst = append(dst, byte(len(":-type")+len(kind)), ':')
	dst = append(append(dst, kind...), "-type"...)
	dst = frameText(dst, name)
	dst = append(append(dst, byte(len(":content-type"))), ":content-type"...)
	dst = frameText(dst, "application/json")
	dst = append(append(dst, byte(len(":message-type"))), ":message-type"...)
	dst = frameText(dst, kind)
	binary.BigEndian.PutUint32(dst[from+4:], uint32(len(dst)-from-frameHead)) //nolint:gosec // G115: a few hundred bytes
	return dst
}

// frameText appends the value of a header.
func frameText(dst []byte, text string) []byte {
	dst = append(dst, headerText)
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(text))) //nolint:gosec // G115: names of events are short
	return append(dst, text...)
}

// EndFrame completes the message that begins at dst[from].
func EndFrame(dst []byte, from int) []byte {
	frame := dst[from:]
	binary.BigEndian.PutUint32(frame, uint32(len(frame)+4)) //nolint:gosec // G115: texts of answers are shorter than 4 GiB
	binary.BigEndian.PutUint32(frame[8:], crc32.ChecksumIEEE(frame[:8]))
	return binary.BigEndian.AppendUint32(dst, crc32.ChecksumIEEE(frame))
}
