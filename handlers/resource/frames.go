package resource

import (
	"encoding/binary"
	"errors"
	"io"
	"math"
)

// frames is the connection to the upstream of a WebSocket. It forwards only WebSocket
// frames from the client, because the upstream, or a proxy in front of it, might still
// read HTTP requests from the connection.
type frames struct {
	io.ReadWriteCloser
	extended bool     // an extension was negotiated and may use the reserved bits
	head     [14]byte // the header of the current frame
	have     int      // bytes of the header that have been read
	left     uint64   // bytes of the frame that are still to come
}

var errNoFrame = errors.New("the client sent data that is not a WebSocket frame")

// Write forwards bytes of the client.
func (f *frames) Write(b []byte) (int, error) {
	for rest := b; len(rest) > 0; {
		if f.left > 0 {
			n := min(f.left, uint64(len(rest)))
			f.left -= n
			rest = rest[n:]
			continue
		}
		f.head[f.have] = rest[0]
		f.have++
		rest = rest[1:]
		if !f.read() {
			return 0, errNoFrame
		}
	}
	return f.ReadWriteCloser.Write(b)
}

// read examines the newest byte of a frame's header (RFC 6455 §5.2), and reports
// whether a client may send it.
func (f *frames) read() bool {
	final, reserved, opcode := f.head[0]&0x80 != 0, f.head[0]&0x70, f.head[0]&0x0f
	length := f.head[1] & 0x7f
	switch f.have {
	case 1:
		// RFC 6455 §5.2: reserved bits are for extensions. §5.5: a control frame is not split.
		return (reserved == 0 || f.extended) && (opcode <= 2 || 8 <= opcode && opcode <= 10 && final)
	case 2:
		// RFC 6455 §5.1: a client masks its frames. §5.5: a control frame is short.
		if f.head[1]&0x80 == 0 || opcode >= 8 && length > 125 {
			return false
		}
	}
	// A header has two bytes, perhaps an extended length, and the masking key.
	switch {
	case length == 126 && f.have == 8:
		f.left = uint64(binary.BigEndian.Uint16(f.head[2:]))
	case length == 127 && f.have == 14:
		f.left = binary.BigEndian.Uint64(f.head[2:])
	case length < 126 && f.have == 6:
		f.left = uint64(length)
	default:
		return true
	}
	f.have = 0
	return f.left <= math.MaxInt64
}
