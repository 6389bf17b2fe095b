package s3

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/tombolo-iac/tombolo/internal/store/remote/web"
)

// problem is an error whose text is for users and contains no secrets.
type problem struct {
	text string
	err  error
}

func (p *problem) Error() string { return p.text }
func (p *problem) Unwrap() error { return p.err }

// failed returns an error with the failed action, the reason and advice.
func (b *bucket) failed(ctx context.Context, what, key string, err error) error {
	return b.s.explain(ctx, what+" "+b.name(key), err, objectHint(what, err))
}

// withoutCredentials is the text with which the SDK begins the reason for missing credentials, because it has no type
// for such an error.
const withoutCredentials = "get credentials: "

// explain returns an error with a text for users.
func (s *settings) explain(ctx context.Context, what string, err error, hint string) error {
	if ctx.Err() != nil {
		return &problem{text: what + ": " + context.Cause(ctx).Error(), err: ctx.Err()}
	}
	text := what + ": " + web.Short(reason(err))
	if strings.Contains(err.Error(), withoutCredentials) {
		hint = "There are no usable credentials. Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a profile that " +
			"has them (AWS_PROFILE), or check the role to assume"
	}
	if hint != "" {
		text += ". " + hint
	}
	return &problem{text: s.clean(text), err: err}
}

// reason returns the service's error, or the reason why there is no response.
func reason(err error) string {
	var named smithy.APIError
	var answer *awshttp.ResponseError
	isAnswer := errors.As(err, &answer) && answer.HTTPStatusCode() != 0
	switch {
	case errors.As(err, &named) && isAnswer:
		text := named.ErrorCode()
		if m := named.ErrorMessage(); m != "" && m != text {
			text += ": " + strings.TrimSuffix(m, ".")
		}
		text += fmt.Sprintf(" (status %d", answer.HTTPStatusCode())
		if id := answer.ServiceRequestID(); id != "" {
			text += ", request " + id
		}
		return text + ")"
	case isAnswer:
		return fmt.Sprintf("the service answered with status %d", answer.HTTPStatusCode())
	}
	var unsent *smithyhttp.RequestSendError
	var op *smithy.OperationError
	switch {
	case errors.As(err, &unsent):
		err = unsent.Err
		if inner := (*url.Error)(nil); errors.As(err, &inner) {
			err = inner.Err
		}
		return "the service cannot be reached, or does not answer: " + strings.TrimSuffix(err.Error(), ".")
	case errors.As(err, &op):
		err = op.Err
	}
	return strings.TrimSuffix(err.Error(), ".")
}

// objectHint returns advice on an error of a bucket.
func objectHint(what string, err error) string {
	switch code(err) {
	case "NoSuchBucket":
		return "The backend does not create buckets: create it, or check bucket, region and endpoints"
	case "ExpiredToken", "ExpiredTokenException", "TokenRefreshRequired":
		return "The credentials have expired. Get new ones, and run again: the journal in the bucket has the results " +
			"so far"
	case "InvalidAccessKeyId", "SignatureDoesNotMatch":
		return "The credentials are wrong, or belong to another service. Check the arguments, the variables AWS_* " +
			"and the profile"
	case "RequestTimeTooSkewed":
		return "The clock of this machine is wrong. Correct it"
	case "PermanentRedirect", "AuthorizationHeaderMalformed", "IllegalLocationConstraintException":
		return "The bucket seems to be in another region: check the argument region"
	}
	switch status(err) {
	case http.StatusMovedPermanently, http.StatusTemporaryRedirect:
		return "The bucket seems to be in another region: check the argument region"
	case http.StatusForbidden:
		action := map[string]string{"read": "s3:GetObject", "look for": "s3:GetObject", "write": "s3:PutObject",
			"delete": "s3:DeleteObject", "list": "s3:ListBucket",
			"list versions": "s3:ListBucketVersions"}[what]
		hint := "Allow " + action + " to these credentials"
		if what == "read" || what == "look for" {
			hint += ", and s3:ListBucket for the bucket: without it, the service does not distinguish a missing " +
				"object from one that these credentials may not read"
		}
		return hint
	}
	return ""
}
