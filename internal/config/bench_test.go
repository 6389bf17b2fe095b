package config_test

import (
	"context"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/config"
)

func BenchmarkLoad(b *testing.B) {
	files := map[string][]byte{
		"main.tf": []byte(lines(10000, "resource \"terraform_data\" \"r%d\" {\n  input = \"x-${local.a}\"\n}\n") +
			"locals {\n  a = 1\n}\n"),
	}
	b.SetBytes(int64(len(files["main.tf"])))
	b.ReportAllocs()
	for b.Loop() {
		if _, diags := config.Load(context.Background(), config.Options{Files: config.SnapshotFiles(files),
			LanguageVersion: languageVersion}); len(diags) > 0 {
			b.Fatal(diags.Err())
		}
	}
}
