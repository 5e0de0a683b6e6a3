package people

import (
	"bytes"
	"compress/flate"
	"io"
)

// mostSqueezed is more than a form or a request can have, in bytes.
const mostSqueezed = 1 << 20

// squeeze makes a text shorter that a browser keeps in a cookie.
func squeeze(text []byte) []byte {
	var small bytes.Buffer
	w, _ := flate.NewWriter(&small, flate.BestCompression) // such a level exists, and a buffer does not fail
	_, _ = w.Write(text)
	_ = w.Close()
	return small.Bytes()
}

// unsqueeze returns the text of squeeze.
func unsqueeze(small []byte) ([]byte, error) {
	return io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(small)), mostSqueezed))
}
