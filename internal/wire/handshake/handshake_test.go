package handshake

import (
	"crypto/x509"
	"encoding/base64"
	"net"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/tombolo-iac/tombolo/internal/wire"
)

func TestIntroductionsAreRead(t *testing.T) {
	own, err := Identity()
	if err != nil {
		t.Fatal(err)
	}
	certificate := base64.RawStdEncoding.EncodeToString(own.Certificate[0])
	h, err := Parse("1|6|unix|/tmp/plugin1|grpc|"+certificate+"|true\r\n", []int{5, 6})
	if err != nil || h.Version != 6 || h.Network != "unix" || h.Address != "/tmp/plugin1" || h.Certificate == nil ||
		h.Certificate.VerifyHostname(ServerName) != nil {
		t.Errorf("got %+v, %v", h, err)
	}
	if h, err := Parse("1|5|tcp|127.0.0.1:1|grpc|old extra", []int{5}); err != nil || h.Certificate != nil {
		t.Errorf("an open connection: %+v, %v", h, err)
	}
	for line, says := range map[string]string{
		"": "five fields", "1|6|unix|x": "five fields", "1|6|unix|x|netrpc": "grpc", "2|6|unix|x|grpc": "version 2",
		"1|six|unix|x|grpc": `version "six"`, "1|7|unix|x|grpc": "expected one of [5 6]",
		"1|6|unix|x|grpc|" + strings.Repeat("-", 60): "certificate",
		"1|6|unix|x|grpc|" + strings.Repeat("A", 60): "certificate",
	} {
		if _, err := Parse(line, []int{5, 6}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: got %v, want an error that says %q", line, err, says)
		}
	}
}

func TestTheBestCommonVersionIsChosen(t *testing.T) {
	both := map[int]*wire.Server{5: nil, 6: nil}
	for offered, want := range map[string]int{"5,6": 6, "6,5": 6, "5": 5, "": 5, "7": 5, "16": 5} {
		if got := chooseVersion(offered, both); got != want {
			t.Errorf("offered %q: got %d, want %d", offered, got, want)
		}
	}
}

func TestOutputIsReadAsItWasSent(t *testing.T) {
	for _, c := range []chunk{{1, []byte("out\n")}, {2, []byte("\xff\x00")}, {2, []byte(strings.Repeat("x", 5000))}} {
		b, err := proto.Marshal(c.message())
		if err != nil {
			t.Fatal(err)
		}
		got := new(emptypb.Empty)
		if err := proto.Unmarshal(b, got); err != nil {
			t.Fatal(err)
		}
		if data, isError := ReadOutput(got); string(data) != string(c.data) || isError != (c.channel == 2) {
			t.Errorf("sent %q on %d, got %q, %v", c.data, c.channel, data, isError)
		}
	}
}

func TestTheFirstFreePortIsTaken(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	_, port, err := net.SplitHostPort(taken.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if l, err := listenOnPort(port, port); err == nil {
		l.Close()
		t.Error("a port that is taken was taken again")
	}
	l, err := listenOnPort("", "")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	if _, err := listenOnPort("x", "1"); err == nil || !strings.Contains(err.Error(), `port "x"`) {
		t.Errorf("got %v", err)
	}
}

func TestAHostWithoutACertificateInPEMIsRefused(t *testing.T) {
	if _, err := serverTLS("nonsense"); err == nil || !strings.Contains(err.Error(), CertificateVariable) {
		t.Errorf("got %v", err)
	}
	own, err := Identity()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := x509.ParseCertificate(own.Certificate[0]); err != nil {
		t.Error(err)
	}
}
