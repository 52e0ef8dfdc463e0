package s3store_test

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/claude-agent-go/claude/internal/test/realstore"
	"github.com/claude-agent-go/claude/store"
)

// When a conversation is deleted, no object of the bucket has anything of it.
func TestRealDeleteLeavesNothing(t *testing.T) {
	server := newServer(t)
	client := server.client(false)
	realstore.Deleted(t, store.Join(at(server.url), store.Memory()), func(t *testing.T, text string) (found []string) {
		pages := s3.NewListObjectsV2Paginator(client, &s3.ListObjectsV2Input{Bucket: aws.String("agents")})
		for pages.HasMorePages() {
			page, err := pages.NextPage(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, object := range page.Contents {
				out, err := client.GetObject(t.Context(), &s3.GetObjectInput{Bucket: aws.String("agents"), Key: object.Key})
				if err != nil {
					t.Fatal(err)
				}
				data, err := io.ReadAll(out.Body)
				if err != nil {
					t.Fatal(err)
				}
				_ = out.Body.Close() // it was read
				if bytes.Contains(data, []byte(text)) || strings.Contains(*object.Key, text) {
					found = append(found, *object.Key)
				}
			}
		}
		return found
	})
}
