package clients

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"mandate/handlers/request"
	"mandate/handlers/web"
	"mandate/provider"
	"mandate/provider/clientauth"
	"mandate/provider/clients"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/provider/possession"
	"mandate/provider/presets"
	"mandate/provider/tokens"
	"mandate/storage"
	"mandate/templates"
)

// applications lists the applications of a person. An administrator sees all
// applications.
func (s *server) applications(w http.ResponseWriter, r *http.Request) error {
	who, err := s.Entitled(r)
	if err != nil {
		return err
	}
	l, err := web.ReadListing(r)
	if err != nil {
		return err
	}
	of, err := readSelection(r, &l)
	if err != nil {
		return err
	}
	found, total, err := s.Provider.Clients.Applications(r.Context(), policy.By(who.User), of, web.PageSize, l.Offset())
	if err != nil {
		return err
	}
	pager, err := l.Pager(total)
	if err != nil {
		return err
	}
	page := templates.Applications{
		Frame:     s.Frame(r, ""),
		Query:     l.Search,
		Selected:  of != storage.Selection{},
		ShowOwner: policy.By(who.User).Sees(),
		Pager:     pager,
	}
	if page.ShowOwner {
		page.Filters = filters(l)
	}
	page.Registers, err = s.Provider.People.MayRegister(r.Context(), who.User)
	if err != nil {
		return err
	}
	if page.ShowOwner && s.Config.Registration {
		page.TokensURL = s.Path(web.InitialTokensPath)
	}
	for _, a := range found {
		page.Rows = append(page.Rows, templates.ApplicationRow{
			Name:         a.Name,
			URL:          s.ApplicationPath(a.ID, ""),
			ClientID:     a.ClientID,
			ClientType:   typeName(a),
			Grants:       grantNames(a),
			Owner:        ownerText(a),
			Suspended:    s.Provider.Rules.WhySuspended(a) != "",
			CameByItself: policy.CameByItself(a),
			LastUsed:     lastUsed(a.LastUsedAt, a.Origin),
		})
	}
	return s.Render(w, r, http.StatusOK, page)
}

// application shows one application. It shows the client secret once, right after
// registration or rotation.
func (s *server) application(w http.ResponseWriter, r *http.Request) error {
	who, a, err := s.seen(r)
	if err != nil {
		return err
	}
	a, more := s.Provider.Rules.EffectiveRights(a)
	own, may := s.Provider.Lifetimes(), s.Provider.Choices(who.User, &a)
	grants := strings.Fields(a.GrantTypes)
	page := templates.Application{
		Frame:            s.Frame(r, a.Name),
		Name:             a.Name,
		ClientID:         a.ClientID,
		ClientType:       typeName(a),
		Owner:            owner(a),
		Created:          web.Day(a.CreatedAt),
		Public:           a.ClientType == policy.Public,
		RedirectURIs:     web.Lines(a.RedirectURIs),
		Scopes:           s.Provider.Rules.AllowedScopes(a),
		Resources:        web.Lines(a.Resources),
		HashSecret:       !clientauth.SecretIsReadable(a),
		MayIntrospect:    a.MayIntrospect,
		SkipConsent:      a.SkipConsent,
		EndpointAudience: a.EndpointAudience,
		RequirePushed:    a.RequirePushed,
		RequireSigned:    a.RequireSigned,
		Profile:          profileNames[a.Profile],
		RequiredLogin:    web.RequiredLogin(a.RequiredACR),
		DefaultLogin:     defaultLogin(a),
		Bound:            boundTo[a.SenderConstraint],
		AccessLifetime:   lifetime(a.AccessTokenLifetime, own.Access, may.AccessMax),
		Standing:         standingText(a),
		Suspended:        s.Provider.Rules.WhySuspended(a),
		FromDocument:     policy.DocumentOf(a) != "",
		FollowsDocument:  policy.FollowsDocument(a),
		NewSecret:        s.TakeSecret(w, r, who, a.ID),
		TokenURL:         s.Absolute("/o/token/"),
		UpdateURL:        s.ApplicationPath(a.ID, "update/"),
		DeleteURL:        s.ApplicationPath(a.ID, "delete/"),
		RotateURL:        s.ApplicationPath(a.ID, "rotate/"),
		ListURL:          s.Path("/o/applications/"),
	}
	page.ReadOnly = !clients.MayChange(policy.By(who.User), a)
	page.LaunchURL = a.LaunchURL
	// The page for somebody who may not use it names the allowed groups too. Nobody else learns who is kept out.
	denied := ""
	if policy.By(who.User).Sees() {
		denied, page.PeopleURL = a.DeniedGroups, s.Path(web.PeopleOfPath(a.ID))
	}
	page.For = web.Restriction(a.AllowedGroups, denied, a.NobodyNew)
	for _, said := range clients.PlainOf(a) {
		page.Plain = append(page.Plain, templates.PlainText{Label: said.Label, Text: said.Text})
	}
	page.Warnings = provider.RedirectWarnings(a)
	page.AuthMethod = strings.TrimSpace(a.AuthMethod + " " + a.AuthAlgorithm)
	page.CertificateSubject = clientauth.ShortSubject(a.CertificateSubject)
	page.Certificate = clientauth.ShowsCertificate(a)
	if clientauth.SignsAssertions(a) {
		page.AssertionAudience = s.Provider.Issuer()
	}
	// RFC 8705 §5: the certificate is asked for at these addresses only.
	if at := s.Provider.CertificateEndpoints(); at != "" &&
		(page.Certificate || a.SenderConstraint == possession.Certificate) {
		page.TokenURL = at + "/token/"
	}
	page.NoSecret = !page.Public && !clientauth.HasSecret(a)
	if who.User.Administrator {
		page.OwnerURL = s.ApplicationPath(a.ID, "owner/")
	}
	page.HasUnusableRights, page.NeedsLibrary = more, s.needsLibrary(a)
	page.Settings, err = s.programSettings(a, page.NewSecret)
	if err != nil {
		return err
	}
	if program, known := presets.Find(a.Program); page.Settings != nil && known &&
		program.Kind != presets.Other {
		page.NeedsLibrary = false // the program is there already: its settings are all that it needs
	} else if page.Samples, err = s.samples(r, a); err != nil {
		return err
	}
	page.Use, err = s.applicationUse(r, a)
	if err != nil {
		return err
	}
	page.Refused, err = s.refusedRequests(r, who, a)
	if err != nil {
		return err
	}
	err = s.applicationKeys(w, r, who, a, &page)
	if err != nil {
		return err
	}
	if a.AccessTokenFormat == policy.FormatJWT {
		page.SignedWith, page.AccessLifetime = tokens.AccessAlgorithm(a), lifetime(a.AccessTokenLifetime, own.JWT, may.JWTMax)
	}
	if slices.Contains(grants, policy.GrantCode) {
		page.PKCE = cmp.Or(pkceNames[a.PKCE], s.usualPKCE(who.User, &a))
		if a.LastWithoutPKCEAt > 0 {
			page.WithoutPKCE = web.Moment(a.LastWithoutPKCEAt)
		}
		page.AuthorizeURL = s.Absolute("/o/authorize/")
		if a.RequirePushed {
			page.PushURL = strings.TrimSuffix(page.TokenURL, "/token/") + "/par/"
		}
	}
	if policy.HasGrant(a, policy.GrantDevice) {
		page.DeviceURL = s.Absolute("/o/device_authorization/")
	}
	if a.MayIntrospect {
		page.IntrospectURL, page.IntrospectionAlgorithm = s.Absolute("/o/introspect/"), a.IntrospectionAlg
	}
	if policy.HasGrant(a, policy.GrantRefresh) {
		grants = append(grants, policy.GrantRefresh)
		page.RefreshLifetime, page.Rotation = lifetime(
			a.RefreshTokenLifetime, own.Refresh, may.RefreshMax,
		), rotationNames[a.RefreshRotation]
		if page.Public && a.RefreshRotation == policy.RotationOff {
			page.Rotation += ", if they are bound to a key or a certificate"
		}
	}
	page.Grants = grants
	if s.Config.OpenID && page.AuthorizeURL != "" {
		page.IssuerURL, page.Algorithm, page.UserInfoAlgorithm = s.Provider.Issuer(), cmp.Or(
			a.Algorithm, policy.DefaultAlgorithm,
		), a.UserInfoAlgorithm
		page.IDTokenClaims = claimsNames[s.Provider.ClaimsInIDToken(a)]
		page.Sector, page.PostLogoutURIs, page.BackchannelURI = a.Sector, web.Lines(a.PostLogoutURIs), a.BackchannelURI
	}
	if a.OldSecret != "" && a.OldSecretExpiresAt > time.Now().Unix() {
		page.OldSecretUntil = web.Moment(a.OldSecretExpiresAt)
	}
	return s.Render(w, r, http.StatusOK, page)
}

// overlaps returns the choices for how long the old client secret stays valid.
func overlaps() []templates.Option {
	return []templates.Option{
		{Value: "0", Label: "At once"},
		{Value: "3600", Label: "In an hour"},
		{Value: "86400", Label: "In a day", Checked: true},
		{Value: "604800", Label: "In a week"},
		{Value: "2592000", Label: "In 30 days"},
	}
}

func (s *server) rotatePage(w http.ResponseWriter, r *http.Request) error {
	who, a, err := s.named(r)
	if err != nil {
		return err
	}
	form, err := s.KeptForm(w, r, who)
	if err != nil {
		return err
	}
	page := s.rotateForm(r, a)
	s.SayKept(r, form != nil, &page.Frame)
	if form != nil {
		page.Overlap = onlyChecked(form.Get("overlap"), page.Overlap)
	}
	return s.Render(w, r, http.StatusOK, page)
}

func (s *server) rotateForm(r *http.Request, a storage.Application) templates.Rotate {
	return templates.Rotate{
		Frame:     s.Frame(r, ""),
		Name:      a.Name,
		Action:    s.ApplicationPath(a.ID, "rotate/"),
		CancelURL: s.ApplicationPath(a.ID, ""),
		Overlap:   overlaps(),
	}
}

// onlyChecked marks the option with this value, and no other.
func onlyChecked(value string, options []templates.Option) []templates.Option {
	for i := range options {
		options[i].Checked = options[i].Value == value
	}
	return options
}

// toTestKey leads back to the page with the button, for a person who had to sign in again.
func (s *server) toTestKey(w http.ResponseWriter, r *http.Request) error {
	who, a, err := s.named(r)
	if err != nil {
		return err
	}
	err = s.SayOnceMore(w, r, who)
	if err != nil {
		return err
	}
	web.SeeOther(w, r, s.ApplicationPath(a.ID, ""))
	return nil
}

// rotate replaces the client secret.
func (s *server) rotate(w http.ResponseWriter, r *http.Request) error {
	who, a, err := s.named(r)
	if err != nil {
		return err
	}
	err = s.ParseForm(r)
	if err != nil {
		return err
	}
	page := s.rotateForm(r, a)
	chosen := r.PostForm.Get("overlap")
	overlap, err := strconv.ParseInt(chosen, 10, 32)
	if err != nil {
		page.Error = "Choose when the old secret stops working."
		return s.Render(w, r, web.InvalidForm, page)
	}
	page.Overlap = onlyChecked(chosen, page.Overlap)
	actor, err := s.Acting(r, who)
	if err != nil {
		return err
	}
	rotated, err := s.Provider.Clients.RotateSecret(r.Context(), actor, a.ID, time.Duration(overlap)*time.Second)
	if invalid, ok := errors.AsType[*oauth.Invalid](err); ok {
		web.NoteInvalid(r, invalid)
		page.Error = invalid.At("overlap")
		return s.Render(w, r, web.InvalidForm, page)
	}
	if err != nil {
		return err
	}
	s.KeepSecret(w, who, a.ID, rotated.Secret)
	s.SetNotice(w, "rotated")
	web.SeeOther(w, r, s.ApplicationPath(a.ID, ""))
	return nil
}

func (s *server) deleteApplicationPage(w http.ResponseWriter, r *http.Request) error {
	_, a, err := s.named(r)
	if err != nil {
		return err
	}
	return s.Render(w, r, http.StatusOK, templates.Confirm{
		Frame:   s.Frame(r, ""),
		Heading: "Delete “" + a.Name + "”?",
		Message: "This cannot be undone.",
		Details: []string{
			"Its client ID and its secret stop working.",
			"All its tokens are revoked at once.",
			"The consents that people gave to it are deleted.",
		},
		Action:    s.ApplicationPath(a.ID, "delete/"),
		Button:    "Delete the application",
		CancelURL: s.ApplicationPath(a.ID, ""),
		Danger:    true,
	})
}

func (s *server) deleteApplication(w http.ResponseWriter, r *http.Request) error {
	who, a, err := s.named(r)
	if err != nil {
		return err
	}
	err = s.Provider.Clients.Delete(r.Context(), policy.By(who.User), a.ID)
	if err != nil {
		return err
	}
	request.Note(r.Context(), "client", a.ClientID)
	s.SetNotice(w, "deleted")
	web.SeeOther(w, r, s.Path("/o/applications/"))
	return nil
}

func lifetime(own int64, standard time.Duration, most int64) string {
	if own > 0 {
		return web.Span(time.Duration(min(own, most)) * time.Second)
	}
	if limit := time.Duration(most) * time.Second; limit < standard {
		return web.Span(limit) + ", the longest that its standing allows"
	}
	return web.Span(standard) + ", the default of this server"
}
