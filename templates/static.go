package templates

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"path"
	"strings"
	"time"
)

//go:embed static
var static embed.FS

// assets contains the static files. The name of each contains a hash of its content, so a browser may
// cache it for ever.
type assets struct {
	names map[string]string // style.css -> style.1f2e3d4c.css
	files map[string]asset  // the key is the name with the hash
}

type asset struct {
	kind string
	body []byte
	sum  [sha256.Size]byte
}

// newAssets reads the static files. Those of the brand replace the usual ones.
func newAssets(b *brand) (*assets, error) {
	a := &assets{names: map[string]string{}, files: map[string]asset{}}
	entries, err := static.ReadDir("static")
	if err != nil {
		return nil, fmt.Errorf("read static files: %w", err)
	}
	read := map[string][]byte{}
	for _, e := range entries {
		body, err := static.ReadFile("static/" + e.Name())
		if err != nil {
			return nil, fmt.Errorf("read static files: %w", err)
		}
		read[e.Name()] = body
		// The types are listed here because the operating system's table differs between machines.
		// With nosniff, a browser rejects a file with a wrong type.
		kind := map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8",
			".svg": svgType}[path.Ext(e.Name())]
		if kind == "" {
			return nil, fmt.Errorf("static file %s: unknown type", e.Name())
		}
		a.add(e.Name(), kind, body)
	}
	for name, file := range b.files(read["style.css"], read["icon.svg"]) {
		a.add(name, file.kind, file.body)
	}
	return a, nil
}

const svgType = "image/svg+xml"

// extensions are those of the files of a brand, whose names in templates have none.
var extensions = map[string]string{svgType: ".svg", "image/png": ".png"}

// add adds a file under its name in templates.
func (a *assets) add(name, kind string, body []byte) {
	ext := cmp.Or(path.Ext(name), extensions[kind])
	sum := sha256.Sum256(body)
	hashed := strings.TrimSuffix(name, path.Ext(name)) + "." + hex.EncodeToString(sum[:4]) + ext
	delete(a.files, a.names[name])
	a.names[name] = hashed
	a.files[hashed] = asset{kind, body, sum}
}

// kind returns the media type of a file.
func (a *assets) kind(name string) string { return a.files[a.names[name]].kind }

func (a *assets) url(base, name string) (string, error) {
	hashed := a.names[name]
	if hashed == "" {
		return "", fmt.Errorf("no static file %s", name)
	}
	return base + "/static/" + hashed, nil
}

// integrity returns the digest that a browser compares with a script before it runs the script (W3C
// Subresource Integrity).
func (a *assets) integrity(name string) string {
	sum := a.files[a.names[name]].sum
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// Static serves the files that the pages link to. They are below /static/. The caller has removed the
// base path.
func (p *Pages) Static() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		name, below := strings.CutPrefix(r.URL.Path, "/static/")
		file, known := p.assets.files[name]
		if !below || !known {
			http.NotFound(w, r)
			return
		}
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
			return
		}
		w.Header().Set("Content-Type", file.kind)
		if file.kind == svgType {
			// Somebody may open the picture alone. Then nothing in it runs, and nothing is loaded.
			w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox")
		}
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
		http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(file.body))
	})
}
