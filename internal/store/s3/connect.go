package s3

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sso"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/aws-sdk-go-v2/service/sts/types"
	"github.com/aws/smithy-go/logging"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"golang.org/x/net/http/httpproxy"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/regular"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/arguments"
	"github.com/tombolo-iac/tombolo/internal/store/remote/web"
)

// Limits of the wait for a service: for a connection, for a response, for the next bytes.
const (
	dialTimeout   = 15 * time.Second
	answerTimeout = 60 * time.Second
	maxHeader     = 256 << 10 // bytes
)

// connect returns the driver. It finds the source of credentials and configures the clients.
func connect(ctx context.Context, s *settings, o remote.Surroundings) (*driver, diag.List) {
	var diags diag.List
	cfg, err := s.config(ctx, o)
	if err != nil {
		return nil, diags.Errorf(nil, "No access to the backend \"s3\"", "%s", s.clean(err.Error()))
	}
	if cfg.Region == "" {
		return nil, diags.Append(&diag.Diagnostic{Severity: diag.Error, Summary: "Missing region value",
			Detail: "The argument \"region\" or one of the environment variables AWS_REGION and AWS_DEFAULT_REGION " +
				"must be set."})
	}
	if err := s.account(ctx, cfg); err != nil {
		return nil, diags.Errorf(nil, "Wrong account for the backend \"s3\"", "%s", s.clean(err.Error()))
	}
	return newDriver(s, cfg, o), diags
}

// config determines the credentials and connections of requests to the services.
func (s *settings) config(ctx context.Context, o remote.Surroundings) (cfg aws.Config, err error) {
	for _, name := range slices.Concat(s.configs, s.credentials) { // the SDK reads these files
		if err := regular.CheckFile(name, regular.Record); err != nil {
			return cfg, err
		}
	}
	if err := judgeNamed(slices.Concat(s.configs, s.credentials)); err != nil {
		return cfg, err
	}
	if s.web != nil && s.web.tokenFile != "" {
		if err := regular.CheckFile(s.web.tokenFile, regular.Note); err != nil {
			return cfg, err
		}
	}
	client, err := s.client()
	if err != nil {
		return cfg, err
	}
	if cfg, err = config.LoadDefaultConfig(ctx, s.load(client, o)...); err != nil {
		return cfg, fmt.Errorf("the settings of AWS cannot be used: %w", err)
	}
	cfg.HTTPClient = newBoundedClient(cfg.HTTPClient)
	s.roles(&cfg)
	return cfg, nil
}

// client returns the HTTP client.
func (s *settings) client() (*awshttp.BuildableClient, error) {
	var roots *x509.CertPool
	if s.caBundle != "" {
		pem, err := regular.Read(s.caBundle, regular.Record)
		if err != nil {
			return nil, err
		}
		if roots = x509.NewCertPool(); !roots.AppendCertsFromPEM(pem) {
			return nil, errors.New("custom_ca_bundle: there is no certificate in PEM in " + s.caBundle)
		}
	}
	return awshttp.NewBuildableClient().WithReadTimeout(web.Silence).WithTransportOptions(func(t *http.Transport) {
		t.Proxy = s.proxies()
		t.ResponseHeaderTimeout = answerTimeout
		t.MaxResponseHeaderBytes = maxHeader
		if t.TLSClientConfig == nil {
			t.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12}
		}
		if roots != nil {
			t.TLSClientConfig.RootCAs = roots
		}
		t.TLSClientConfig.InsecureSkipVerify = s.insecure
	}), nil
}

// proxies returns a function that selects the proxy of a request. The block takes precedence over the environment.
func (s *settings) proxies() func(*http.Request) (*url.URL, error) {
	c := httpproxy.FromEnvironment()
	if s.proxy != nil {
		c.HTTPProxy = *s.proxy
		if s.secureProxy == nil && c.HTTPSProxy == "" {
			c.HTTPSProxy = *s.proxy
		}
	}
	if s.secureProxy != nil {
		c.HTTPSProxy = *s.secureProxy
	}
	if s.noProxy != nil {
		c.NoProxy = *s.noProxy
	}
	f := c.ProxyFunc()
	return func(r *http.Request) (*url.URL, error) { return f(r.URL) }
}

// load returns the options with which the SDK loads its settings.
func (s *settings) load(client *awshttp.BuildableClient, o remote.Surroundings) []func(*config.LoadOptions) error {
	opts := []func(*config.LoadOptions) error{
		config.WithHTTPClient(client),
		config.WithRetryer(s.retryer(o)),
		config.WithLogger(logging.LoggerFunc(func(_ logging.Classification, format string, args ...any) {
			o.Log("%s", s.clean(fmt.Sprintf("s3: "+format, args...)))
		})),
		config.WithServiceOptions(func(_ string, options any) {
			if so, ok := options.(*sso.Options); ok && s.endpoints["sso"] != "" {
				so.BaseEndpoint = aws.String(s.endpoints["sso"])
			}
			if st, ok := options.(*sts.Options); ok {
				s.stsOptions(st)
			}
		}),
	}
	if s.region != "" {
		opts = append(opts, config.WithRegion(s.region))
	}
	if s.profile != "" {
		opts = append(opts, config.WithSharedConfigProfile(s.profile))
	}
	if len(s.configs) > 0 {
		opts = append(opts, config.WithSharedConfigFiles(s.configs))
	}
	if len(s.credentials) > 0 {
		opts = append(opts, config.WithSharedCredentialsFiles(s.credentials))
	}
	if s.access != "" {
		opts = append(opts, config.WithCredentialsProvider(
			credentials.NewStaticCredentialsProvider(s.access, s.secret, s.token)))
	}
	if s.skipMetadata {
		opts = append(opts, config.WithEC2IMDSClientEnableState(imds.ClientDisabled))
	}
	if s.metadata != "" {
		opts = append(opts, config.WithEC2IMDSEndpoint(s.metadata))
	}
	switch {
	case strings.EqualFold(s.metadataMode, "IPv4"):
		opts = append(opts, config.WithEC2IMDSEndpointMode(imds.EndpointModeStateIPv4))
	case strings.EqualFold(s.metadataMode, "IPv6"):
		opts = append(opts, config.WithEC2IMDSEndpointMode(imds.EndpointModeStateIPv6))
	}
	if s.dualStack {
		opts = append(opts, config.WithUseDualStackEndpoint(aws.DualStackEndpointStateEnabled))
	}
	if s.fips {
		opts = append(opts, config.WithUseFIPSEndpoint(aws.FIPSEndpointStateEnabled))
	}
	if s.skipChecksum {
		opts = append(opts, config.WithRequestChecksumCalculation(aws.RequestChecksumCalculationWhenRequired),
			config.WithResponseChecksumValidation(aws.ResponseChecksumValidationWhenRequired))
	}
	return opts
}

// defaultRetries is how often a request is retried.
const defaultRetries = 5

// longestPause limits the pause before a retry.
const longestPause = 5 * time.Second

func (s *settings) retryer(o remote.Surroundings) func() aws.Retryer {
	attempts, mode := s.retries+1, s.retryMode
	if s.retries < 0 {
		attempts = defaultRetries + 1
		if n, err := strconv.Atoi(o.Getenv("AWS_MAX_ATTEMPTS")); err == nil && n > 0 {
			attempts = n
		}
	}
	if mode == "" {
		mode = o.Getenv("AWS_RETRY_MODE")
	}
	standard := func(so *retry.StandardOptions) {
		so.MaxAttempts, so.MaxBackoff, so.RateLimiter = attempts, s.pause, ratelimit.None
		so.Retryables = append(slices.Clone(so.Retryables),
			retry.RetryableHTTPStatusCode{Codes: map[int]struct{}{http.StatusTooManyRequests: {}}},
			retry.RetryableErrorCode{Codes: map[string]struct{}{"ConditionalRequestConflict": {},
				"OperationAborted": {},
				"TooManyRequests":  {}, "ServiceUnavailable": {}, "InternalError": {}}})
	}
	return func() aws.Retryer {
		if mode == string(aws.RetryModeAdaptive) {
			return patient{retry.NewAdaptiveMode(func(a *retry.AdaptiveModeOptions) {
				a.StandardOptions = append(a.StandardOptions, standard)
			}), s.pause}
		}
		return patient{retry.NewStandard(standard), s.pause}
	}
}

// patient keeps pauses that services request, up to one minute, which the SDK ignores.
type patient struct {
	aws.RetryerV2
	most time.Duration // limit of pauses that no service requests
}

// RetryDelay implements aws.Retryer.
func (p patient) RetryDelay(attempt int, err error) (time.Duration, error) {
	if answer := (*smithyhttp.ResponseError)(nil); errors.As(err, &answer) && answer.Response != nil {
		if asked := web.Asked(answer.Response.Header); asked > 0 {
			return min(asked, 12*p.most), nil
		}
	}
	return p.RetryerV2.RetryDelay(attempt, err)
}

func (s *settings) stsOptions(st *sts.Options) {
	if s.stsRegion != "" {
		st.Region = s.stsRegion
	}
	if s.endpoints["sts"] != "" {
		st.BaseEndpoint = aws.String(s.endpoints["sts"])
	}
}

// roles makes the credentials assume the roles of the block.
func (s *settings) roles(cfg *aws.Config) {
	if w := s.web; w != nil {
		var token stscreds.IdentityTokenRetriever = stscreds.IdentityTokenFile(w.tokenFile)
		if w.token != "" {
			token = literal(w.token)
		}
		cfg.Credentials = aws.NewCredentialsCache(stscreds.NewWebIdentityRoleProvider(sts.NewFromConfig(*cfg), w.arn,
			token, func(o *stscreds.WebIdentityRoleOptions) {
				o.RoleSessionName, o.Duration = w.session, w.duration
				o.PolicyARNs, o.Policy = descriptors(w.policies), optional(w.policy)
			}))
	}
	if a := s.assume; a != nil {
		base := *cfg
		cfg.Credentials = aws.NewCredentialsCache(stscreds.NewAssumeRoleProvider(sts.NewFromConfig(base), a.arn,
			func(o *stscreds.AssumeRoleOptions) {
				if a.session != "" {
					o.RoleSessionName = a.session
				}
				o.Duration, o.ExternalID, o.SourceIdentity = a.duration, optional(a.externalID), optional(a.source)
				o.PolicyARNs, o.Policy, o.TransitiveTagKeys = descriptors(a.policies), optional(a.policy), a.transitive
				for k, v := range a.tags {
					o.Tags = append(o.Tags, types.Tag{Key: aws.String(k), Value: aws.String(v)})
				}
			}))
	}
}

// literal is a token in the block itself.
type literal string

// GetIdentityToken implements stscreds.IdentityTokenRetriever.
func (l literal) GetIdentityToken() ([]byte, error) { return []byte(l), nil }

func descriptors(arns []string) (out []types.PolicyDescriptorType) {
	for _, arn := range arns {
		out = append(out, types.PolicyDescriptorType{Arn: aws.String(arn)})
	}
	return out
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// account checks that the account is an allowed one. Without such settings it sends no request.
func (s *settings) account(ctx context.Context, cfg aws.Config) error {
	if len(s.allowed)+len(s.forbidden) == 0 || s.skipAccount && len(s.allowed) == 0 {
		return nil
	}
	if s.skipAccount {
		return errors.New(
			"allowed_account_ids names accounts, but skip_requesting_account_id disables reading the account. Remove " +
				"one of the two")
	}
	who, err := sts.NewFromConfig(cfg).GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
	if err != nil {
		return errors.New(
			"the account ID cannot be read; it is needed for allowed_account_ids or forbidden_account_ids: " +
				err.Error())
	}
	id := aws.ToString(who.Account)
	if slices.Contains(s.forbidden, id) || len(s.allowed) > 0 && !slices.Contains(s.allowed, id) {
		return errors.New("the credentials are those of the account " + id +
			", which allowed_account_ids or forbidden_account_ids excludes. Use credentials of another account")
	}
	return nil
}

// clients returns the clients of the services.
func (s *settings) clients(cfg aws.Config) (*s3.Client, *dynamodb.Client) {
	objects := s3.NewFromConfig(cfg, func(o *s3.Options) {
		o.UsePathStyle = s.pathStyle
		o.DisableLogOutputChecksumValidationSkipped = true
		if e := s.endpoints["s3"]; e != "" {
			o.BaseEndpoint = aws.String(e)
		}
	})
	if s.table == "" {
		return objects, nil
	}
	return objects, dynamodb.NewFromConfig(cfg, func(o *dynamodb.Options) {
		if e := s.endpoints["dynamodb"]; e != "" {
			o.BaseEndpoint = aws.String(e)
		}
	})
}

// clean removes secrets from a text.
func (s *settings) clean(text string) string { return arguments.Hide(text, s.secrets) }
