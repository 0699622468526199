package client_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"github.com/varvedb/varve/api/client"
	"github.com/varvedb/varve/api/wire"
)

// TestClient_EscapesDots calls each method with names that consist of dots. No request may have a
// segment . or .., because servers and proxies would resolve it to another route.
func TestClient_EscapesDots(t *testing.T) {
	var targets []string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		targets = append(targets, r.RequestURI)
		w.WriteHeader(http.StatusNotFound)
	}))
	t.Cleanup(srv.Close)
	c, err := client.New(srv.URL, client.WithRetries(0))
	if err != nil {
		t.Fatal(err)
	}
	escaped := 0
	for _, name := range []string{".", ".."} {
		v := reflect.ValueOf(c)
		for i := range v.NumMethod() {
			method := v.Type().Method(i).Name
			targets = nil
			callWith(t, v.Method(i), name)
			for _, target := range targets {
				path, _, _ := strings.Cut(target, "?")
				for _, s := range strings.Split(path, "/") {
					if s == "." || s == ".." {
						t.Errorf("%s(%q) requests %s, want the dots escaped", method, name, target)
					}
					if s == strings.ReplaceAll(name, ".", "%2E") {
						escaped++
					}
				}
			}
		}
	}
	if escaped < 2*20 {
		t.Errorf("%d segments were names of dots, want those of at least 20 methods", escaped)
	}
}

// callWith calls a method. Each parameter that is a text gets the argument "name". If the result is a
// sequence, it reads the sequence.
func callWith(t *testing.T, method reflect.Value, name string) {
	t.Helper()
	var args []reflect.Value
	for i := range method.Type().NumIn() {
		in := method.Type().In(i)
		if method.Type().IsVariadic() && i == method.Type().NumIn()-1 {
			in = in.Elem()
		}
		args = append(args, argumentOf(t, in, name))
	}
	for _, result := range method.Call(args) {
		if result.Kind() == reflect.Func {
			for range result.Seq2() {
				break
			}
		}
	}
}

func argumentOf(t *testing.T, in reflect.Type, name string) reflect.Value {
	t.Helper()
	switch v := reflect.New(in).Elem(); {
	case in == reflect.TypeFor[context.Context]():
		return reflect.ValueOf(t.Context())
	case in == reflect.TypeFor[client.Body]():
		return reflect.ValueOf(client.Body{Format: wire.NDJSON, Data: []byte("{}")})
	case in.Kind() == reflect.String:
		v.SetString(name)
		return v
	case in.Kind() == reflect.Struct:
		for i := range in.NumField() {
			if v.Field(i).CanSet() && v.Field(i).Kind() == reflect.String {
				v.Field(i).SetString(name)
			}
		}
		return v
	default:
		return v
	}
}
