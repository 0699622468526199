package doors

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"

	"github.com/varvedb/varve/tests/varvetest"
)

// shards is a Kinesis stream of the emulator.
type shards struct {
	t      *testing.T
	client *kinesis.Client
	name   string
	poison map[string]string // for the text of each unreadable record, its stream, shard and sequence number
}

func newShards(t *testing.T, loaded aws.Config, count int32) *shards {
	t.Helper()
	s := &shards{t: t, client: kinesis.NewFromConfig(loaded), name: "readings", poison: map[string]string{}}
	if _, err := s.client.CreateStream(t.Context(), &kinesis.CreateStreamInput{StreamName: &s.name, ShardCount: &count}); err != nil {
		t.Fatal(err)
	}
	s.waitActive()
	return s
}

func (s *shards) waitActive() {
	s.t.Helper()
	isActive := func() bool {
		out, err := s.client.DescribeStreamSummary(s.t.Context(), &kinesis.DescribeStreamSummaryInput{StreamName: &s.name})
		return err == nil && out.StreamDescriptionSummary.StreamStatus == "ACTIVE"
	}
	if !varvetest.Eventually(isActive) {
		s.t.Fatal("the stream is not active")
	}
}

// put writes records with partition keys that spread over all shards.
func (s *shards) put(texts ...string) {
	s.t.Helper()
	for i, text := range texts {
		out, err := s.client.PutRecord(s.t.Context(), &kinesis.PutRecordInput{StreamName: &s.name, Data: []byte(text), PartitionKey: aws.String(strconv.Itoa(i))})
		if err != nil {
			s.t.Fatal(err)
		}
		if !strings.HasPrefix(text, `{"device":"d1","time":`) {
			s.poison[text] = s.name + " " + aws.ToString(out.ShardId) + " " + aws.ToString(out.SequenceNumber)
		}
	}
}

// putReadings writes the readings whose numbers are in a range, and an unreadable record.
func (s *shards) putReadings(from, to int) {
	s.t.Helper()
	texts := []string{fmt.Sprintf("nonsense %d", from)}
	for n := from; n < to; n++ {
		texts = append(texts, object(n))
	}
	s.put(texts...)
}

// open returns the ids of the open shards, and the middle of the hash keys of each.
func (s *shards) open() (ids, middles []string) {
	s.t.Helper()
	out, err := s.client.ListShards(s.t.Context(), &kinesis.ListShardsInput{StreamName: &s.name})
	if err != nil {
		s.t.Fatal(err)
	}
	for _, shard := range out.Shards {
		if shard.SequenceNumberRange.EndingSequenceNumber == nil {
			ids = append(ids, aws.ToString(shard.ShardId))
			middles = append(middles, middle(aws.ToString(shard.HashKeyRange.StartingHashKey), aws.ToString(shard.HashKeyRange.EndingHashKey)))
		}
	}
	return ids, middles
}

// split splits the first open shard.
func (s *shards) split() {
	s.t.Helper()
	ids, middles := s.open()
	_, err := s.client.SplitShard(s.t.Context(), &kinesis.SplitShardInput{StreamName: &s.name, ShardToSplit: &ids[0], NewStartingHashKey: &middles[0]})
	if err != nil {
		s.t.Fatal(err)
	}
	s.waitActive()
}

// merge merges two open shards that are neighbors.
func (s *shards) merge() {
	s.t.Helper()
	ids, _ := s.open()
	for _, a := range ids {
		for _, b := range ids {
			if a == b {
				continue
			}
			_, err := s.client.MergeShards(s.t.Context(), &kinesis.MergeShardsInput{StreamName: &s.name, ShardToMerge: &a, AdjacentShardToMerge: &b})
			if err == nil {
				s.waitActive()
				return
			}
		}
	}
	s.t.Fatal("no shards are neighbors")
}

// TestKinesis_StoresRecordsOnce splits and merges shards, and kills the server, while it reads a
// stream. Each reading must be stored once, and each unreadable record must be a reject.
func TestKinesis_StoresRecordsOnce(t *testing.T) {
	t.Parallel()
	endpoint, loaded := startEmulator(t, "kinesis")
	s := newShards(t, loaded, 2)
	s.putReadings(0, 200)
	r := startRestarted(t, "--set", "ingest.kinesis.name=readings", "--set", "ingest.kinesis.endpoint="+endpoint, "--set", "ingest.kinesis.stream=weather")
	r.waitStored(100)
	s.split()
	s.putReadings(200, 400)
	r.restart()
	s.split()
	s.putReadings(400, 600)
	r.waitStored(500)
	r.restart()
	s.merge()
	s.putReadings(600, 800)
	s.merge()
	r.restart()
	s.putReadings(800, 1000)
	r.waitStored(1000)
	want := s.poison
	if !varvetest.Eventually(func() bool { return len(r.rejects()) == len(want) }) {
		t.Errorf("the rejects are %v, want %v", r.rejects(), want)
	}
	for text, from := range r.rejects() {
		if from != "kinesis "+want[text] {
			t.Errorf("%q is from %q, want %q", text, from, want[text])
		}
	}
	if n := r.stored(t, "weather"); n != 1000 {
		t.Errorf("%d readings are stored, want 1000", n)
	}
	ids, _ := s.open()
	if !varvetest.Eventually(func() bool { return int(r.metric(`varve_ingest_shards{source="kinesis"}`)) == len(ids) }) {
		t.Errorf("the server reads %v shards, want %d", r.metric(`varve_ingest_shards{source="kinesis"}`), len(ids))
	}
	r.restart()
	s.put(object(1000))
	r.waitStored(1001)
	if received := r.metric(`varve_ingest_records_received_total{source="kinesis"}`); received != 1 {
		t.Errorf("after a restart, the server received %v records, want the new one", received)
	}
}

// TestKinesis_ReportsMissingStream checks that a missing stream is a condition, and that the consumer
// recovers.
func TestKinesis_ReportsMissingStream(t *testing.T) {
	t.Parallel()
	endpoint, loaded := startEmulator(t, "kinesis")
	r := startRestarted(t, "--set", "ingest.kinesis.name=readings", "--set", "ingest.kinesis.endpoint="+endpoint, "--set", "ingest.kinesis.stream=weather")
	isSet := func() bool { return r.metric(`varve_condition{condition="kinesis_unreachable"}`) == 1 }
	if !varvetest.Eventually(isSet) {
		t.Fatalf("the condition is not set\n%s", r.Output())
	}
	s := newShards(t, loaded, 1)
	s.put(object(1))
	r.waitStored(1)
	if isSet() {
		t.Error("the condition is still set")
	}
}

// TestKinesis_ReadsRecreatedStream deletes a stream and creates one of the same name. The new shards
// have the old ids, and must be read from their beginnings.
func TestKinesis_ReadsRecreatedStream(t *testing.T) {
	t.Parallel()
	endpoint, loaded := startEmulator(t, "kinesis")
	s := newShards(t, loaded, 1)
	created := time.Now().Unix()
	r := startRestarted(t, "--set", "ingest.kinesis.name=readings", "--set", "ingest.kinesis.endpoint="+endpoint, "--set", "ingest.kinesis.stream=weather")
	s.put(object(1), object(2))
	r.waitStored(2)
	s.split()
	s.put(object(3), object(4))
	r.waitStored(4)
	if _, err := s.client.DeleteStream(t.Context(), &kinesis.DeleteStreamInput{StreamName: &s.name}); err != nil {
		t.Fatal(err)
	}
	isGone := func() bool {
		_, err := s.client.DescribeStreamSummary(t.Context(), &kinesis.DescribeStreamSummaryInput{StreamName: &s.name})
		return err != nil
	}
	// The emulator's sequence numbers contain the second in which a stream was created. So the new stream
	// must begin in a later second.
	if !varvetest.Eventually(func() bool { return isGone() && time.Now().Unix() > created }) {
		t.Fatal("the stream was not deleted")
	}
	s = newShards(t, loaded, 1)
	s.put(object(5), object(6))
	r.waitStored(6)
}
