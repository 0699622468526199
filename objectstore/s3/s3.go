// Package s3 stores objects in a bucket of Amazon S3, or of a service with the same protocol.
//
// [Open] returns a [Bucket], and [Options] names it.
//
// Each object is written by one request. The request has the SHA-256, which the service compares
// with the received bytes. It also has If-None-Match, so that no object is replaced. Open refuses a
// service that ignores one of these headers, unless the bucket is only read.
//
// A write that the service answers with a conflict is repeated a few times. Each object has the random
// number of its write, so a write whose answer was lost recognizes its own object. After another error,
// the object may exist. A read that is cut short fails. A Bucket is safe for concurrent use.
package s3

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/aws/smithy-go/logging"

	"github.com/varvedb/varve/internal/wait"
	"github.com/varvedb/varve/objectstore"
)

// Options configure a Bucket. Bucket is required.
type Options struct {
	Bucket   string
	Prefix   string // prefix of the keys that callers use; Bucket adds it only to the key of the object that Open writes
	Endpoint string // address of a service other than AWS, with the bucket in its path; if empty, AWS is used
	Region   string // if empty, the environment or the profile has it
	ReadOnly bool   // if true, Open writes no object to check the service
	// Postpone means that Open succeeds if the service cannot be reached. The first PutNew then checks the service.
	Postpone bool
	// Stall is the time after which a connection without progress fails. The client then tries again, twice. 0 means
	// 20 seconds.
	Stall time.Duration
}

// Bucket is an object store in an S3 bucket.
type Bucket struct {
	client *s3.Client
	opts   Options
	check  check
}

var _ objectstore.Store = (*Bucket)(nil)

// Open returns the object store in a bucket. Unless ReadOnly is set, it writes and deletes a small
// object, to check that the service compares checksums and refuses to replace an object. With Postpone,
// the check lasts at most ten seconds.
func Open(ctx context.Context, o Options) (*Bucket, error) {
	options := []func(*awsconfig.LoadOptions) error{
		awsconfig.WithLogger(logging.Nop{}), // errors contain every failure that the SDK would log
		awsconfig.WithHTTPClient(httpClient(cmp.Or(o.Stall, stallLimit))),
	}
	if o.Region != "" {
		options = append(options, awsconfig.WithRegion(o.Region))
	}
	cfg, err := awsconfig.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return nil, fmt.Errorf("load the configuration of AWS: %w", err)
	}
	if cfg.Region == "" {
		if o.Endpoint == "" {
			return nil, errors.New("the region is missing: set AWS_REGION")
		}
		cfg.Region = "us-east-1" // other services ignore the region, but requests must have one
	}
	client := s3.NewFromConfig(cfg, func(c *s3.Options) {
		// Callers compare the bytes that they read with digests of their own. So a damaged object and a
		// damaged file of a folder give the same error.
		c.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenRequired
		if o.Endpoint != "" {
			c.BaseEndpoint, c.UsePathStyle = aws.String(o.Endpoint), true
		}
	})
	b := &Bucket{client: client, opts: o}
	if o.ReadOnly {
		b.check.done = true
		return b, nil
	}
	if err := b.checkFirst(ctx); err != nil {
		return nil, fmt.Errorf("bucket %s: %w", o.Bucket, err)
	}
	return b, nil
}

// Location implements objectstore.Store.
func (b *Bucket) Location() string {
	if b.opts.Endpoint != "" {
		return b.opts.Endpoint + "/" + b.opts.Bucket
	}
	return "s3://" + b.opts.Bucket
}

// Writes of one key at the same time can make the service answer 409 to a write, although no object exists
// yet. The client must then send the request again.
const (
	conflictTries = 6
	conflictWait  = 50 * time.Millisecond // wait before the second try; each further wait is twice as long
)

// writeNumber is the name of the metadata of an object that has the number of its write.
const writeNumber = "varve-write"

// PutNew implements objectstore.Store.
//
// If the answer to a request is lost, the client repeats the request, which then finds the object of the
// first one. So PutNew compares the number of the stored object before it returns ErrExists.
func (b *Bucket) PutNew(ctx context.Context, key string, body []byte) error {
	if err := b.ensureChecked(ctx); err != nil {
		return err
	}
	return b.putNew(ctx, key, body)
}

func (b *Bucket) putNew(ctx context.Context, key string, body []byte) error {
	number := rand.Text()
	err := b.putRetrying(ctx, key, body, number)
	if !errors.Is(err, objectstore.ErrExists) {
		return err
	}
	switch out, failed := b.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &b.opts.Bucket, Key: &key}); {
	case status(failed) == http.StatusNotFound:
		return err // another process has deleted the object
	case failed != nil:
		return fmt.Errorf("%s exists, and its writer is unknown: %w", key, failed)
	case out.Metadata[writeNumber] == number:
		return nil
	default:
		return err
	}
}

// putRetrying writes an object, and repeats the write after conflicts.
func (b *Bucket) putRetrying(ctx context.Context, key string, body []byte, number string) error {
	sum := sha256.Sum256(body)
	err := b.put(ctx, key, body, sum, number)
	for try, pause := 1, conflictWait; try < conflictTries && status(err) == http.StatusConflict; try, pause = try+1, 2*pause {
		if err := wait.For(ctx, pause); err != nil {
			return err
		}
		err = b.put(ctx, key, body, sum, number)
	}
	return err
}

func (b *Bucket) put(ctx context.Context, key string, body []byte, sum [sha256.Size]byte, number string) error {
	_, err := b.client.PutObject(ctx, &s3.PutObjectInput{
		Bucket: &b.opts.Bucket, Key: &key, Body: bytes.NewReader(body), ContentLength: aws.Int64(int64(len(body))), IfNoneMatch: aws.String("*"),
		Metadata: map[string]string{writeNumber: number}, ChecksumAlgorithm: types.ChecksumAlgorithmSha256, ChecksumSHA256: aws.String(base64.StdEncoding.EncodeToString(sum[:])),
	})
	if status(err) == http.StatusPreconditionFailed {
		return fmt.Errorf("%s: %w", key, objectstore.ErrExists)
	}
	return err
}

// status returns the HTTP status of an error, or 0.
func status(err error) int {
	var failed *awshttp.ResponseError
	if errors.As(err, &failed) {
		return failed.HTTPStatusCode()
	}
	return 0
}

// missing turns the error of a missing object into ErrMissing.
func missing(key string, err error) error {
	if status(err) == http.StatusNotFound {
		return fmt.Errorf("%s: %w", key, objectstore.ErrMissing)
	}
	return err
}

// Get implements objectstore.Store. If the length is 0, it sends no request.
func (b *Bucket) Get(ctx context.Context, key string, offset, length int64) (body []byte, err error) {
	in := &s3.GetObjectInput{Bucket: &b.opts.Bucket, Key: &key}
	switch {
	case length == 0:
		return nil, nil
	case length > 0:
		in.Range = aws.String(fmt.Sprintf("bytes=%d-%d", offset, offset+length-1))
	case offset > 0:
		in.Range = aws.String(fmt.Sprintf("bytes=%d-", offset))
	}
	out, err := b.client.GetObject(ctx, in)
	if err != nil {
		return nil, missing(key, err)
	}
	defer func() { err = errors.Join(err, out.Body.Close()) }()
	if body, err = io.ReadAll(out.Body); err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	if want := aws.ToInt64(out.ContentLength); int64(len(body)) != want || length > 0 && want != length {
		return nil, fmt.Errorf("%s: %d bytes at %d, want %d: %w", key, len(body), offset, max(length, want), io.ErrUnexpectedEOF)
	}
	return body, nil
}

// Stat implements objectstore.Store. If the object has no stored checksum, Stat reads it to compute one.
func (b *Bucket) Stat(ctx context.Context, key string) (objectstore.Object, error) {
	out, err := b.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &b.opts.Bucket, Key: &key, ChecksumMode: types.ChecksumModeEnabled})
	if err != nil {
		return objectstore.Object{}, missing(key, err)
	}
	o := objectstore.Object{Key: key, Size: aws.ToInt64(out.ContentLength)}
	if sum, err := base64.StdEncoding.DecodeString(aws.ToString(out.ChecksumSHA256)); err == nil && len(sum) == sha256.Size {
		o.SHA256 = hex.EncodeToString(sum)
		return o, nil
	}
	body, err := b.Get(ctx, key, 0, -1)
	o.SHA256 = objectstore.SumOf(body)
	return o, err
}

// List implements objectstore.Store.
func (b *Bucket) List(ctx context.Context, prefix string, each func(objectstore.Object) error) error {
	pages := s3.NewListObjectsV2Paginator(b.client, &s3.ListObjectsV2Input{Bucket: &b.opts.Bucket, Prefix: &prefix})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return err
		}
		for _, o := range page.Contents {
			if err := each(objectstore.Object{Key: aws.ToString(o.Key), Size: aws.ToInt64(o.Size)}); err != nil {
				return err
			}
		}
	}
	return nil
}

// Delete implements objectstore.Store.
func (b *Bucket) Delete(ctx context.Context, key string) error {
	_, err := b.client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &b.opts.Bucket, Key: &key})
	return err
}
