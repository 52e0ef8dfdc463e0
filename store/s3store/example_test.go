package s3store_test

import (
	"context"
	"fmt"
	"log"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/store"
	"github.com/claude-agent-go/claude/store/s3store"
	"github.com/claude-agent-go/claude/workspace"
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

// fleetStore keeps the transcripts of a fleet in a bucket, and everything else in a database.
func fleetStore(client *s3.Client, database store.Fleet) store.Fleet {
	return store.Join(s3store.New(client, "agents", "transcripts/"), database)
}

// The database may be any store that has records, such as that of module store/sqlstore.
func ExampleNew() {
	client := s3.New(s3.Options{
		Region:      "eu-central-1",
		Credentials: aws.NewCredentialsCache(credentials.NewStaticCredentialsProvider("id", "key", "")),
	})
	db := fleetStore(client, store.Files("/var/lib/agents/store"))
	_ = db // fleet.Options.Store
}

// snapshots gives conversations folders whose contents are in a bucket.
func snapshots(client *s3.Client, db store.Records) (*workspace.Snapshots, error) {
	return workspace.NewSnapshots(workspace.SnapshotOptions{
		Root:    "/var/lib/agents/folders",
		Records: db, Project: "chat", // the store and the project of the fleet
		Blobs: s3store.NewBlobs(client, "agents", "folders/"),
	})
}

// The store of the conversations may be another one than the bucket.
func ExampleNewBlobs() {
	client := s3.New(s3.Options{
		Region:      "eu-central-1",
		Credentials: aws.NewCredentialsCache(credentials.NewStaticCredentialsProvider("id", "key", "")),
	})
	files, err := snapshots(client, store.Files("/var/lib/agents/store"))
	if err != nil {
		log.Fatal(err)
	}
	_ = files // fleet.Options.Workspace
}
