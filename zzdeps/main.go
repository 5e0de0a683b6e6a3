// Package main keeps the modules while the code grows.
package main
import (
 _ "github.com/ory/fosite"
 _ "github.com/ory/fosite/handler/oauth2"
 _ "modernc.org/sqlite"
 _ "github.com/lib/pq"
 _ "github.com/jmoiron/sqlx"
 _ "github.com/gorilla/mux"
 _ "github.com/spf13/cobra"
 _ "github.com/chromedp/chromedp"
 _ "golang.org/x/oauth2"
 _ "golang.org/x/crypto/argon2"
 _ "golang.org/x/net/html"
 _ "golang.org/x/sync/semaphore"
 _ "go.yaml.in/yaml/v3"
 _ "github.com/google/go-cmp/cmp"
 _ "github.com/rogpeppe/go-internal/testscript"
)
func main(){}
