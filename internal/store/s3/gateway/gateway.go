// Package gateway starts versitygw for tests, an S3 server that stores objects as files and enforces conditions
// strictly.
package gateway

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"
)

// Bucket is the name of the bucket; Access, Secret and Region are the server's credentials and region.
const (
	Bucket = "states"
	Access = "AKIDGATEWAY"
	Secret = "secret-of-the-gateway"
	Region = "us-east-1"
)

// Start starts a server with an empty bucket, which may keep versions, and returns its address. It skips the test if
// there is no versitygw, neither the one that TOMBOLO_VERSITYGW names nor one in PATH.
func Start(t *testing.T, versions bool) (address string) {
	t.Helper()
	bin := os.Getenv("TOMBOLO_VERSITYGW")
	if bin == "" {
		var err error
		if bin, err = exec.LookPath("versitygw"); err != nil {
			t.Skip("needs versitygw: go install github.com/versity/versitygw/cmd/versitygw@v1.8.0")
		}
	}
	listen := free(t)
	args := []string{"--quiet", "--port", listen, "--access", Access, "--secret", Secret, "--region", Region, "posix"}
	if versions {
		args = append(args, "--versioning-dir", t.TempDir())
	}
	c := exec.Command(bin, append(args, t.TempDir())...)
	c.Env = []string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH")}
	var output bytes.Buffer
	c.Stdout, c.Stderr = &output, &output
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
		if t.Failed() {
			t.Logf("versitygw:\n%s", output.String())
		}
	})
	address = "http://" + listen
	prepare(t, address, versions)
	return address
}

// free returns an unused address.
func free(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return "127.0.0.1:" + strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}

// prepare waits for the server, and creates the bucket.
func prepare(t *testing.T, address string, versions bool) {
	t.Helper()
	client := s3.New(s3.Options{Region: Region, BaseEndpoint: &address, UsePathStyle: true, RetryMaxAttempts: 1,
		HTTPClient:  &http.Client{Timeout: time.Minute},
		Credentials: credentials.NewStaticCredentialsProvider(Access, Secret, "")})
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	_, err := client.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: aws.String(Bucket)})
	for err != nil && !errors.As(err, new(smithy.APIError)) && ctx.Err() == nil { // it is not listening yet
		time.Sleep(20 * time.Millisecond)
		_, err = client.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: aws.String(Bucket)})
	}
	if err == nil && versions {
		_, err = client.PutBucketVersioning(ctx, &s3.PutBucketVersioningInput{Bucket: aws.String(Bucket),
			VersioningConfiguration: &types.VersioningConfiguration{Status: types.BucketVersioningStatusEnabled}})
	}
	if err != nil {
		t.Fatal(err)
	}
}
