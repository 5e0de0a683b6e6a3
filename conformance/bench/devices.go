package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"mandate/conformance/bench/load"
)

const deviceGrant = "urn:ietf:params:oauth:grant-type:device_code"

// devicesEach is the number of devices whose polls a worker sends.
const devicesEach = 4

// deviceWorkers poll for devices that nobody approves (RFC 8628 §3.4). Each poll writes a row, also one that comes too
// early, as nearly all of these do.
func deviceWorkers(ctx context.Context, t *target, workers, _ int) (load.Endpoint, []load.Worker, error) {
	to, err := load.ParseEndpoint(t.token)
	if err != nil {
		return to, nil, err
	}
	header, fields := t.proof(t.tv)
	var all []load.Worker
	for range workers {
		w := &poller{}
		for range devicesEach {
			code, err := t.askDevice(ctx)
			if err != nil {
				return to, nil, err
			}
			w.requests = append(w.requests,
				to.Form(header).With(nil, []byte("grant_type="+escape(deviceGrant)+"&device_code="+escape(code)+fields)))
		}
		all = append(all, w)
	}
	return to, all, nil
}

// askDevice makes a device authorization request and returns the device code.
func (t *target) askDevice(ctx context.Context) (string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, t.device, strings.NewReader(""))
	if err != nil {
		return "", err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.SetBasicAuth(url.QueryEscape(t.tv.ID), url.QueryEscape(t.tv.Secret))
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	var codes struct {
		Code string `json:"device_code"`
	}
	err = json.NewDecoder(response.Body).Decode(&codes)
	if err != nil || codes.Code == "" {
		return "", fmt.Errorf("a device authorization request was answered with status %d and no code", response.StatusCode)
	}
	return codes.Code, nil
}

// poller polls for several devices in turn.
type poller struct {
	requests [][]byte
	at       int
}

func (w *poller) Next() []byte {
	w.at = (w.at + 1) % len(w.requests)
	return w.requests[w.at]
}

func (w *poller) Check(r load.Response) string {
	if code := string(field(r.Body, "error")); r.Status == http.StatusBadRequest &&
		(code == "authorization_pending" || code == "slow_down") {
		return ""
	}
	return "not pending: " + refused(r)
}
