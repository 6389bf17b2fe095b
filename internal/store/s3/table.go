package s3

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// table is a table of DynamoDB, with an item for each held lock and one for the digest of each state.
type table struct {
	client *dynamodb.Client
	s      *settings
	log    func(format string, args ...any)
}

// Attributes of items.
const (
	itemID     = "LockID"
	itemInfo   = "Info"
	itemDigest = "Digest"
)

// digestSuffix is the suffix of the item of a digest, after the name of the lock's item.
const digestSuffix = "-md5"

func item(id string) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{itemID: &types.AttributeValueMemberS{Value: id}}
}

// lock creates the item of a lock. It returns errUnmet if the item exists, unless it is ours because a response was
// lost.
func (t *table) lock(ctx context.Context, id, info string) (err error) {
	defer t.trace("lock", id, time.Now(), &err)
	values := item(id)
	values[itemInfo] = &types.AttributeValueMemberS{Value: info}
	_, err = t.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &t.s.table, Item: values,
		ConditionExpression: aws.String("attribute_not_exists(" + itemID + ")")})
	if !conditionFailed(err) {
		return t.failed(ctx, "lock", id, err)
	}
	there, err := t.text(ctx, id, itemInfo)
	if err == nil && there != info {
		err = errUnmet
	}
	return err
}

// unlock removes the item of a lock if it has exactly this information.
func (t *table) unlock(ctx context.Context, id, info string) (err error) {
	defer t.trace("unlock", id, time.Now(), &err)
	_, err = t.client.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: &t.s.table, Key: item(id),
		ConditionExpression:       aws.String(itemInfo + " = :info"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":info": &types.AttributeValueMemberS{Value: info}}})
	if !conditionFailed(err) {
		return t.failed(ctx, "unlock", id, err)
	}
	if there, err := t.text(ctx, id, itemInfo); err != nil || there == "" {
		return err // it was removed: the response to the first try was lost
	}
	return errUnmet
}

// text returns an attribute of an item, or "" if there is no such item.
func (t *table) text(ctx context.Context, id, attribute string) (_ string, err error) {
	defer t.trace("get", id, time.Now(), &err)
	out, err := t.client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &t.s.table, Key: item(id),
		ConsistentRead: aws.Bool(true)})
	if err != nil {
		return "", t.failed(ctx, "read", id, err)
	}
	if v, ok := out.Item[attribute].(*types.AttributeValueMemberS); ok {
		return v.Value, nil
	}
	return "", nil
}

// note stores the digest of a state.
func (t *table) note(ctx context.Context, id string, data []byte) (err error) {
	defer t.trace("put", id+digestSuffix, time.Now(), &err)
	values := item(id + digestSuffix)
	values[itemDigest] = &types.AttributeValueMemberS{Value: digest(data)}
	_, err = t.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &t.s.table, Item: values})
	return t.failed(ctx, "write", id+digestSuffix, err)
}

// forget removes the digest of a state.
func (t *table) forget(ctx context.Context, id string) (err error) {
	defer t.trace("delete", id+digestSuffix, time.Now(), &err)
	_, err = t.client.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: &t.s.table, Key: item(id + digestSuffix)})
	return t.failed(ctx, "delete", id+digestSuffix, err)
}

// digest returns the digest of a state as its item stores it, or "" if there is no state.
func digest(data []byte) string {
	if data == nil {
		return ""
	}
	sum := md5.Sum(data)
	return hex.EncodeToString(sum[:])
}

func conditionFailed(err error) bool {
	var failed *types.ConditionalCheckFailedException
	return errors.As(err, &failed)
}

// failed returns an error with the failed action, the reason and advice.
func (t *table) failed(ctx context.Context, what, id string, err error) error {
	if err == nil {
		return nil
	}
	hint := objectHint("", err)
	switch code(err) {
	case "ResourceNotFoundException":
		hint = "The backend does not create tables: create it with the string LockID as its key, or check " +
			"dynamodb_table, region and endpoints"
	case "AccessDeniedException":
		hint = "Allow dynamodb:GetItem, dynamodb:PutItem and dynamodb:DeleteItem to these credentials"
	case "ValidationException":
		hint = "The table must have the string LockID as its only key"
	case "UnrecognizedClientException":
		hint = "The credentials are wrong, or belong to another service"
	}
	return t.s.explain(ctx, what+" the item "+id+" of the table "+t.s.table, err, hint)
}

func (t *table) trace(what, id string, began time.Time, err *error) {
	answer := "done"
	if *err != nil {
		answer = (*err).Error()
	}
	t.log("dynamodb: %s %s in %s in %s: %s", what, id, t.s.table, time.Since(began).Round(time.Millisecond), answer)
}
