package s3store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/claude-agent-go/claude/store"
)

// Store is a store in a bucket. Its methods may be called from any goroutine.
type Store struct {
	s3     *s3.Client
	bucket string
	prefix string

	mu     sync.Mutex
	known  map[store.Key]*known
	recent []store.Key // of known, the last used last
}

var _ interface {
	store.Fleet
	store.Summarizer
} = (*Store)(nil)

// New returns a store in a bucket. The names of its objects begin with prefix,
// which may be "".
func New(client *s3.Client, bucket, prefix string) *Store {
	return &Store{s3: client, bucket: bucket, prefix: prefix}
}

// fail says where an error comes from, once.
func fail(what any, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("claude: s3store: %v: %w", what, err)
}

// errTaken means that a condition of a write does not hold.
var errTaken = errors.New("somebody else was faster")

// object is what a name stands for.
type object struct {
	body     []byte
	etag     string
	modified time.Time
	now      time.Time // the server's time when it was read
}

// get reads an object, or returns [store.ErrNotFound].
func (s *Store) get(ctx context.Context, name string) (object, error) {
	out, err := s.s3.GetObject(ctx, &s3.GetObjectInput{Bucket: &s.bucket, Key: aws.String(s.prefix + name)})
	if err != nil {
		return object{}, plain(err)
	}
	defer out.Body.Close()
	body, err := io.ReadAll(out.Body)
	if err != nil {
		return object{}, err
	}
	now, ok := awsmiddleware.GetServerTime(out.ResultMetadata)
	if !ok {
		now = time.Now()
	}
	return object{body, aws.ToString(out.ETag), aws.ToTime(out.LastModified), now}, nil
}

// exists reports whether there is an object.
func (s *Store) exists(ctx context.Context, name string) (bool, error) {
	_, err := s.s3.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &s.bucket, Key: aws.String(s.prefix + name)})
	if err = plain(err); errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// put writes an object: over the one with the tag, or only if there is none with
// the tag "", or in any case with the tag "*". If the condition does not hold it
// is errTaken.
func (s *Store) put(ctx context.Context, name string, body []byte, etag string) error {
	in := &s3.PutObjectInput{Bucket: &s.bucket, Key: aws.String(s.prefix + name), Body: bytes.NewReader(body)}
	switch etag {
	case "":
		in.IfNoneMatch = aws.String("*")
	case "*":
	default:
		in.IfMatch = &etag
	}
	_, err := s.s3.PutObject(ctx, in)
	return plain(err)
}

// remove removes an object.
func (s *Store) remove(ctx context.Context, name string) error {
	_, err := s.s3.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &s.bucket, Key: aws.String(s.prefix + name)})
	return plain(err)
}

// plain makes the errors that mean something here those of this package.
func plain(err error) error {
	if _, ok := errors.AsType[*types.NoSuchBucket](err); ok {
		return err
	}
	if e, ok := errors.AsType[*awshttp.ResponseError](err); ok {
		switch e.HTTPStatusCode() {
		case http.StatusNotFound:
			return store.ErrNotFound
		case http.StatusPreconditionFailed, http.StatusConflict:
			return errTaken
		}
	}
	return err
}

// list yields the objects whose names begin so, in order, those after a name.
func (s *Store) list(ctx context.Context, prefix, after string) iter.Seq2[types.Object, error] {
	return func(yield func(types.Object, error) bool) {
		in := &s3.ListObjectsV2Input{Bucket: &s.bucket, Prefix: aws.String(s.prefix + prefix)}
		if after != "" {
			in.StartAfter = aws.String(s.prefix + after)
		}
		pages := s3.NewListObjectsV2Paginator(s.s3, in)
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				yield(types.Object{}, plain(err))
				return
			}
			for _, o := range page.Contents {
				o.Key = aws.String(strings.TrimPrefix(aws.ToString(o.Key), s.prefix))
				// Not every server knows StartAfter.
				if *o.Key > after && !yield(o, nil) {
					return
				}
			}
		}
	}
}

// serverTime returns the time of the server, as it stands in every answer.
func (s *Store) serverTime(ctx context.Context) (time.Time, error) {
	one := int32(1)
	out, err := s.s3.ListObjectsV2(ctx, &s3.ListObjectsV2Input{Bucket: &s.bucket, Prefix: aws.String(s.prefix), MaxKeys: &one})
	if err != nil {
		return time.Time{}, plain(err)
	}
	now, ok := awsmiddleware.GetServerTime(out.ResultMetadata)
	if !ok {
		return time.Time{}, errors.New("the server does not tell its time")
	}
	return now, nil
}
