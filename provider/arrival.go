package provider

import (
	"encoding/json"
	"time"

	"mandate/provider/checkup"
	"mandate/provider/oauth"
)

const (
	questionLife = time.Minute
	// maxQuestion is longer than a question. Only a text of its size is opened, which costs less than what each
	// request costs.
	maxQuestion = 200
)

// arrivalQuestion makes a question that a server with the same key answers.
func (p *Provider) arrivalQuestion() (question string, read func(answer string) (checkup.Arrival, error)) {
	asked, _ := json.Marshal(oauth.Now()) // a number
	question = p.sealers.checks.Seal(asked, "question")
	return question, func(answer string) (at checkup.Arrival, err error) {
		text, err := p.sealers.checks.Open(answer, "answer "+question)
		if err == nil {
			err = json.Unmarshal(text, &at)
		}
		return at, err
	}
}

// AnswerArrival tells whoever has the key of the installation how a request has reached this server. To everybody
// else it says that there is nothing.
func (p *Provider) AnswerArrival(question string, at checkup.Arrival) (string, error) {
	if len(question) > maxQuestion {
		return "", oauth.ErrNotFound
	}
	asked, err := p.sealers.checks.Open(question, "question")
	var when int64
	if err == nil {
		err = json.Unmarshal(asked, &when)
	}
	age := oauth.Now() - when
	if err != nil || max(age, -age) > oauth.Seconds(questionLife) {
		return "", oauth.ErrNotFound
	}
	answer, _ := json.Marshal(at) // texts and booleans
	return p.sealers.checks.Seal(answer, "answer "+question), nil
}
