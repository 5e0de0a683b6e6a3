package command

import "github.com/spf13/cobra"

// root is the table of commands.
func (p *program) root() *cobra.Command {
	root := group(
		"mandate",
		"An OAuth 2.0 authorization server",
		p.serveCommand(),
		p.demoCommand(),
		p.resourceServerCommand(),
		p.migrateCommand(),
		group(
			"user",
			"People who can sign in",
			p.userAddCommand(),
			p.userImportCommand(),
			p.userListCommand(),
			p.userShowCommand(),
			p.userUpdateCommand(),
			p.userPasswdCommand(),
			p.userResetPasswordLinkCommand(),
			p.userDisableCommand(),
			p.userEnableCommand(),
			p.userDeleteCommand(),
			p.userLogoutCommand(),
			p.userResetFactorsCommand(),
		),
		group(
			"invitation",
			"Invitations, with which people make accounts",
			p.invitationAddCommand(),
			p.invitationImportCommand(),
			p.invitationListCommand(),
			p.invitationRenewCommand(),
			p.invitationWithdrawCommand(),
		),
		group(
			"group",
			"Groups of people",
			p.groupAddCommand(),
			p.groupListCommand(),
			p.groupShowCommand(),
			p.groupRenameCommand(),
			p.groupAddMemberCommand(),
			p.groupRemoveMemberCommand(),
			p.groupDeleteCommand(),
		),
		group(
			"application",
			"Client applications",
			p.applicationAddCommand(),
			p.applicationProgramsCommand(),
			p.applicationListCommand(),
			p.applicationShowCommand(),
			p.applicationRotateCommand(),
			p.applicationTakeOverCommand(),
			p.applicationAssignCommand(),
			p.applicationUpdateCommand(),
			p.applicationRevokeCommand(),
			p.applicationDeleteCommand(),
		),
		group(
			"registration-token",
			"Initial access tokens, with which applications register themselves",
			p.registrationTokenAddCommand(),
			p.registrationTokenListCommand(),
			p.registrationTokenDeleteCommand(),
		),
		group(
			"resource",
			"Resources: the APIs that tokens can be issued for",
			p.resourceAddCommand(),
			p.resourceUpdateCommand(),
			p.resourceListCommand(),
			p.resourceShowCommand(),
			p.resourceDeleteCommand(),
		),
		group(
			"access",
			"Who may use which application",
			p.accessCheckCommand(),
			p.accessPeopleCommand(),
			p.accessApplicationsCommand(),
		),
		group(
			"site",
			"Sites: applications without OpenID Connect, behind a reverse proxy that asks this server",
			p.siteAddCommand(),
			p.siteUpdateCommand(),
			p.siteListCommand(),
			p.siteShowCommand(),
			p.siteDeleteCommand(),
		),
		group(
			"keys",
			"Keys that sign ID tokens and access tokens",
			p.keysListCommand(),
			p.keysRotateCommand(),
			p.keysImportCommand(),
			p.keysRetireCommand(),
		),
		group("token", "Issued tokens", p.tokenRevokeCommand()),
		p.eventsCommand(),
		group("config", "The configuration", p.configCheckCommand(), p.configPrintCommand()),
		p.doctorCommand(),
		p.explainCommand(),
		p.conformanceCommand(),
		p.versionCommand(),
	)
	root.Long = "Mandate is an OAuth 2.0 authorization server.\n\nThe exit code is 0 on success, 1 after an error, and " +
		"2 if the command line is wrong."
	root.SilenceUsage, root.SilenceErrors, root.DisableSuggestions = true, true, true
	root.PersistentFlags().StringVar(
		&p.config,
		"config",
		"",
		"the configuration `FILE` (default: $MANDATE_CONFIG, or mandate.yaml if that file exists)",
	)
	root.SetFlagErrorFunc(wrongFlag)
	root.PersistentPreRun = func(c *cobra.Command, _ []string) {
		p.started = true
		c.SetContext(byOperator(c.Context()))
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.Version = p.build().String()
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetHelpCommand(helpCommand(root))
	p.refuseAnswers(root)
	return root
}
