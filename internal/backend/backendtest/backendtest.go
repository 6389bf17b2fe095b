// Package backendtest starts a small service for each backend that keeps states in one, for tests that every backend
// passes.
//
//	for _, kind := range backendtest.Kinds() {
//		s := backendtest.Start(t, kind)
//		driver := s.Open(t, "place 1")
//	}
package backendtest

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/backend"
	"github.com/tombolo-iac/tombolo/internal/store/azure/azuretest"
	consulserver "github.com/tombolo-iac/tombolo/internal/store/consul/server"
	cosserver "github.com/tombolo-iac/tombolo/internal/store/cos/server"
	gcsserver "github.com/tombolo-iac/tombolo/internal/store/gcs/server"
	httpserver "github.com/tombolo-iac/tombolo/internal/store/http/server"
	kubernetesserver "github.com/tombolo-iac/tombolo/internal/store/kubernetes/server"
	ociserver "github.com/tombolo-iac/tombolo/internal/store/oci/server"
	ossserver "github.com/tombolo-iac/tombolo/internal/store/oss/server"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/drivertest"
)

// Service is a service with nothing in it.
type Service struct {
	Kind string
	// Env are variables under which programs find the service. They are set in this process until the test ends.
	Env []string
	// Block has the arguments of a block, as "name=value name=value", where NAME stands for the name of a place.
	Block string
}

// starts are how services are started.
var starts = map[string]func(t *testing.T, s *Service) (arguments string){
	"azurerm": func(t *testing.T, s *Service) string {
		cloud := azuretest.Cloud{Blobs: &azuretest.Blobs{}}
		s.Env = cloud.Start(t)
		return "storage_account_name=" + azuretest.Account + " container_name=" + azuretest.Container +
			" key=NAME access_key=" + azuretest.Key
	},
	"consul": func(t *testing.T, _ *Service) string {
		c := &consulserver.Server{}
		address := drivertest.Serve(t, c)
		t.Cleanup(c.Close) // ends who waits for a key, before the server waits for them
		return "path=states/NAME address=" + strings.TrimPrefix(address, "http://")
	},
	"cos": func(t *testing.T, s *Service) string {
		s.Env = (&drivertest.Cloud{Services: &cosserver.Server{Bucket: "states-1250000000"}}).Start(t)
		return "bucket=states-1250000000 region=ap-guangzhou prefix=NAME secret_id=" + cosserver.SecretID +
			" secret_key=" + cosserver.SecretKey
	},
	"gcs": func(t *testing.T, _ *Service) string {
		return "bucket=states prefix=NAME access_token=token storage_custom_endpoint=" +
			drivertest.Serve(t, gcsserver.New("states")) + "/storage/v1/"
	},
	"http": func(t *testing.T, _ *Service) string {
		address := drivertest.Serve(t, &httpserver.Server{}) + "/NAME"
		return "address=" + address + " lock_address=" + address + " unlock_address=" + address
	},
	"kubernetes": func(t *testing.T, _ *Service) string {
		return "secret_suffix=NAME-state token=token host=" + drivertest.Serve(t,
			&kubernetesserver.Server{Token: "token"})
	},
	"oci": func(t *testing.T, s *Service) string {
		there := ociserver.New("acme", "states")
		s.Env = []string{"CLIENT_HOST_OVERRIDES=oci_object_storage.ObjectStorageClient=" + drivertest.Serve(t, there),
			"OCI_private_key=" + there.PEM()}
		return "bucket=states namespace=acme region=us-ashburn-1 key=NAME tenancy_ocid=" + ociserver.Tenancy +
			" user_ocid=" + ociserver.User + " fingerprint=" + ociserver.Fingerprint
	},
	"oss": func(t *testing.T, _ *Service) string {
		address := drivertest.Serve(t, &ossserver.Server{Bucket: "states"})
		return "bucket=states prefix=NAME region=cn-beijing tablestore_table=locks access_key=" + ossserver.AccessKey +
			" secret_key=" + ossserver.Secret + " endpoint=" + address + " tablestore_endpoint=" + address
	},
	"s3": func(t *testing.T, s *Service) string {
		objects := s3mem.New()
		if err := objects.CreateBucket("b"); err != nil {
			t.Fatal(err)
		}
		s.Env = []string{"AWS_ENDPOINT_URL_S3=" + drivertest.Serve(t, gofakes3.New(objects).Server())}
		return "bucket=b key=NAME region=eu-central-1 use_lockfile=true access_key=key secret_key=secret " +
			"use_path_style=true skip_metadata_api_check=true skip_credentials_validation=true " +
			"skip_requesting_account_id=true"
	},
}

// Kinds are the backends that there are services for.
func Kinds() []string { return slices.Sorted(maps.Keys(starts)) }

// Start starts the service of a backend, which ends with the test.
func Start(t *testing.T, kind string) *Service {
	t.Helper()
	s := &Service{Kind: kind}
	s.Block = starts[kind](t, s)
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
	return s
}

// arguments are those of a block for a place.
func arguments(block, place string) map[string]string {
	all := map[string]string{}
	for argument := range strings.SplitSeq(block, " ") {
		name, value, _ := strings.Cut(argument, "=")
		all[name] = strings.ReplaceAll(value, "NAME", place)
	}
	return all
}

// Object returns the text of a block for its own place in the service, without its label.
func (s *Service) Object(place string) string {
	all := arguments(s.Block, place)
	text := "{\n"
	for _, name := range slices.Sorted(maps.Keys(all)) {
		text += fmt.Sprintf("  %s = %q\n", name, all[name])
	}
	return text + "}"
}

// Open opens a driver for a place.
func (s *Service) Open(t *testing.T, place string) remote.Driver {
	t.Helper()
	d, err := Driver(t.Context(), s.Kind, s.Block, place)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

// Driver is Open in another process than the one that has started the service, with its variables.
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
