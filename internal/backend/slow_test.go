package backend_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/tombolo-iac/tombolo/internal/backend/backendtest"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/drivertest"
	"github.com/tombolo-iac/tombolo/internal/store/remote/progress"
	"github.com/tombolo-iac/tombolo/state"
)

// Every service can transfer a large state over a slow network, although that takes several times the silence limit of
// a call.
func TestLargeStatesGoOverSlowNetworks(t *testing.T) {
	if os.Getenv("TOMBOLO_CRASH_FULL") == "" {
		t.Skip("runs with TOMBOLO_CRASH_FULL=1: each service takes a minute")
	}
	const size, rate, silence = 16 << 20, 512 << 10, 20 * time.Second // long enough for busy machines
	b := make([]byte, size*3/4)                                       // incompressible
	r := rand.NewChaCha8([32]byte{1})
	_, _ = r.Read(b)
	text := base64.StdEncoding.EncodeToString(b)
	document, err := json.Marshal(map[string]any{"version": 4, "serial": 1, "lineage": "l", "outputs": map[string]any{
		"o": map[string]any{"type": "string", "value": text}}, "resources": []any{}})
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range backendtest.Kinds() {
		t.Run(kind, func(t *testing.T) {
			s := backendtest.Serve(t, kind)
			texts := []*string{&s.Block}
			for i := range s.Env {
				texts = append(texts, &s.Env[i])
			}
			drivertest.Slow(t, rate, texts...)
			s.Set(t)
			p, err := s.Open(t, "place").Place(state.DefaultWorkspace)
			if err != nil {
				t.Fatal(err)
			}
			h, err := p.Lock(t.Context(), drivertest.Info("0b5c8e7e-6c1f-4d9e-9d6d-000000000001"))
			if err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			ctx, cancel := progress.Within(t.Context(), silence)
			defer cancel()
			_, err = h.Write(ctx, remote.Write{Data: document, Lineage: "l", Serial: 1})
			took := time.Since(began)
			if err != nil || took < 3*silence/2 {
				t.Fatalf("written after %s: %v", took, err)
			}
			ctx, cancel = progress.Within(t.Context(), silence)
			defer cancel()
			there, err := p.Read(ctx)
			if err != nil || !bytes.Equal(there.Data, document) {
				t.Errorf("read %d bytes of %d, %v", len(there.Data), len(document), err)
			}
			t.Logf("written after %s, read after %s more", took.Round(time.Second),
				(time.Since(began) - took).Round(time.Second))
			if err := h.Unlock(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}
