package mqtt_test

import (
	"encoding/json"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	v5 "github.com/eclipse/paho.golang/paho"
	v3 "github.com/eclipse/paho.mqtt.golang"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/apikeys"
	"github.com/varvedb/varve/mqtt"
)

// listen starts a listener for the duration of the test, and returns its address.
func (w *world) listen(t *testing.T, change ...func(*mqtt.ListenerOptions)) string {
	t.Helper()
	l := w.start(t, change...)
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l.Addr().String()
}

func (w *world) start(t *testing.T, change ...func(*mqtt.ListenerOptions)) *mqtt.Listener {
	t.Helper()
	socket, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	o := mqtt.ListenerOptions{Receiver: w.receiver, Metrics: w.metrics, Listener: socket, Keys: w.engine.Keys, MaxMessage: 1000, Now: clock}
	for _, c := range change {
		c(&o)
	}
	l, err := mqtt.StartListener(o)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func (w *world) key(t *testing.T, d apikeys.Draft) (id, text string) {
	t.Helper()
	k, text, err := w.engine.Keys.Create(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	return k.ID, text
}

// TestListener_AnswersWithReasonCodes checks the answers to MQTT 5 messages, and that rejected messages
// are recorded before their answer.
func TestListener_AnswersWithReasonCodes(t *testing.T) {
	w := newWorld(t, 10)
	d, code := connect(t, w.listen(t), "c1", "", "")
	if code != 0 {
		t.Fatalf("the connection is refused with 0x%02x", code)
	}
	long := `{"a":"` + strings.Repeat("x", 1000) + `"}`
	half := "[" + reading(1) + `,{"time":"never","fields":{"a":1}}]`
	for _, c := range []struct {
		topic, payload string
		code           byte
		reason         string
		stored         string
	}{
		{"varve/w/d1", reading(1), 0, "", ""},
		{"varve/w/d1", reading(1), 0, "", ""}, // the code of a duplicate is success
		{"varve/w/d1", half, 0x83, "time_invalid: ", "0"},
		{"other/w/d1", reading(2), 0x10, `malformed: topic "other/w/d1": no pattern matches`, "0"},
		{"varve/-/d1", reading(3), 0x90, "stream_invalid: ", "0"},
		{"varve/w/d1", "temperature", 0x99, "malformed: ", "0"},
		{"varve/w/d1", long, 0x95, "too_large: the message has 1008 bytes: send at most 1000, see mqtt.max_message", "0"},
		{"t/acme/w/d1", reading(4), 0x87, "stream_invalid: the key and the topic belong to different tenants", "0"},
	} {
		before := len(w.rejected(t))
		answer := d.publish(t, c.topic, c.payload)
		if answer == nil || answer.ReasonCode != c.code {
			t.Fatalf("%s %.40s: %+v, want 0x%02x", c.topic, c.payload, answer, c.code)
		}
		if c.code == 0 {
			continue
		}
		if p := answer.Properties; p == nil || !strings.HasPrefix(p.ReasonString, c.reason) || p.User.Get("stored") != c.stored {
			t.Errorf("%s %.40s: properties %+v, want %s", c.topic, c.payload, p, c.reason)
		}
		if got := len(w.rejected(t)) - before; got != 1 {
			t.Errorf("%s %.40s: %d rejects, want 1", c.topic, c.payload, got)
		}
	}
	if n := w.stored(t, "default", "d1"); n != 1 {
		t.Errorf("%d readings are stored, want 1", n)
	}
	for _, r := range w.rejected(t) {
		want := map[varve.Code]string{varve.CodeTimeInvalid: `{"time":"never","fields":{"a":1}}`, varve.CodeTooLarge: long, varve.CodeMalformed: r.Text}[r.Code]
		if r.Code != varve.CodeStreamInvalid && (r.Text != want || r.Door != "mqtt" || !strings.HasSuffix(r.From, "/w/d1")) {
			t.Errorf("a reject is %+v, want the text %s", r, want)
		}
	}
}

// TestListener_AnswersQoS2 checks that a rejected message of QoS 2 gets its answer as PUBREC.
func TestListener_AnswersQoS2(t *testing.T) {
	w := newWorld(t, 10)
	d, _ := connect(t, w.listen(t), "c1", "", "")
	two := func(p *v5.Publish) { p.QoS = 2 }
	for payload, want := range map[string]byte{reading(1): 0, "x": 0x99, reading(2): 0} {
		if answer := d.publish(t, "varve/w/d1", payload, two); answer == nil || answer.ReasonCode != want {
			t.Fatalf("%s: %+v, want 0x%02x", payload, answer, want)
		}
	}
	if n := w.stored(t, "default", "d1"); n != 2 {
		t.Errorf("%d readings are stored, want 2", n)
	}
}

func TestListener_AnswersToResponseTopic(t *testing.T) {
	w := newWorld(t, 10)
	d, _ := connect(t, w.listen(t), "c1", "", "")
	if _, err := d.Subscribe(t.Context(), &v5.Subscribe{Subscriptions: []v5.SubscribeOptions{{Topic: "answers/c1"}}}); err != nil {
		t.Fatal(err)
	}
	d.publish(t, "varve/w/d1", "["+reading(1)+`,{"a":1}]`, func(p *v5.Publish) {
		p.Properties.ResponseTopic, p.Properties.CorrelationData = "answers/c1", []byte("7")
	})
	got := <-d.received
	var body struct {
		Stored, Rejected int
		Rejects          []struct {
			Index int
			Code  string
		}
	}
	if err := json.Unmarshal(got.Payload, &body); err != nil {
		t.Fatal(err)
	}
	if string(got.Properties.CorrelationData) != "7" || body.Stored != 1 || body.Rejected != 1 || body.Rejects[0].Index != 1 || body.Rejects[0].Code != "malformed" {
		t.Errorf("the answer is %s, with %q", got.Payload, got.Properties.CorrelationData)
	}
}

// TestListener_ServesOldClients checks that MQTT 3.1.1 messages are acknowledged whether they are stored
// or rejected, and that rejected ones are recorded.
func TestListener_ServesOldClients(t *testing.T) {
	w := newWorld(t, 10)
	c := v3.NewClient(v3.NewClientOptions().AddBroker("tcp://" + w.listen(t)).SetClientID("old").SetProtocolVersion(4))
	if token := c.Connect(); !token.WaitTimeout(20*time.Second) || token.Error() != nil {
		t.Fatal(token.Error())
	}
	defer c.Disconnect(100)
	for _, m := range [][2]string{{"varve/w/d1", reading(1)}, {"varve/w/d1", "x"}, {"other", "x"}, {"v1/devices/me/telemetry", `{"a":1}`}} {
		for qos := range byte(3) {
			if token := c.Publish(m[0], qos, true, m[1]); !token.WaitTimeout(20*time.Second) || token.Error() != nil {
				t.Fatal(m, token.Error())
			}
		}
	}
	times := int64(0) // one reject stands for several messages with the same text
	for _, r := range w.rejected(t) {
		times += r.Times
	}
	if n := w.stored(t, "default", "d1"); n != 1 || times != 6 {
		t.Errorf("%d readings and %d rejected messages are stored, want 1 and 6", n, times)
	}
}

// TestListener_ChecksKeys checks connections with keys as password and as user name, and the refusal of
// other connections.
func TestListener_ChecksKeys(t *testing.T) {
	w := newWorld(t, 10)
	address := w.listen(t)
	_, admin := w.key(t, apikeys.Draft{Scopes: apikeys.Admin | apikeys.Write})
	id, key := w.key(t, apikeys.Draft{Scopes: apikeys.Write, Tenant: "acme"})
	_, reader := w.key(t, apikeys.Draft{Scopes: apikeys.Read})
	for _, c := range []struct {
		user, password string
		code           byte
	}{
		{"", "", 0x86}, {"any", "vk_wrong", 0x86}, {"any", reader, 0x86}, {"any", key, 0}, {key, "", 0}, {"any", admin, 0},
	} {
		if _, code := connect(t, address, "c1", c.user, c.password); code != c.code {
			t.Errorf("user %.5s, password %.5s: 0x%02x, want 0x%02x", c.user, c.password, code, c.code)
		}
	}
	d, _ := connect(t, address, "c2", key, "")
	if answer := d.publish(t, "varve/w/d1", reading(1)); answer.ReasonCode != 0 || w.stored(t, "acme", "d1") != 1 {
		t.Errorf("%+v, and %d readings in the key's tenant", answer, w.stored(t, "acme", "d1"))
	}
	if _, err := w.engine.Keys.Revoke(t.Context(), "acme", id); err != nil {
		t.Fatal(err)
	}
	if answer := d.publish(t, "varve/w/d1", reading(2)); answer != nil {
		t.Errorf("a revoked key got %+v", answer)
	}
	if code := <-d.ended; code != 0x87 {
		t.Errorf("a revoked key is disconnected with 0x%02x, want 0x87", code)
	}
}

// TestListener_KnowsUsersWithoutKeys checks that a rule can use the user name of a connection before the
// first key exists, with and without a password. An API key in its place must not count as a user name.
func TestListener_KnowsUsersWithoutKeys(t *testing.T) {
	w := newWorld(t, 10)
	address := w.listen(t)
	key := "vk_aaaaaaaa_" + strings.Repeat("0", 43)
	for _, c := range []struct{ user, password, want string }{{"alice", "", "alice"}, {"bob", "secret", "bob"}, {"", "secret", ""}, {key, "", ""}} {
		d, code := connect(t, address, "c1", c.user, c.password)
		if code != 0 {
			t.Fatalf("user %q: 0x%02x", c.user, code)
		}
		want := byte(0)
		if c.want == "" {
			want = 0x90 // no device
		}
		if answer := d.publish(t, "users/w", reading(1)); answer == nil || answer.ReasonCode != want {
			t.Errorf("user %q, password %q: %+v, want 0x%02x", c.user, c.password, answer, want)
		}
		if c.want != "" && w.stored(t, "default", c.want) != 1 {
			t.Errorf("device %q has %d readings, want 1", c.want, w.stored(t, "default", c.want))
		}
	}
}

// TestListener_SeparatesTenants checks that devices of several tenants may share a client id, and that they
// never receive messages from each other.
func TestListener_SeparatesTenants(t *testing.T) {
	w := newWorld(t, 10)
	address := w.listen(t)
	w.key(t, apikeys.Draft{Scopes: apikeys.Admin})
	_, a := w.key(t, apikeys.Draft{Scopes: apikeys.Write, Tenant: "a"})
	_, b := w.key(t, apikeys.Draft{Scopes: apikeys.Write, Tenant: "b"})
	first, _ := connect(t, address, "same", a, "")
	if _, err := first.Subscribe(t.Context(), &v5.Subscribe{Subscriptions: []v5.SubscribeOptions{{Topic: "#", QoS: 1}}}); err != nil {
		t.Fatal(err)
	}
	if _, err := first.Subscribe(t.Context(), &v5.Subscribe{Subscriptions: []v5.SubscribeOptions{{Topic: "$SYS/#"}}}); err == nil {
		t.Error("the topics of the server are open to devices")
	}
	second, _ := connect(t, address, "same", b, "")
	for i := range 3 {
		if answer := second.publish(t, "varve/w/d1", reading(i), func(p *v5.Publish) { p.Retain = true }); answer.ReasonCode != 0 {
			t.Fatalf("%+v", answer)
		}
	}
	if answer := first.publish(t, "varve/w/d1", reading(9)); answer == nil || answer.ReasonCode != 0 {
		t.Errorf("the first device got %+v", answer)
	}
	if len(first.received) > 0 || w.stored(t, "a", "d1") != 1 || w.stored(t, "b", "d1") != 3 {
		t.Errorf("%d messages received, %d and %d readings stored, want 0, 1 and 3", len(first.received), w.stored(t, "a", "d1"), w.stored(t, "b", "d1"))
	}
}

// TestListener_DelaysBeyondRate checks that messages wait if their key exceeded its rate, and that
// all of them are stored.
func TestListener_DelaysBeyondRate(t *testing.T) {
	begin := time.Now()
	advancing := func() time.Time { return noon.Add(time.Since(begin)) }
	w := newWorldAt(t, 10, advancing)
	const perSecond, seconds = 40, 3
	_, key := w.key(t, apikeys.Draft{Scopes: apikeys.Admin | apikeys.Write, Rate: apikeys.Rate{Readings: perSecond}})
	d, _ := connect(t, w.listen(t, func(o *mqtt.ListenerOptions) { o.Now = advancing }), "c1", key, "")
	for i := range perSecond * seconds {
		if answer := d.publish(t, "varve/w/d1", reading(i)); answer == nil || answer.ReasonCode != 0 {
			t.Fatalf("message %d: the answer is %+v, want 0x00", i, answer)
		}
	}
	// The key allows the messages of one second without a delay. Another second is the tolerance of
	// the test.
	if took := time.Since(begin); took < (seconds-2)*time.Second {
		t.Errorf("%d messages took %s, so the rate of %d/s is not respected", perSecond*seconds, took, perSecond)
	}
	if n := w.stored(t, varve.DefaultTenant, "d1"); n != perSecond*seconds {
		t.Errorf("%d readings are stored, want %d", n, perSecond*seconds)
	}
}

// TestListener_DisconnectsBeyondRate checks that a message is not acknowledged while the rate of its key
// stays exceeded, and that its connection ends.
func TestListener_DisconnectsBeyondRate(t *testing.T) {
	w := newWorld(t, 10) // the clock of this world does not advance
	_, key := w.key(t, apikeys.Draft{Scopes: apikeys.Admin | apikeys.Write, Rate: apikeys.Rate{Readings: 1}})
	d, _ := connect(t, w.listen(t, func(o *mqtt.ListenerOptions) { o.Patience = 100 * time.Millisecond }), "c1", key, "")
	acknowledged := 0
	for answer := d.publish(t, "varve/w/d1", reading(0)); answer != nil && acknowledged < 30; answer = d.publish(t, "varve/w/d1", reading(acknowledged)) {
		if acknowledged++; answer.ReasonCode != 0 {
			t.Fatalf("the answer is 0x%02x, want 0x00 or none", answer.ReasonCode)
		}
	}
	if code := <-d.ended; code != 0x97 {
		t.Errorf("the connection ended with 0x%02x, want 0x97", code)
	}
	if n := w.stored(t, varve.DefaultTenant, "d1"); n != acknowledged || n == 0 {
		t.Errorf("%d readings are stored, %d are acknowledged", n, acknowledged)
	}
}

// TestListener_DisconnectsWhileUnavailable checks that a message that cannot be stored is not
// acknowledged, and that its connection ends.
func TestListener_DisconnectsWhileUnavailable(t *testing.T) {
	w := newWorld(t, 1)
	address := w.listen(t, func(o *mqtt.ListenerOptions) { o.Patience = 100 * time.Millisecond })
	d, _ := connect(t, address, "c1", "", "")
	release := w.occupy(t)
	if answer := d.publish(t, "varve/w/d1", reading(1)); answer != nil {
		t.Errorf("the answer is %+v", answer)
	}
	if code := <-d.ended; code != 0x89 {
		t.Errorf("the connection ended with 0x%02x, want 0x89", code)
	}
	release()
	w.failRejects(errors.New("the store failed"))
	d, _ = connect(t, address, "c1", "", "")
	if answer := d.publish(t, "varve/w/d1", "x"); answer != nil {
		t.Errorf("the answer is %+v, although the reject is not recorded", answer)
	}
	if code := <-d.ended; code != 0x88 {
		t.Errorf("the connection ended with 0x%02x, want 0x88", code)
	}
}

func TestListener_RefusesBadPackets(t *testing.T) {
	w := newWorld(t, 10)
	address := w.listen(t)
	for name, c := range map[string]struct {
		send string
		want string // the beginning of the answer
	}{
		"unknown version": {"\x10\x0e\x00\x04MQTT\x09\x02\x00\x1e\x00\x02ab", "\x20\x02\x00\x01"},
		"not MQTT":        {"GET / HTTP/1.1\r\n\r\n", ""},
		"too long":        {"\x10\xff\xff\xff\x7f", ""},
		"publish first":   {"\x30\x05\x00\x01aXX", ""},
	} {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(conn, c.send); err != nil {
			t.Fatal(err)
		}
		if err := conn.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
			t.Fatal(err)
		}
		answer, err := io.ReadAll(conn)
		var e net.Error
		if errors.As(err, &e) && e.Timeout() {
			t.Errorf("%s: the connection stays open", name)
		}
		if !strings.HasPrefix(string(answer), c.want) {
			t.Errorf("%s: %q, want %q", name, answer, c.want)
		}
		_ = conn.Close()
	}
	d, _ := connect(t, address, "c1", "", "")
	if answer := d.publish(t, "$SYS/x", reading(1)); answer != nil {
		t.Errorf("a topic of the server got %+v", answer)
	}
	if code := <-d.ended; code != 0x90 {
		t.Errorf("a topic of the server ended the connection with 0x%02x, want 0x90", code)
	}
}

// TestListener_CloseEndsSilentConnections checks that Close does not wait for a connection that never
// sends its first packet.
func TestListener_CloseEndsSilentConnections(t *testing.T) {
	w := newWorld(t, 10)
	listener := w.start(t)
	conn, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	d, _ := connect(t, listener.Addr().String(), "c1", "", "") // the listener has accepted the silent connection before this one
	began := time.Now()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("Close took %v", took)
	}
	<-d.ended
	if err := conn.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(conn); err != nil {
		if e, ok := errors.AsType[net.Error](err); ok && e.Timeout() {
			t.Error("the silent connection stays open")
		}
	}
}
