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
	frameworks := []struct{ name, install, file, start, jwt, introspection string }{
		{
			"Express",
			"npm install express jose",
			"api.mjs",
			"node api.mjs",
			"express_jwt.mjs",
			"express_introspection.mjs",
		},
		{"Flask", "pip install flask 'pyjwt[crypto]' requests", "api.py", "flask --app api run -p 3000", "flask_jwt.py",
			"flask_introspection.py"},
		{"FastAPI", "pip install fastapi uvicorn 'pyjwt[crypto]' requests", "api.py", "uvicorn api:app --port 3000",
			"fastapi_jwt.py", "fastapi_introspection.py"},
		{"Django", "pip install django 'pyjwt[crypto]' requests && django-admin startproject shop .", "shop/urls.py",
			"python manage.py runserver 3000", "django_jwt.py", "django_introspection.py"},
		{"Spring", "", "src/main/java/Orders.java", "SERVER_PORT=3000 ./mvnw spring-boot:run", "spring_jwt/Orders.java",
			"spring_introspection/Orders.java"},
		{"ASP.NET", "dotnet new web && dotnet add package Microsoft.AspNetCore.Authentication.JwtBearer", "Program.cs",
			"dotnet run --urls http://127.0.0.1:3000", "aspnet_jwt/Program.cs", "aspnet_introspection/Program.cs"},
		{
			"Go, with public libraries",
			"go mod init orders && go get github.com/coreos/go-oidc/v3",
			"main.go",
			"go run main.go",
			"go_jwt/main.go",
			"go_introspection/main.go",
		},
	}
	text.WriteString("\n| | Write the program to the file | Run it |\n|---|---|---|\n")
	for _, f := range frameworks {
		fmt.Fprintf(&text, "| %s | `%s` | `%s` |\n", f.name, f.file, f.start)
	}
	for _, f := range frameworks {
		fmt.Fprintf(&text, "\n### %s\n\n", f.name)
		switch {
		case f.install != "":
			fmt.Fprintf(&text, "    %s\n\n", f.install)
		default:
			text.WriteString("With `spring-boot-starter-web` and `spring-boot-starter-oauth2-resource-server`, Spring Boot " +
				"3.5.\n\n")
		}
		if !run[f.jwt] || !run[f.introspection] {
			text.WriteString(
				"**These lines were written from the documents of ASP.NET. Nobody has compiled or run them here**, unlike those " +
					"of the other sections: try them with a token of each kind that they must refuse.\n\n",
			)
		}
		text.WriteString("A signed token, checked with the keys of the server:\n\n")
		code(f.jwt)
		text.WriteString("\nAny token, by introspection:\n\n")
		code(f.introspection)
	}
	testkit.DocsBlock(t, "protect-an-api.md", "programs", text.String())
}
