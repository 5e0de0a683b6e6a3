//go:build foreign

package programs

import (
	"crypto/rand"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"mandate/conformance/servertest"
	"mandate/testkit"
	"mandate/testkit/port"
)

// nginxConfig has the lines of oauth2-proxy's documentation about auth_request. Its example hands user and email on,
// and the groups come in the same way. $http_host is $host with the port.
const nginxConfig = `daemon off;
pid FOLDER/pid;
error_log stderr;
events {}
http {
  access_log off;
  client_body_temp_path FOLDER/body;
  proxy_temp_path FOLDER/proxy;
  fastcgi_temp_path FOLDER/fastcgi;
  uwsgi_temp_path FOLDER/uwsgi;
  scgi_temp_path FOLDER/scgi;
  server {
    listen ADDRESS;
    location /oauth2/ {
      proxy_pass http://PROXY;
      proxy_set_header Host $http_host;
      proxy_set_header X-Real-IP $remote_addr;
      proxy_set_header X-Auth-Request-Redirect $request_uri;
    }
    location = /oauth2/auth {
      proxy_pass http://PROXY;
      proxy_set_header Host $http_host;
      proxy_set_header X-Real-IP $remote_addr;
      proxy_set_header X-Forwarded-Uri $request_uri;
      proxy_set_header Content-Length "";
      proxy_pass_request_body off;
    }
    location @oauth2_signin {
      return 302 /oauth2/sign_in?rd=$scheme://$http_host$request_uri;
    }
    location / {
      auth_request /oauth2/auth;
      error_page 401 = @oauth2_signin;
      auth_request_set $user $upstream_http_x_auth_request_preferred_username;
      auth_request_set $email $upstream_http_x_auth_request_email;
      auth_request_set $groups $upstream_http_x_auth_request_groups;
      proxy_set_header X-Forwarded-Preferred-Username $user;
      proxy_set_header X-Forwarded-Email $email;
      proxy_set_header X-Forwarded-Groups $groups;
      proxy_pass UPSTREAM;
    }
  }
}
`

// nginx asks oauth2-proxy about each request to a website.
func nginx(t *testing.T, s *site) *exec.Cmd {
	t.Helper()
	program := testkit.Program(t, "nginx", "nginx")
	proxy := port.Address()
	cmd := exec.Command(
		fromGo(t, "oauth2-proxy", "github.com/oauth2-proxy/oauth2-proxy/v7"),
		"--provider=oidc",
		"--oidc-issuer-url="+s.server.issuer,
		"--client-id="+s.id,
		"--client-secret="+s.secret,
		"--redirect-url="+s.url(
			"/oauth2/callback",
		),
		"--scope=openid email profile groups",
		"--email-domain=*",
		"--http-address="+proxy,
		"--reverse-proxy=true",
		"--set-xauthrequest=true",
		"--upstream=static://202",
		"--cookie-secret="+rand.Text()[:16],
		"--cookie-secure=false",
	)
	cmd.Env = servertest.Environment()
	servertest.Serve(
		t,
		cmd,
		s.server.client,
		"http://"+proxy+"/ready",
		func(status int) bool { return status == http.StatusOK },
	)
	config := filepath.Join(s.folder, "nginx.conf")
	lines := strings.NewReplacer(
		"FOLDER",
		s.folder,
		"ADDRESS",
		s.address,
		"PROXY",
		proxy,
		"UPSTREAM",
		echo(t),
	).Replace(
		nginxConfig,
	)
	err := os.WriteFile(config, []byte(lines), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	return exec.Command(program, "-e", "stderr", "-p", s.folder, "-c", config)
}
