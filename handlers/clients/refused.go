package clients

import (
	"maps"
	"net/http"
	"net/url"

	"mandate/handlers/web"
	"mandate/provider/clientauth"
	"mandate/provider/clients"
	"mandate/provider/errorcode"
	"mandate/provider/events"
	"mandate/provider/policy"
	"mandate/storage"
	"mandate/templates"
)

// mostRefusals is what the page of an application shows of each share of the refusals. Senders who have proved
// nothing can cause many different ones, and come after the others.
var mostRefusals = map[events.Sender]int{events.Itself: 10, events.SignedIn: 10, events.Stranger: 20}

// senderNames are the words for senders of whom the application is not known to be one.
var senderNames = map[events.Sender]string{
	events.SignedIn: "From a browser",
	events.Stranger: "Sender unknown",
}

// refusedRequests describes the last refused requests about an application, and what to change.
func (s *server) refusedRequests(
	r *http.Request,
	who *storage.SignedIn,
	a storage.Application,
) (templates.RefusedRequests, error) {
	var shown templates.RefusedRequests
	found, err := s.Provider.Refusals.Of(r.Context(), a)
	if err != nil {
		return shown, err
	}
	if policy.By(who.User).Sees() {
		shown.EventsURL = s.Path(web.EventsPath) + "?" + url.Values{
			web.ByKind:   {string(events.RequestRefused)},
			web.ByObject: {a.ClientID},
		}.Encode()
	}
	privileges := who.User.Administrator && s.Provider.Choices(who.User, &a).AdministratorRights
	room := maps.Clone(mostRefusals)
	for _, one := range found {
		room[one.Sender]--
		if room[one.Sender] < 0 {
			shown.More = true
			continue
		}
		row := templates.RefusedRequest{
			Request:     endpointNames[one.Endpoint],
			Error:       one.Error,
			Description: one.Description,
			Sender:      senderNames[one.Sender],
			Times:       one.Times,
			First:       web.Moment(one.Since),
			Last:        web.Moment(one.At),
		}
		if row.First == row.Last {
			row.First = ""
		}
		if one.Error == policy.ScopeLeftOut {
			row.Error, row.Granted = "", true
		}
		remedy := clients.RemedyOf(one)
		row.Remedy = remedy.Text
		switch {
		case !clients.MayChange(policy.By(who.User), a):
		case remedy.Field == errorcode.RotateSecret && clientauth.HasSecret(a):
			row.RemedyURL, row.RemedyLabel = s.ApplicationPath(a.ID, "rotate/"), "Replace the secret"
		case remedy.Field == errorcode.RotateSecret, remedy.Field == "", s.absent(
			remedy.Field, privileges,
		), remedy.Field == "pkce" && !privileges, policy.FollowsDocument(a):
		default:
			row.RemedyURL, row.RemedyLabel = s.ApplicationPath(a.ID, "update/")+"#"+remedy.Field, "Change the application"
		}
		shown.Rows = append(shown.Rows, row)
	}
	return shown, nil
}

// endpointNames are the words for what was refused.
var endpointNames = map[string]string{
	"authorize":            "Authorization request",
	"token":                "Token request",
	"par":                  "Pushed authorization request",
	"device_authorization": "Device authorization request",
	"register":             "Request about its registration",
	"other":                "Further requests",
}
