package machines

import (
	"bytes"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
)

// keys holds the credentials for the machines of a connection.
type keys struct {
	agent    agent.Agent // nil if there is none
	conn     io.Closer
	identity string
}

// openKeys connects to the user's SSH agent, if it is allowed and there is one.
func openKeys(c *Connection) (*keys, error) {
	k := &keys{identity: c.AgentIdentity}
	socket := os.Getenv("SSH_AUTH_SOCK")
	if !c.Agent || socket == "" {
		return k, nil
	}
	conn, err := net.Dial("unix", socket)
	if err != nil {
		return nil, fmt.Errorf("connecting to the SSH agent that SSH_AUTH_SOCK names: %w; set agent = false if you "+
			"do not need it", err)
	}
	k.agent, k.conn = agent.NewClient(conn), conn
	return k, nil
}

func (k *keys) close() {
	if k.conn != nil {
		_ = k.conn.Close()
	}
}

// config returns the SSH configuration for one machine: with its key, its password, and the keys of the agent, in this
// order.
func (k *keys) config(h *Hop) (*ssh.ClientConfig, error) {
	config := &ssh.ClientConfig{User: h.User, HostKeyCallback: ssh.InsecureIgnoreHostKey(), Timeout: dialTimeout}
	if h.HostKey != "" {
		if err := checkHost(config, h); err != nil {
			return nil, err
		}
	}
	if h.PrivateKey != "" {
		signer, err := signer(h)
		if err != nil {
			return nil, err
		}
		config.Auth = append(config.Auth, ssh.PublicKeys(signer))
	}
	if k.agent != nil {
		config.Auth = append(config.Auth, ssh.PublicKeysCallback(k.signers))
	}
	if h.Password != "" {
		config.Auth = append(config.Auth, ssh.Password(h.Password), ssh.KeyboardInteractive(
			func(_, _ string, questions []string, _ []bool) ([]string, error) {
				answers := make([]string, len(questions))
				for i := range answers {
					answers[i] = h.Password
				}
				return answers, nil
			}))
	}
	return config, nil
}

// signer returns the private key of a machine, with its certificate if there is one.
func signer(h *Hop) (ssh.Signer, error) {
	block, _ := pem.Decode([]byte(h.PrivateKey))
	if block == nil {
		return nil, errors.New("failed to read ssh private key: no key found: private_key is the text of the key, " +
			`not the name of its file; file("~/.ssh/id_ed25519") reads one`)
	}
	s, err := ssh.ParsePrivateKey([]byte(h.PrivateKey))
	var locked *ssh.PassphraseMissingError
	switch {
	case errors.As(err, &locked):
		return nil, errors.New("failed to read ssh private key: password protected keys are not supported. Decrypt " +
			"it, or add it to an SSH agent and leave private_key out")
	case err != nil:
		return nil, fmt.Errorf("failed to parse ssh private key: %w", err)
	case h.Certificate == "":
		return s, nil
	}
	public, _, _, _, err := ssh.ParseAuthorizedKey([]byte(h.Certificate))
	if err != nil {
		return nil, fmt.Errorf("failed to parse the certificate: %w", err)
	}
	cert, ok := public.(*ssh.Certificate)
	if !ok {
		return nil, fmt.Errorf("the certificate is a plain public key of type %s, not a certificate", public.Type())
	}
	s, err = ssh.NewCertSigner(cert, s)
	if err != nil {
		return nil, fmt.Errorf("the certificate does not belong to the private key: %w", err)
	}
	return s, nil
}

// signers returns the keys of the agent, beginning with the one that the block names.
func (k *keys) signers() ([]ssh.Signer, error) {
	signers, err := k.agent.Signers()
	if err != nil || k.identity == "" {
		return signers, err
	}
	list, err := k.agent.List()
	if err != nil {
		return nil, err
	}
	named := func(s ssh.Signer) bool {
		blob := s.PublicKey().Marshal()
		i := slices.IndexFunc(list, func(a *agent.Key) bool { return bytes.Equal(a.Blob, blob) })
		return i >= 0 && (list[i].Comment == k.identity || filepath.Base(list[i].Comment) == k.identity) ||
			bytes.Equal(blob, identityOf(k.identity))
	}
	slices.SortStableFunc(signers, func(a, b ssh.Signer) int {
		switch x, y := named(a), named(b); {
		case x == y:
			return 0
		case x:
			return -1
		}
		return 1
	})
	return signers, nil
}

// identityOf returns the public key of an identity, which is the key itself or the name of a file with the key.
func identityOf(identity string) []byte {
	text := []byte(identity)
	if !strings.Contains(identity, " ") {
		for _, name := range []string{identity + ".pub", identity} {
			if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() && info.Size() < 1<<16 {
				if text, err = os.ReadFile(name); err == nil {
					break
				}
			}
		}
	}
	key, _, _, _, err := ssh.ParseAuthorizedKey(text)
	if err != nil {
		return nil
	}
	return key.Marshal()
}

// A hostKeyError means that the host key of a machine differs from the one in the block.
type hostKeyError struct {
	host      string
	got, want string
}

func (e *hostKeyError) Error() string {
	return fmt.Sprintf("%s has a different host key than the connection block: found %s, expected %s. Either the "+
		"address belongs to another machine, or host_key is out of date. Nothing was sent to the machine",
		e.host, e.got, e.want)
}

// checkHost makes the configuration check a machine's host key.
func checkHost(config *ssh.ClientConfig, h *Hop) error {
	want, _, _, _, err := ssh.ParseAuthorizedKey([]byte(h.HostKey))
	if err != nil {
		return fmt.Errorf("host_key is not a public key: %w; expected a line of ssh-keyscan without the host",
			err)
	}
	same := func(key ssh.PublicKey) bool { return bytes.Equal(key.Marshal(), want.Marshal()) }
	wrong := func(key ssh.PublicKey) error {
		return &hostKeyError{h.address(), ssh.FingerprintSHA256(key), ssh.FingerprintSHA256(want)}
	}
	checker := &ssh.CertChecker{
		IsHostAuthority: func(key ssh.PublicKey, _ string) bool { return same(key) },
		HostKeyFallback: func(_ string, _ net.Addr, key ssh.PublicKey) error {
			if !same(key) {
				return wrong(key)
			}
			return nil
		},
	}
	config.HostKeyCallback = func(host string, at net.Addr, key ssh.PublicKey) error {
		if cert, ok := key.(*ssh.Certificate); ok && !same(cert.SignatureKey) {
			if same(cert.Key) {
				return nil
			}
			return wrong(cert.SignatureKey)
		}
		return checker.CheckHostKey(host, at, key)
	}
	// A machine has keys of several types: request a certified one, or one of the known type.
	config.HostKeyAlgorithms = append(slices.Clone(certificates), algorithms(want.Type())...)
	return nil
}

var certificates = []string{ssh.CertAlgoED25519v01, ssh.CertAlgoECDSA256v01, ssh.CertAlgoECDSA384v01,
	ssh.CertAlgoECDSA521v01, ssh.CertAlgoRSASHA256v01, ssh.CertAlgoRSASHA512v01}

func algorithms(keyType string) []string {
	if keyType == ssh.KeyAlgoRSA {
		return []string{ssh.KeyAlgoRSASHA256, ssh.KeyAlgoRSASHA512}
	}
	return []string{keyType}
}
