package mandate

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mandate/testkit"
)

// TestProtectDocs writes the programs of testdata/protect into docs/protect-an-api.md, where people copy them.
func TestProtectDocs(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	code := func(file string) {
		content, err := os.ReadFile(filepath.Join("testdata", "protect", filepath.FromSlash(file)))
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(content)) {
			if strings.TrimSpace(line) != "" {
				text.WriteString("    " + strings.ReplaceAll(line, "\t", "    "))
			} else {
				text.WriteString("\n")
			}
		}
	}
	run := map[string]bool{}
	for _, p := range protectedPrograms {
		run[p.file] = true
	}
	for _, f := range []struct{ name, install, jwt, introspection string }{
		{"Express", "npm install express jose", "express_jwt.mjs", "express_introspection.mjs"},
		{"Flask", "pip install flask 'pyjwt[crypto]' requests", "flask_jwt.py", "flask_introspection.py"},
		{"FastAPI", "pip install fastapi uvicorn 'pyjwt[crypto]' requests", "fastapi_jwt.py", "fastapi_introspection.py"},
		{"Django", "pip install django 'pyjwt[crypto]' requests", "django_jwt.py", "django_introspection.py"},
		{"Spring", "", "spring_jwt/Orders.java", "spring_introspection/Orders.java"},
		{"ASP.NET", "dotnet add package Microsoft.AspNetCore.Authentication.JwtBearer", "aspnet_jwt/Program.cs",
			"aspnet_introspection/Program.cs"},
		{"Go, with public libraries", "go get github.com/coreos/go-oidc/v3", "go_jwt/main.go", "go_introspection/main.go"},
	} {
		fmt.Fprintf(&text, "\n### %s\n\n", f.name)
		switch {
		case f.install != "":
			fmt.Fprintf(&text, "    %s\n\n", f.install)
		default:
			text.WriteString("With `spring-boot-starter-web` and `spring-boot-starter-oauth2-resource-server`, Spring Boot 3.5.\n\n")
		}
		if !run[f.jwt] || !run[f.introspection] {
			text.WriteString("**The tests do not run these lines**, unlike those of the other sections.\n\n")
		}
		text.WriteString("A signed token, checked with the keys of the server:\n\n")
		code(f.jwt)
		text.WriteString("\nAny token, by introspection:\n\n")
		code(f.introspection)
	}
	testkit.DocsBlock(t, "protect-an-api.md", "programs", text.String())
}
