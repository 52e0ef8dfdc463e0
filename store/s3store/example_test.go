package s3store_test

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/store/s3store"
)

// The answer is in the bucket when Ask returns, and any machine can continue the
// session.
func Example() {
	client := s3.New(s3.Options{
		Region:      "eu-central-1",
		Credentials: aws.NewCredentialsCache(credentials.NewStaticCredentialsProvider("id", "key", "")),
	})
	res, err := claude.Ask(context.Background(), "What is 2+2?", &claude.Options{
		Store: &claude.StoreOptions{Store: s3store.New(client, "agents", "transcripts/"), Project: "tenant-7"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(res.Text, res.SessionID)
}
