package scripts

import (
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/tombolo-iac/tombolo/internal/store/hcp/hcptest"
)

// annsToken is the token of user ann.
const annsToken = "canary-token-of-ann"

// services holds the servers of scripts by host.
var services sync.Map

// terraforms is a command of scripts: a server of the API of HCP Terraform with the organization acme and the user ann,
// whose token is canary-token-of-ann. Its address is $HOST, and its certificate is trusted afterwards.
//
//	terraforms start             start one
//	terraforms mode NAME MODE    change the execution mode of a workspace
//	terraforms sees TEXT         the requests so far must have the text; with "!", must not
//	terraforms holds NAME TEXT   the state of the workspace must have the text; with "!", must not
//	terraforms lock NAME         lock a workspace, as another program does
func terraforms(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) == 1 && args[0] == "start" {
		startTerraforms(ts)
		return
	}
	known, _ := services.Load(ts.Getenv("HOST"))
	there, ok := known.(*hcptest.Server)
	if !ok || len(args) < 2 {
		ts.Fatalf("usage: terraforms start, then terraforms mode|sees|holds|lock ARGUMENT...")
	}
	text := ""
	switch args[0] {
	case "mode":
		there.SetMode(args[1], args[2])
		return
	case "lock":
		there.Lock(args[1], "ann", "Locked by Terraform")
		return
	case "sees":
		text = strings.Join(there.Seen(), "\n")
	case "holds":
		data, _ := there.State(args[1])
		text = string(data)
	}
	if want := args[len(args)-1]; strings.Contains(text, want) == neg {
		ts.Fatalf("%q, want %q: %t", text, want, !neg)
	}
}

func startTerraforms(ts *testscript.TestScript) {
	there := &hcptest.Server{Organization: "acme", Users: map[string]string{annsToken: "ann"},
		Projects: []string{"net"}}
	s := httptest.NewUnstartedServer(there)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	host := strings.TrimPrefix(s.URL, "https://")
	services.Store(host, there)
	ts.Defer(func() {
		services.Delete(host)
		s.Close()
	})
	roots := ts.MkAbs("roots.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	ts.Check(os.WriteFile(roots, text, 0o600))
	settings := fmt.Appendf(nil, "credentials %q {\n  token = %q\n}\n", host, annsToken)
	ts.Check(os.WriteFile(ts.MkAbs("host.tfrc"), settings, 0o600))
	ts.Setenv("HOST", host)
	ts.Setenv("SSL_CERT_FILE", roots)
}
