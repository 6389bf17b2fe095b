//go:build unix

package team

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/tombolo-iac/tombolo/internal/encryption"
	"github.com/tombolo-iac/tombolo/internal/store/gcs/server"
)

const keysHost = "cloudkms.googleapis.com"

// bytesCodec leaves messages as they are.
type bytesCodec struct{}

func (bytesCodec) Marshal(v any) ([]byte, error)      { return v.([]byte), nil }
func (bytesCodec) Unmarshal(data []byte, v any) error { *v.(*[]byte) = data; return nil }
func (bytesCodec) Name() string                       { return "proto" }

// fields are those of a message that are texts.
func fields(message []byte) map[protowire.Number][]byte {
	all := map[protowire.Number][]byte{}
	for len(message) > 0 {
		n, kind, size := protowire.ConsumeTag(message)
		if size < 0 {
			return all
		}
		message = message[size:]
		if kind == protowire.BytesType {
			text, size := protowire.ConsumeBytes(message)
			all[n], message = text, message[max(size, 0):]
		} else {
			message = message[max(protowire.ConsumeFieldValue(n, kind, message), 0):]
		}
	}
	return all
}

// cloudKeys is Cloud KMS under its own name, by both of its protocols: OpenTofu speaks one and we the other. Programs
// reach it by the environment that it returns, over a proxy.
func cloudKeys(t *testing.T) (env []string) {
	t.Helper()
	service := server.New()
	calls := grpc.NewServer(grpc.ForceServerCodec(bytesCodec{}), grpc.UnknownServiceHandler(
		func(_ any, stream grpc.ServerStream) error {
			var message []byte
			if err := stream.RecvMsg(&message); err != nil {
				return err
			}
			in := fields(message)
			method, _ := grpc.MethodFromServerStream(stream)
			number, call := protowire.Number(2), service.Seal
			if strings.HasSuffix(method, "/Decrypt") {
				number, call = 1, service.Open
			}
			out, err := call(string(in[1]), in[2])
			if err != nil {
				return status.Error(codes.InvalidArgument, err.Error())
			}
			return stream.SendMsg(protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), out))
		}))
	web := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.Header.Get("Content-Type"), "application/grpc") {
			calls.ServeHTTP(w, r)
			return
		}
		service.ServeHTTP(w, r)
	}))
	web.EnableHTTP2 = true
	roots, certificate := certify(t, keysHost)
	web.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
	web.StartTLS()
	t.Cleanup(web.Close)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect || r.Host != keysHost+":443" {
			http.Error(w, "only "+keysHost+" is here", http.StatusForbidden)
			return
		}
		there, err := net.Dial("tcp", web.Listener.Addr().String())
		if err != nil {
			t.Error(err)
			return
		}
		defer there.Close()
		here, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer here.Close()
		_, _ = io.WriteString(here, "HTTP/1.1 200 Connection established\r\n\r\n")
		ended := make(chan bool, 2)
		for _, way := range [][2]net.Conn{{here, there}, {there, here}} {
			go func() {
				_, _ = io.Copy(way[0], way[1])
				ended <- true
			}()
		}
		<-ended
	}))
	t.Cleanup(proxy.Close)
	return []string{"HTTPS_PROXY=" + proxy.URL, "NO_PROXY=",
		"SSL_CERT_FILE=" + roots, "GOOGLE_OAUTH_ACCESS_TOKEN=token"}
}

// certify returns a certificate for a host, and a file by which it is trusted.
func certify(t *testing.T, host string) (roots string, _ tls.Certificate) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	about := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: host},
		DNSNames:  []string{host},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), IsCA: true,
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign}
	raw, err := x509.CreateCertificate(rand.Reader, about, about, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	roots = filepath.Join(t.TempDir(), "roots.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw})
	if err := os.WriteFile(roots, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return roots, tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: key}
}

const sealingInCloud = `
key_provider "gcp_kms" "a" {
  kms_encryption_key = "projects/p/locations/global/keyRings/r/cryptoKeys/states"
  key_length         = 32
}
method "aes_gcm" "a" {
  keys = key_provider.gcp_kms.a
}
state {
  method   = method.aes_gcm.a
  enforced = true
}`

// What OpenTofu seals with a key of Cloud KMS is opened here, and the reverse.
func TestKeysOfCloudKMSAreSharedWithTofu(t *testing.T) {
	other := theirs(t, "tofu", "TOMBOLO_TOFU")
	file := filepath.Join(t.TempDir(), "state")
	p := place{block: "backend \"local\" {\n  path = \"" + file + "\"\n}",
		env: append(cloudKeys(t), encryption.Variable+"="+sealingInCloud)}
	one, two := p.member(t, "tombolo", ours), p.member(t, "tofu", other)
	names := `-var=names=["b","c"]`
	for _, turn := range [][2]*member{{one, two}, {two, one}} {
		turn[0].run("apply", "-auto-approve", "-no-color")
		text, err := os.ReadFile(file)
		if err != nil || strings.Contains(string(text), "terraform_data") ||
			!strings.Contains(string(text), "key_provider.gcp_kms.a") {
			t.Errorf("%s wrote %s, %v", turn[0].name, text, err)
		}
		turn[1].idle()
		turn[1].run("apply", "-auto-approve", "-no-color", names)
		turn[0].idle(names)
	}
	one.env = append(one.env, encryption.Variable+"="+strings.Replace(sealingInCloud, "cryptoKeys/states",
		"cryptoKeys/others", 1))
	if out := one.fails("plan", "-no-color"); !strings.Contains(out, "cryptoKeys/others") {
		t.Errorf("with a key that is not there:\n%s", out)
	}
}
