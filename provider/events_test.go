package provider

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// eventless are the changes of the database that are no event, by the method of the store and, if only one
// caller is meant, its file.
var eventless = map[string]string{
	"ConfirmRotation":               "it changes nothing: it waits until an earlier change is durable",
	"AddDevice":                     "a device asks; the decision of the person is an event",
	"AddGrant":                      "a code, after a consent that is an event",
	"AddGrantWithTokens":            "tokens",
	"AddMail":                       "a request that strangers repeat; the link that answers it is an event",
	"AddRequest":                    "a pushed request, before anybody has decided",
	"AddSetting":                    "an internal value",
	"AddToken":                      "tokens",
	"AddTokenOnce":                  "tokens",
	"AnswerMail":                    "each link has its event",
	"AnswerSignUp":                  "a request that strangers repeat; the account is an event",
	"EndTurn":                       "the clean-up of one node for all",
	"SweepExcluded":                 "it follows from the change of the application, which is an event",
	"TakeTurn":                      "the clean-up of one node for all",
	"EndOldSessions":                "their time is over",
	"EndUnusedApplications":         "each application has its event",
	"FactorDue":                     "a time that follows from a setting",
	"ForgetLogin":                   "the queue of logouts",
	"ForgetLogins":                  "the queue of logouts",
	"ForgetMail":                    "the queue of mail",
	"GiveUpMail":                    "the queue of mail",
	"ClaimLogin":                    "the queue of logouts",
	"LeaseMail":                     "the queue of mail",
	"PauseLogins":                   "the queue of logouts",
	"PostponeMail":                  "the queue of mail",
	"KeepRefresh":                   "tokens",
	"KeepRequest":                   "a pushed request, before anybody has decided",
	"NoteKeyUses":                   "times of use",
	"NoteUses":                      "times of use",
	"NoteWithoutPKCE":               "times of use",
	"PollDevice":                    "a device waits",
	"RedeemCode":                    "tokens",
	"RedeemForSite":                 "a session of a site; the sign-in and the application have their events",
	"EndSiteSession":                "the session of the person stays; its end is an event",
	"Rehash":                        "the same password",
	"RotateRefresh":                 "tokens",
	"SeeOnce":                       "one-time values",
	"ShareRegistration":             "an application that is there already",
	"Sweep":                         "clean-up",
	"SweepDeletedApplications":      "clean-up",
	"SweepEvents":                   "clean-up",
	"TouchSession":                  "times of use",
	"UseRequest":                    "a pushed request is answered; the decision of the person is an event",
	"EndSession logout/logout.go":   "the callers attach the event",
	"RevokeGrant grant/code.go":     "token.reused is counted",
	"RevokeGrant tokens/revoke.go":  "the operator's call has its event; that of an application has none",
	"RevokeSigned tokens/revoke.go": "the same",
	"RevokeToken tokens/revoke.go":  "the same",
}

// Whoever adds a change of the database attaches its event, or says here why there is none.
func TestEveryChangeHasItsEvent(t *testing.T) {
	writers := storeWriters(t)
	if len(writers) < 60 {
		t.Fatalf("only %d methods of the store write", len(writers))
	}
	used := map[string]bool{}
	found := 0
	walk(t, ".", func(path string, file *ast.File) {
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) == 0 {
				return true
			}
			method, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || !slices.Contains(writers, method.Sel.Name) || !isStore(method.X) {
				return true
			}
			found++
			if attaches(call.Args[0]) || strings.HasPrefix(filepath.ToSlash(path), "events/") {
				return true
			}
			name := method.Sel.Name
			for _, reason := range []string{name, name + " " + filepath.ToSlash(path)} {
				if eventless[reason] != "" {
					used[reason] = true
					return true
				}
			}
			t.Errorf("%s: %s changes something without an event: pass events.Attach(ctx, ...) to it, or give a reason in "+
				"eventless", path, name)
			return true
		})
	})
	if found < 70 {
		t.Errorf("only %d calls of the store were found", found)
	}
	for name := range eventless {
		if !used[name] {
			t.Errorf("eventless has %s, and nobody calls it without an event", name)
		}
	}
}

func walk(t *testing.T, dir string, visit func(path string, file *ast.File)) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err == nil {
			visit(path, file)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// storeWriters returns the exported methods of the store that change the database.
func storeWriters(t *testing.T) []string {
	t.Helper()
	ways := []string{"atomically", "exec", "one", "run", "writeRow", "writeRows", "exchange", "writeWithOthers",
		"changeApplication", "disableThen"}
	var names []string
	walk(t, "../storage", func(_ string, file *ast.File) {
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv == nil || !f.Name.IsExported() || f.Name.Name == "Migrate" {
				continue
			}
			ast.Inspect(f, func(n ast.Node) bool {
				s, ok := n.(*ast.SelectorExpr)
				if ok && slices.Contains(ways, s.Sel.Name) && !slices.Contains(names, f.Name.Name) {
					names = append(names, f.Name.Name)
				}
				return true
			})
		}
	})
	return names
}

// isStore reports whether an expression is a store: store, or something.store.
func isStore(x ast.Expr) bool {
	switch x := x.(type) {
	case *ast.Ident:
		return x.Name == "store"
	case *ast.SelectorExpr:
		return x.Sel.Name == "store"
	}
	return false
}

// attaches reports whether a context is made by events.Attach.
func attaches(ctx ast.Expr) bool {
	call, ok := ctx.(*ast.CallExpr)
	if !ok {
		return false
	}
	f, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	of, ok := f.X.(*ast.Ident)
	return ok && of.Name == "events" && f.Sel.Name == "Attach"
}
