package s3_test

import (
	"context"
	"net"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// startDynalite starts a server with a table "locks".
func startDynalite(t *testing.T, path string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	port := l.Addr().(*net.TCPAddr).Port
	must(t, l.Close())
	c := exec.Command(path, "--host", "127.0.0.1", "--port", strconv.Itoa(port), "--createTableMs", "0")
	must(t, c.Start())
	t.Cleanup(func() { c.Process.Kill(); c.Wait() })
	address := "http://127.0.0.1:" + strconv.Itoa(port)
	client := dynamodb.New(dynamodb.Options{Region: "us-east-1", BaseEndpoint: &address, RetryMaxAttempts: 1,
		Credentials: credentials.NewStaticCredentialsProvider("a", "b", "")})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for ctx.Err() == nil {
		_, err = client.CreateTable(ctx, &dynamodb.CreateTableInput{TableName: aws.String("locks"),
			AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("LockID"),
				AttributeType: types.ScalarAttributeTypeS}},
			KeySchema:   []types.KeySchemaElement{{AttributeName: aws.String("LockID"), KeyType: types.KeyTypeHash}},
			BillingMode: types.BillingModePayPerRequest})
		if err == nil {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	must(t, err)
	for ctx.Err() == nil {
		out, err := client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: aws.String("locks")})
		if err == nil && out.Table.TableStatus == types.TableStatusActive {
			return address
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatal("dynalite does not start")
	return ""
}
