package s3

import (
	"bytes"
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"

	buckets "github.com/tombolo-iac/tombolo/internal/store/remote/bucket"
	"github.com/tombolo-iac/tombolo/internal/store/remote/objects"
)

// bucket is a client for a bucket, with the settings that all objects share.
type bucket struct {
	client     *s3.Client
	s          *settings
	log        func(format string, args ...any)
	conditions conditions
	most       int64 // maximum size of an object: bounds a response without end
}

// stored is an object as it was last read.
type stored struct {
	data []byte
	etag string
	meta map[string]string
}

// condition is the required current content of a name to be written. The zero value is no condition.
type condition struct {
	absent bool   // the object must not exist
	etag   string // required entity tag
}

// errUnmet means that a condition did not hold and nothing was written.
var errUnmet = objects.ErrUnmet

// maxObject is the maximum size of an object, in bytes.
const maxObject = 1 << 30

// bodyTries limits how often an object is read again because its transfer is interrupted.
const bodyTries = 4

// get returns an object, or nil if it does not exist.
func (b *bucket) get(ctx context.Context, key string) (*stored, error) {
	return b.version(ctx, key, nil)
}

// version returns a former version of an object.
func (b *bucket) version(ctx context.Context, key string, id *string) (o *stored, err error) {
	defer b.trace("get", key, time.Now(), &err)
	for try := 1; ; try++ {
		out, err := b.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &b.s.bucket, Key: &key, VersionId: id,
			SSECustomerAlgorithm: b.algorithm(), SSECustomerKey: optional(b.s.customerKey),
			SSECustomerKeyMD5: b.keyDigest()})
		if missing(err) && code(err) != "NotFound" { // the SDK's code for a page with status 404
			return nil, nil
		}
		if err != nil {
			return nil, b.failed(ctx, "read", key, err)
		}
		if err := b.tagged("read", key, out.ETag); err != nil {
			out.Body.Close()
			return nil, err
		}
		data, err := io.ReadAll(io.LimitReader(out.Body, b.most+1))
		out.Body.Close()
		if int64(len(data)) > b.most {
			return nil, &problem{text: fmt.Sprintf("read %s: the object is larger than %d bytes, the limit for a state",
				b.name(key), b.most)}
		}
		if err == nil && out.ContentLength != nil && *out.ContentLength != int64(len(data)) {
			err = io.ErrUnexpectedEOF
		}
		if err == nil {
			return &stored{data: data, etag: aws.ToString(out.ETag), meta: out.Metadata}, nil
		}
		if ctx.Err() != nil || try == bodyTries {
			return nil, b.failed(ctx, "read", key, err)
		}
	}
}

// head returns the tag of an object, or "" if it does not exist.
func (b *bucket) head(ctx context.Context, key string) (etag string, err error) {
	defer b.trace("head", key, time.Now(), &err)
	out, err := b.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &b.s.bucket, Key: &key,
		SSECustomerAlgorithm: b.algorithm(), SSECustomerKey: optional(b.s.customerKey),
		SSECustomerKeyMD5: b.keyDigest()})
	if missing(err) {
		return "", nil
	}
	if err != nil {
		return "", b.failed(ctx, "look for", key, err)
	}
	return aws.ToString(out.ETag), b.tagged("look for", key, out.ETag)
}

// tagged checks that a response about an object has a tag. Responses without one come from a proxy.
func (b *bucket) tagged(what, key string, etag *string) error {
	if aws.ToString(etag) != "" {
		return nil
	}
	return &problem{text: fmt.Sprintf("%s %s: the answer has no ETag, so it is not from the service. Check "+
		"endpoints, and any proxy", what, b.name(key))}
}

// about is the metadata of an object.
type about struct {
	meta map[string]string
	tags url.Values
}

// put writes an object, and returns its tag. The data must differ from all other data written to this name: if the
// condition does not hold and the object has exactly this data, a response was lost, and put succeeds.
func (b *bucket) put(ctx context.Context, key string, data []byte, more about, c condition) (string, error) {
	if c, err := b.observed(ctx, key, c); err != nil {
		return "", err
	} else if etag, err := b.putOnce(ctx, key, data, more, c); !errors.Is(err, errUnmet) {
		return etag, err
	}
	there, err := b.get(ctx, key)
	if err != nil {
		return "", err
	}
	if there != nil && bytes.Equal(there.data, data) {
		return there.etag, nil
	}
	return "", errUnmet
}

// observed returns the conditions that the service supports. It checks the others itself: another run may write between
// that check and the write.
func (b *bucket) observed(ctx context.Context, key string, c condition) (condition, error) {
	if !b.conditions.ignored(c) {
		return c, nil
	}
	etag, err := b.head(ctx, key)
	if err != nil {
		return c, err
	}
	if etag != c.etag {
		return c, errUnmet
	}
	return condition{}, nil
}

// putOnce is put without the check for a lost response.
func (b *bucket) putOnce(ctx context.Context, key string, data []byte, more about, c condition) (_ string, err error) {
	defer b.trace("put", key, time.Now(), &err)
	in := &s3.PutObjectInput{Bucket: &b.s.bucket, Key: &key, Body: bytes.NewReader(data), Metadata: more.meta,
		ContentLength: aws.Int64(int64(len(data))), ContentType: aws.String("application/json"),
		ACL: types.ObjectCannedACL(b.s.acl), SSECustomerAlgorithm: b.algorithm(),
		SSECustomerKey: optional(b.s.customerKey), SSECustomerKeyMD5: b.keyDigest(), IfMatch: optional(c.etag)}
	if c.absent {
		in.IfNoneMatch = aws.String("*")
	}
	if len(more.tags) > 0 {
		in.Tagging = aws.String(more.tags.Encode())
	}
	switch {
	case b.s.customerKey != "":
	case b.s.kmsKey != "":
		in.ServerSideEncryption, in.SSEKMSKeyId = types.ServerSideEncryptionAwsKms, &b.s.kmsKey
	case b.s.encrypt:
		in.ServerSideEncryption = types.ServerSideEncryptionAes256
	}
	if !b.s.skipChecksum {
		sum := sha256.Sum256(data)
		in.ChecksumSHA256 = aws.String(base64.StdEncoding.EncodeToString(sum[:]))
	}
	out, err := b.client.PutObject(ctx, in)
	switch {
	case err == nil:
		return aws.ToString(out.ETag), b.tagged("write", key, out.ETag)
	case status(err) == http.StatusPreconditionFailed, c.etag != "" && missing(err):
		return "", errUnmet
	}
	return "", b.failed(ctx, "write", key, err)
}

// remove removes an object, if it still has the given tag. It is not an error if the object does not exist.
func (b *bucket) remove(ctx context.Context, key, etag string) (err error) {
	defer b.trace("delete", key, time.Now(), &err)
	_, err = b.client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &b.s.bucket, Key: &key, IfMatch: optional(etag)})
	if code := status(err); etag != "" && (code == http.StatusNotImplemented || code == http.StatusBadRequest) {
		_, err = b.client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &b.s.bucket, Key: &key})
	}
	switch {
	case err == nil, missing(err):
		return nil
	case status(err) == http.StatusPreconditionFailed:
		return errUnmet
	}
	return b.failed(ctx, "delete", key, err)
}

// list calls a function for the name of each object with the prefix.
func (b *bucket) list(ctx context.Context, prefix string, each func(key string)) (err error) {
	defer b.trace("list", prefix, time.Now(), &err)
	pages := buckets.Page{Prefix: prefix}
	for from := (*string)(nil); ; {
		page, err := b.client.ListObjectsV2(ctx, &s3.ListObjectsV2Input{Bucket: &b.s.bucket, Prefix: &prefix,
			ContinuationToken: from})
		if err != nil {
			return b.failed(ctx, "list", prefix, err)
		}
		names := make([]string, len(page.Contents))
		for i, o := range page.Contents {
			names[i] = aws.ToString(o.Key)
		}
		if err := pages.Follows(names, ""); err != nil {
			return b.failed(ctx, "list", prefix, err)
		}
		for _, name := range names {
			each(name)
		}
		if from = page.NextContinuationToken; !aws.ToBool(page.IsTruncated) || aws.ToString(from) == "" {
			return nil
		}
	}
}

func (b *bucket) algorithm() *string {
	if b.s.customerKey == "" {
		return nil
	}
	return aws.String("AES256")
}

func (b *bucket) keyDigest() *string {
	if b.s.customerKey == "" {
		return nil
	}
	key, _ := base64.StdEncoding.DecodeString(b.s.customerKey) // read has validated it
	sum := md5.Sum(key)
	return aws.String(base64.StdEncoding.EncodeToString(sum[:]))
}

// trace logs a request.
func (b *bucket) trace(what, key string, began time.Time, err *error) {
	answer := "done"
	if *err != nil {
		answer = (*err).Error()
	}
	b.log("s3: %s %s in %s: %s", what, b.name(key), time.Since(began).Round(time.Millisecond), answer)
}

// name returns the name of an object in messages.
func (b *bucket) name(key string) string { return fmt.Sprintf("s3://%s/%s", b.s.bucket, key) }

// status returns the HTTP status of an error, or 0.
func status(err error) int {
	var answer *awshttp.ResponseError
	if errors.As(err, &answer) {
		return answer.HTTPStatusCode()
	}
	return 0
}

// code returns the service's code of an error.
func code(err error) string {
	var named smithy.APIError
	if errors.As(err, &named) {
		return named.ErrorCode()
	}
	return ""
}

// missing reports whether an error means that the object does not exist. A missing bucket is a different error.
func missing(err error) bool {
	if status(err) != http.StatusNotFound {
		return false
	}
	switch code(err) {
	case "NoSuchKey", "NotFound", "NoSuchVersion":
		return true
	}
	return false
}

// space stores journals in the bucket.
type space struct{ *bucket }

// Get implements objects.Space.
func (s space) Get(ctx context.Context, name string) (data []byte, tag string, err error) {
	o, err := s.get(ctx, name)
	if err != nil || o == nil {
		return nil, "", err
	}
	return o.data, o.etag, nil
}

// Put implements objects.Space.
func (s space) Put(ctx context.Context, name string, data []byte, tag string) (string, error) {
	return s.put(ctx, name, data, about{}, condition{absent: tag == "", etag: tag})
}

// Remove implements objects.Space.
func (s space) Remove(ctx context.Context, name string) error { return s.remove(ctx, name, "") }

// Name implements objects.Space.
func (s space) Name(name string) string { return s.name(name) }
