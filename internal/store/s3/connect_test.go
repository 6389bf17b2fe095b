package s3_test

import (
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/s3"
	"github.com/tombolo-iac/tombolo/state"
)

// Without credentials, or if the role may not be assumed, the error names the settings to set and not permissions of
// the bucket.
func TestMissingCredentialsHaveAdvice(t *testing.T) {
	home := t.TempDir()
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE",
		"AWS_ROLE_ARN", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_FULL_URI",
		"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"} {
		t.Setenv(name, "")
	}
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	t.Setenv("AWS_CONFIG_FILE", home+"/config")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", home+"/credentials")
	service := httptest.NewServer(serve(t))
	t.Cleanup(service.Close)
	refusing := httptest.NewServer(answering("403 AccessDenied"))
	t.Cleanup(refusing.Close)
	for name, more := range map[string]map[string]cty.Value{
		"none": {"access_key": cty.NullVal(cty.String), "secret_key": cty.NullVal(cty.String)},
		"a role": {"assume_role": cty.ObjectVal(map[string]cty.Value{
			"role_arn": cty.StringVal("arn:aws:iam::123456789012:role/r")}),
			"endpoints": cty.ObjectVal(map[string]cty.Value{"s3": cty.StringVal(service.URL),
				"sts": cty.StringVal(refusing.URL)})},
	} {
		p, err := open(t, settings(service.URL, more)).Place(state.DefaultWorkspace)
		must(t, err)
		if _, err := p.Read(t.Context()); err == nil || !strings.Contains(err.Error(), "AWS_PROFILE") ||
			strings.Contains(err.Error(), "Allow s3:") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Terraform's variable for configuration files replaces the argument.
func TestTheVariableNamesFilesOfSettings(t *testing.T) {
	home := t.TempDir()
	for name, value := range map[string]string{"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "", "AWS_PROFILE": "",
		"AWS_EC2_METADATA_DISABLED": "true", "AWS_CONFIG_FILE": home + "/none",
		"AWS_SHARED_CREDENTIALS_FILE": home + "/none", "AWS_SHARED_CONFIG_FILE": home + "/settings"} {
		t.Setenv(name, value)
	}
	must(t, os.WriteFile(home+"/settings", []byte("[default]\naws_access_key_id = AKID\naws_secret_access_key = key\n"),
		0o600))
	service := httptest.NewServer(serve(t))
	t.Cleanup(service.Close)
	d, diags := s3.Kind().Open(t.Context(), cty.ObjectVal(settings(service.URL, map[string]cty.Value{
		"access_key": cty.NullVal(cty.String), "secret_key": cty.NullVal(cty.String)})),
		remote.Surroundings{Getenv: os.Getenv})
	must(t, diags.Err())
	p, err := d.Place(state.DefaultWorkspace)
	must(t, err)
	_, err = p.Read(t.Context())
	must(t, err)
}
