package templates

func accessSamples() []sample {
	list := AccessPeople{Frame: admin, Name: "Company wiki", ApplicationURL: "/o/applications/1/",
		For: Restriction{[]string{"staff", long}, []string{"trainees"}, true}, ExportURL: "/x", CheckURL: "/c",
		FirstURL: "?", NextURL: "?after=25",
		Rows: []AccessPerson{{"ann", "Ann Example", "ann@example.com", "/p", "/c?person=ann"}, {long, "", "", "/p", "/w"}}}
	usable := AccessApplications{Frame: admin, Username: "ann", PersonURL: "/p", ExportURL: "/x",
		NextURL: "?after=25", Rows: []AccessApplication{{"Company wiki", "wiki", "/a", "/c"}, {long, long, "/a", "/c"}}}
	check := AccessCheck{Frame: admin, Name: "Company wiki", ApplicationURL: "/a", PeopleURL: "/l",
		Person: Field{"ann", ""}, Of: &Outcome{"ann", "/p", false, []AccessCondition{
			{"the account is enabled", "", true}, {"a member of an allowed group", "staff, " + long, false},
		}, nil, false, nil}}
	allowed := *check.Of
	allowed.Allowed, allowed.Scopes = true, []string{"openid", "profile"}
	allowed.Claims = []AccessClaim{{"id_token", "sub", `"0193"`, "the subject of the person"},
		{"userinfo", "groups", `["` + long + `"]`, "the scope groups"}}
	machine := allowed
	machine.Scopes, machine.Claims, machine.SkipsConsent = nil, nil, true
	none := check
	none.Of = &machine
	may := check
	may.Of = &allowed
	groups := []Option{{"staff", "", "", true}, {long, "", "", false}}
	join := Membership{Frame: admin, Username: "ann", PersonURL: "/p", Action: "/a", Groups: groups}
	wrong := join
	wrong.GroupError, wrong.Until = "Choose a group.", Field{"2001-01-01", "The time is over already."}
	wrong.Errors = []FieldError{{ID: "membership", Message: wrong.GroupError}, {ID: "until", Message: wrong.Until.Error}}
	return []sample{
		{"membership", join},
		{"membership-wrong", wrong},
		{"membership-hostile", Membership{nasty, hostile, "/p", "/a", []Option{{hostile, hostile, hostile, true}}, hostile,
			badText, []FieldError{{ID: "until", Message: hostile}}}},
		{"access-people", list},
		{"access-people-everybody", AccessPeople{Frame: admin, Name: long, ApplicationURL: "/a", CheckURL: "/c"}},
		{"access-people-suspended", AccessPeople{Frame: admin, Name: "Wiki", ApplicationURL: "/a",
			Suspended: "Its owner is disabled."}},
		{"access-people-nothing-found", AccessPeople{Frame: admin, Name: "Wiki", ApplicationURL: "/a",
			Query: "zebra", CheckURL: "/c"}},
		{"access-people-hostile", AccessPeople{nasty, hostile, "/a",
			Restriction{[]string{hostile}, []string{hostile}, true}, "", hostile,
			[]AccessPerson{{hostile, hostile, hostile, "/p", "/w"}}, "?", "?", "/x", "/c"}},
		{"access-people-suspended-hostile", AccessPeople{Frame: nasty, Name: hostile, ApplicationURL: "/a",
			Suspended: hostile}},
		{"access-applications", usable},
		{"access-applications-empty", AccessApplications{Frame: admin, Username: "ann", PersonURL: "/p"}},
		{"access-applications-disabled", AccessApplications{Frame: admin, Username: "ann", PersonURL: "/p",
			Disabled: true}},
		{"access-applications-nothing-found", AccessApplications{Frame: admin, Username: "ann", PersonURL: "/p",
			Query: "zebra"}},
		{"access-applications-hostile", AccessApplications{nasty, hostile, "/p", false, hostile,
			[]AccessApplication{{hostile, hostile, "/a", "/w"}}, "?", "?", "/x"}},
		{"access-check", check},
		{"access-check-allowed", may},
		{"access-check-nothing", none},
		{"access-check-empty", AccessCheck{Frame: admin, Name: "Wiki", ApplicationURL: "/a", PeopleURL: "/l"}},
		{"access-check-wrong", AccessCheck{Frame: admin, Name: "Wiki", ApplicationURL: "/a", PeopleURL: "/l",
			Person: Field{"nobody", "There is no person with this username."}}},
		{"access-check-hostile", AccessCheck{nasty, hostile, "/a", "/l", badText, &Outcome{hostile, "/p", true,
			[]AccessCondition{{hostile, hostile, false}}, []string{hostile}, true,
			[]AccessClaim{{hostile, hostile, hostile, hostile}}}}},
	}
}
