// Package backendtest starts a small service for each backend that keeps states in one, for tests that cover every
// backend.
//
//	for _, kind := range backendtest.Kinds() {
//		s := backendtest.Start(t, kind)
//		driver := s.Open(t, "place 1")
//	}
package backendtest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/backend"
	"github.com/tombolo-iac/tombolo/internal/store/azure/azuretest"
	"github.com/tombolo-iac/tombolo/internal/store/consul/consultest"
	"github.com/tombolo-iac/tombolo/internal/store/cos/costest"
	"github.com/tombolo-iac/tombolo/internal/store/gcs/gcstest"
	"github.com/tombolo-iac/tombolo/internal/store/httpstore/httpstoretest"
	"github.com/tombolo-iac/tombolo/internal/store/kubernetes/kubernetestest"
	"github.com/tombolo-iac/tombolo/internal/store/oraclecloud/oraclecloudtest"
	"github.com/tombolo-iac/tombolo/internal/store/oss/osstest"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/drivertest"
)

// Service is an empty service.
type Service struct {
	Kind string
	// Env lists the environment variables of programs that use the service.
	Env []string
	// Block has the arguments of a block, as "name=value name=value", where NAME stands for the name of a location.
	Block string

	mu       sync.Mutex
	requests bytes.Buffer // content of all requests
	before   func(w http.ResponseWriter, r *http.Request, body []byte) bool
}

// Before sets a function that handles requests before the service. If it returns false, the service handles the
// request.
func (s *Service) Before(before func(w http.ResponseWriter, r *http.Request, body []byte) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.before = before
}

// record returns a handler that records all requests to a service.
func (s *Service) record(service http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the client has gone away
		}
		s.mu.Lock()
		s.requests.Write(body)
		before := s.before
		s.mu.Unlock()
		if before != nil && before(w, r, body) {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		service.ServeHTTP(w, r)
	})
}

// Recorded returns the content of all requests so far.
func (s *Service) Recorded() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests.String()
}

// serve serves a service on this machine and returns its address.
func (s *Service) serve(t *testing.T, service http.Handler) string {
	return drivertest.Serve(t, s.record(service))
}

// cloud serves a service at its usual address, and returns the environment variables of programs that use it.
func (s *Service) cloud(t *testing.T, service http.Handler) []string {
	return (&drivertest.Cloud{Services: s.record(service)}).Start(t)
}

// starts maps backends to functions that start their services.
var starts = map[string]func(t *testing.T, s *Service) (arguments string){
	"azurerm": func(t *testing.T, s *Service) string {
		s.Env = s.cloud(t, &azuretest.Cloud{Blobs: &azuretest.Blobs{}})
		return "storage_account_name=" + azuretest.Account + " container_name=" + azuretest.Container +
			" key=NAME access_key=" + azuretest.Key
	},
	"consul": func(t *testing.T, s *Service) string {
		c := &consultest.Server{}
		address := s.serve(t, c)
		t.Cleanup(c.Close) // ends blocking queries before the server waits for them
		return "path=states/NAME address=" + strings.TrimPrefix(address, "http://")
	},
	"cos": func(t *testing.T, s *Service) string {
		s.Env = s.cloud(t, &costest.Server{Bucket: "states-1250000000"})
		return "bucket=states-1250000000 region=ap-guangzhou prefix=NAME secret_id=" + costest.SecretID +
			" secret_key=" + costest.SecretKey
	},
	"gcs": func(t *testing.T, s *Service) string {
		return "bucket=states prefix=NAME access_token=token storage_custom_endpoint=" +
			s.serve(t, gcstest.New("states")) + "/storage/v1/"
	},
	"http": func(t *testing.T, s *Service) string {
		address := s.serve(t, &httpstoretest.Server{}) + "/NAME"
		return "address=" + address + " lock_address=" + address + " unlock_address=" + address
	},
	"kubernetes": func(t *testing.T, s *Service) string {
		return "secret_suffix=NAME-state token=token host=" + s.serve(t,
			&kubernetestest.Server{Token: "token"})
	},
	"oci": func(t *testing.T, s *Service) string {
		there := oraclecloudtest.New("acme", "states")
		s.Env = []string{"CLIENT_HOST_OVERRIDES=oci_object_storage.ObjectStorageClient=" + s.serve(t, there),
			"OCI_private_key=" + there.PEM()}
		return "bucket=states namespace=acme region=us-ashburn-1 key=NAME tenancy_ocid=" + oraclecloudtest.Tenancy +
			" user_ocid=" + oraclecloudtest.User + " fingerprint=" + oraclecloudtest.Fingerprint
	},
	"oss": func(t *testing.T, s *Service) string {
		address := s.serve(t, &osstest.Server{Bucket: "states"})
		return "bucket=states prefix=NAME region=cn-beijing tablestore_table=locks access_key=" + osstest.AccessKey +
			" secret_key=" + osstest.Secret + " endpoint=" + address + " tablestore_endpoint=" + address
	},
	"s3": func(t *testing.T, s *Service) string {
		objects := s3mem.New()
		if err := objects.CreateBucket("b"); err != nil {
			t.Fatal(err)
		}
		s.Env = []string{"AWS_ENDPOINT_URL_S3=" + s.serve(t, gofakes3.New(objects).Server())}
		return "bucket=b key=NAME region=eu-central-1 use_lockfile=true access_key=key secret_key=secret " +
			"use_path_style=true skip_metadata_api_check=true skip_credentials_validation=true " +
			"skip_requesting_account_id=true"
	},
}

// Kinds returns the backends that have a service.
func Kinds() []string { return slices.Sorted(maps.Keys(starts)) }

// Start starts the service of a backend, which stops when the test ends. It sets the variables of Env in this process.
func Start(t *testing.T, kind string) *Service {
	t.Helper()
	s := Serve(t, kind)
	s.Set(t)
	return s
}

// Serve is like Start for other processes, which get the variables of Env; it does not set them in this process.
func Serve(t *testing.T, kind string) *Service {
	t.Helper()
	s := &Service{Kind: kind}
	s.Block = starts[kind](t, s)
	return s
}

// Set sets the variables of Env in this process until the test ends.
func (s *Service) Set(t *testing.T) {
	t.Helper()
	for _, variable := range s.Env {
		name, value, _ := strings.Cut(variable, "=")
		was, set := os.LookupEnv(name)
		if err := os.Setenv(name, value); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if os.Unsetenv(name); set {
				os.Setenv(name, was)
			}
		})
	}
}

// arguments returns the arguments of a block for a location.
func arguments(block, place string) map[string]string {
	all := map[string]string{}
	for argument := range strings.SplitSeq(block, " ") {
		name, value, _ := strings.Cut(argument, "=")
		all[name] = strings.ReplaceAll(value, "NAME", place)
	}
	return all
}

// Object returns the text of a block for a location in the service, without its label.
func (s *Service) Object(place string) string {
	all := arguments(s.Block, place)
	text := "{\n"
	for _, name := range slices.Sorted(maps.Keys(all)) {
		text += fmt.Sprintf("  %s = %q\n", name, all[name])
	}
	return text + "}"
}

// Open opens a driver for a location.
func (s *Service) Open(t *testing.T, place string) remote.Driver {
	t.Helper()
	d, err := Driver(t.Context(), s.Kind, s.Block, place)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

// Driver is like Open, for another process than the one that started the service. It needs the variables of Env.
func Driver(ctx context.Context, kind, block, place string) (remote.Driver, error) {
	values := map[string]cty.Value{}
	for name, value := range arguments(block, place) {
		values[name] = cty.StringVal(value)
	}
	b, diags := backend.FromValue(kind, cty.ObjectVal(values))
	if diags.HasErrors() {
		return nil, diags.Err()
	}
	d, diags := b.Driver(ctx, remote.Surroundings{Getenv: os.Getenv})
	if diags.HasErrors() {
		return nil, diags.Err()
	}
	return d, nil
}
