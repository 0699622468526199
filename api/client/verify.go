package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"github.com/varvedb/varve/api/wire"
	"net/http"
	"net/url"
	"strconv"
)

// Verify makes the server read all stored data, and calls the function "report" for each damaged part.
// The rate is the maximum number of bytes per second, or of read units per second on DynamoDB. 0 means
// the server's default. Verify fails if the server could not read all data.
func (c OperatorCalls) Verify(ctx context.Context, rate int64, report func(wire.Damage)) (err error) {
	q := url.Values{}
	if rate > 0 {
		q.Set("rate", strconv.FormatInt(rate, 10))
	}
	resp, err := c.do(ctx, request{method: http.MethodPost, path: "/v1/verify", query: q})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, resp.Body.Close()) }()
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var l wire.VerifyLine
		if len(lines.Bytes()) == 0 {
			continue
		}
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			return fmt.Errorf("read the verification's answer: %w", err)
		}
		switch {
		case l.Error != "":
			return errors.New(l.Error)
		case l.Done:
			return nil
		case l.Damage != nil:
			report(*l.Damage)
		}
	}
	return errors.Join(errors.New("the verification was cut off: start it again"), lines.Err())
}
